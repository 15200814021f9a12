//! Every step of a policy, for people who want to see the hand move: what each reference does, and what the policy's
//! lists, bits and values are after it. The replay is the simulator's own.

use clockhand_device::{Device, PageCost};
use clockhand_policy::catalog::{Kind, PolicySpec};
use clockhand_quantity::{Text, option};
use clockhand_trace::{Folding, TraceInput};

use crate::error::SimError;
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::replay::{Cell, Counts, ReplayOptions, WatchedStep};
use crate::study::check_given;
use crate::views::{Views, read};
use clockhand_trace::progress::{Phase, Progress};

/// What is to be watched.
#[derive(Clone, Debug)]
pub struct Watching {
    /// The trace, or as much of it as is wanted.
    pub trace: TraceInput,
    /// The policies, which see the same references.
    pub policies: Vec<PolicySpec>,
    /// Page frames.
    pub frames: u32,
    /// Page size in bytes, a power of two.
    pub page_bytes: u64,
    /// The device, whose costs some policies go by.
    pub device: String,
    /// How references are replayed.
    pub replay: ReplayOptions,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
}

impl Watching {
    /// Frames times references that are shown at most: every step holds what is in each frame.
    pub const LIMIT_PLACES: u64 = 2_000_000;
}

/// A policy's course over the references.
#[derive(Clone, Debug)]
pub struct Course {
    /// The policy as the user wrote it.
    pub policy: String,
    /// The policy with every default.
    pub policy_resolved: String,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// The counts of the whole course, as `simulate` gives them.
    pub counts: Counts,
    /// One step per reference.
    pub steps: Vec<WatchedStep>,
}

/// What was watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The trace.
    pub trace: ReadTrace,
    /// Of each page the number of its stream and its own number (its address / the page size).
    pub pages: Vec<(u32, u64)>,
    /// The page of each reference, and whether it is a write.
    pub references: Vec<(u32, bool)>,
    /// One course per policy.
    pub courses: Vec<Course>,
    /// The device.
    pub device: Device,
    /// What a page operation costs on it.
    pub page_cost: PageCost,
}

/// Watches policies.
///
/// # Errors
///
/// Something is unknown or too large, the trace cannot be read, or [`SimError::Interrupted`].
pub fn watch(watching: &Watching, progress: &Progress) -> Result<Watched, SimError> {
    check_given(&watching.policies, "policy", option("policy") + " NAME")?;
    if watching.frames == 0 {
        return Err(SimError::usage(
            option("frames") + " 0 leaves no room for a page",
            "give 1 or more",
        ));
    }
    let pricing = Pricing::new(&watching.device, watching.page_bytes)?;
    for policy in &watching.policies {
        policy.resolve(watching.frames, pricing.device_ratio)?;
    }
    let views = read(&watching.trace, watching.page_bytes, &[Folding::None], progress)?;
    let references = views.trace.references;
    let places = references.saturating_mul(watching.frames.into());
    if places > Watching::LIMIT_PLACES {
        return Err(SimError::usage(
            format!(
                "{references} references in {} frames are too many to look at",
                watching.frames
            ),
            Text::from("give ")
                + option("limit")
                + " or "
                + option("frames")
                + format!(" so that their product is at most {}", Watching::LIMIT_PLACES),
        ));
    }
    progress.enter(Phase::Replaying, references * watching.policies.len() as u64);
    let courses = watching.policies.iter();
    let courses = courses.map(|policy| course(watching, &pricing, policy, &views, progress));
    let courses = courses.collect::<Result<_, _>>()?;
    let view = views.folded(Folding::None).pages();
    let reference = |record: &clockhand_trace::Record| (record.page(), record.first_is_write());
    Ok(Watched {
        pages: view.page_keys().to_vec(),
        references: view.records().iter().map(reference).collect(),
        courses,
        device: pricing.device,
        page_cost: pricing.page_cost,
        trace: views.trace,
    })
}

fn course(
    watching: &Watching,
    pricing: &Pricing,
    policy: &PolicySpec,
    views: &Views,
    progress: &Progress,
) -> Result<Course, SimError> {
    let policy = policy.clone().with_seed(watching.seed);
    let resolved = policy.resolve(watching.frames, pricing.device_ratio)?;
    let view = views.folded(Folding::None);
    let next_use =
        (policy.entry().kind == Kind::Offline).then(|| view.next_use(progress)).transpose()?;
    let options = ReplayOptions { flush_at_end: false, ..watching.replay };
    let frames = watching.frames;
    let cell = Cell { runs: view.pages().into(), next_use, frames, options, progress };
    let (counts, observed) = cell.replay_recorded(&resolved)?;
    let description = policy.entry().description;
    Ok(Course {
        policy: policy.written().to_owned(),
        policy_resolved: resolved.to_string(),
        summary: description.summary,
        paper: description.paper,
        counts,
        steps: observed.recording.expect("it was asked for").into_steps(),
    })
}
