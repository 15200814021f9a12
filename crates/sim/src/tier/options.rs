//! The options of `tier`, as users write them, and the experiment that they make.

use clockhand_policy::tier::Placement;
use clockhand_quantity::option;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::{Contender, MigrationLimit, PromotionRule, Sight, TierExperiment, TierMemory};
use crate::error::SimError;
use crate::memory_size::{MemorySize, parse_page_bytes};
use crate::options::{Domain, choose, options};
use clockhand_trace::TraceInput;

options! {
    /// Options of `tier`, beside traces and threads.
    pub struct TierOptions {
        /// The fast tier: shares of the footprint or sizes, such as 10%,25%,1GiB; 0 is none.
        ///
        /// The fast tier: shares of the footprint (``"10%,25%"``) or sizes (``"1GiB"``); 0 is none.
        fast: Option<String> = Domain::Sizes;
        /// The fast tier in page frames, such as 0,64,128.
        ///
        /// The fast tier in page frames, from 0. Give either this or ``fast``.
        fast_frames: Option<String> = Domain::Sizes;
        /// The slow tier: a share of the footprint or a size; no limit if not given.
        slow: Option<String> = Domain::Sizes;
        /// The slow tier in page frames, from 0; no limit if not given.
        ///
        /// The slow tier in page frames. Give either this or ``slow``.
        slow_frames: Option<u32> = Domain::Whole { least: 0, most: u32::MAX as u64 - 1 };
        /// List of NAME[:section_key=value,...] or FILE.toml. See: clockhand devices.
        ///
        /// Profiles of both tiers, such as ``"cxl"``, ``"optane-dcpmm:migrate_ns=1000"`` or the path of a TOML file.
        tiers: Vec<String> = Domain::Names { of: "tiers" }, "cxl";
        /// List of page policies, clock-dwf, m-clock, tpp, memtis, hemem, static and bound; all, and patterns such as c*.
        ///
        /// Policies of the fast tier: page policies, whose victims are demoted, and ``clock-dwf``,
        /// ``m-clock``, ``tpp``, ``memtis``, ``hemem``, ``static``, ``bound``.
        policy as "policies": Vec<String> = Domain::Names { of: "tier_policies" }, "lru";
        /// Rules of promotion under a page policy, by references to slow pages: list of never, first-touch (if not given),
        /// write, k-touch[:K[:W]], threshold[:T[:H]], tinylfu.
        ///
        /// Rules of promotion under a page policy, by references to slow pages: ``never``, ``first-touch`` (if not given),
        /// ``write``, ``k-touch[:K[:W]]``, ``threshold[:T[:H]]``, ``tinylfu``.
        promote: Vec<String> = Domain::List;
        /// References that a page policy sees: all (if not given), sample:N (every N-th), bits:P (accessed bits after every
        /// P-th).
        ///
        /// References that a page policy sees: ``all`` (if not given), ``sample:N`` or ``bits:P``.
        see: Option<String> = Domain::Text;
        /// Tier of new pages: fast, slow, interleave:W:V, make-room.
        ///
        /// Tier of new pages: ``fast`` (if not given), ``slow``, ``interleave:W:V`` or ``make-room``.
        placement: Option<String> = Domain::Text;
        /// A promoted page keeps its slow frame as a shadow until it is written.
        non_exclusive: bool = Domain::Flag;
        /// Cost of a page's first reference: zero, or read, which is a storage fault.
        ///
        /// Cost of a page's first reference: ``zero``, or ``read`` from storage.
        first_touch: String = Domain::Word { words: &["zero", "read"] }, "zero";
        /// The most promotions: A/Pr in each P references, XMB/s by trace time.
        ///
        /// The most promotions: ``A/Pr`` in each P references, or ``XMB/s``.
        migrate_limit: Option<String> = Domain::Text;
        /// A promotion within this many references after the page's demotion is ping-pong.
        ping_pong: u64 = Domain::Whole { least: 0, most: u64::MAX }, "10000";
        /// Device below both tiers. See: clockhand devices.
        ///
        /// Device below both tiers.
        storage: String = Domain::Device, "slc-nand";
        /// Duration of the trace in seconds, for years of life; by its times if not given.
        trace_seconds: Option<String> = Domain::Number;
        /// List of page sizes in bytes, powers of two.
        ///
        /// Bytes, powers of two, such as ``"4KiB,64KiB"``.
        page_size in "page_sizes": Vec<String> = Domain::List, "4KiB";
        /// Seed of policies with random choices, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
    }
}

impl TierOptions {
    /// The experiment.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn experiment(
        &self,
        traces: Vec<TraceInput>,
        jobs: Option<usize>,
    ) -> Result<TierExperiment, SimError> {
        let first_touches = [("zero", false), ("read", true)];
        let is_optional = |text: &String| text == Contender::BOUND_IF_POSSIBLE;
        Ok(TierExperiment {
            traces,
            fast: self.fast_sizes()?,
            slow: self.slow_size()?,
            tiers: self.tiers.clone(),
            policies: self
                .policy
                .iter()
                .map(|text| Contender::parse(text))
                .collect::<Result<_, _>>()?,
            needs_bound: self.policy.iter().any(|text| text == "bound")
                || self.policy.iter().all(is_optional),
            promotions: self.promotions()?,
            page_options_given: !self.promote.is_empty() || self.see.is_some(),
            sight: self.see.as_deref().map_or(Ok(Sight::All), parse_sight)?,
            placement: self.placement.as_deref().map(parse_placement).transpose()?,
            keeps_shadows: self.non_exclusive,
            reads_first_touches: choose("first-touch", &self.first_touch, first_touches)?,
            limit: self.migrate_limit.as_deref().map(parse_limit).transpose()?,
            ping_pong: self.ping_pong,
            storage: self.storage.clone(),
            trace_seconds: self.trace_seconds.as_deref().map(parse_seconds).transpose()?,
            page_sizes_bytes: self
                .page_size
                .iter()
                .map(|text| parse_page_bytes(text))
                .collect::<Result<_, _>>()?,
            seed: self.seed,
            intervals: self.intervals()?,
            jobs,
        })
    }

    /// The sizes of the fast tier.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn fast_sizes(&self) -> Result<Vec<TierMemory>, SimError> {
        match (self.fast.as_deref(), self.fast_frames.as_deref()) {
            (None, None) => Ok(Vec::new()),
            (Some(sizes), None) => sizes
                .split(',')
                .map(|item| parse_fast(item.trim()))
                .collect::<Result<Vec<_>, _>>()
                .map(|sizes| sizes.concat()),
            (None, Some(frames)) => {
                frames.split(',').map(|item| parse_frames("fast-frames", item.trim())).collect()
            }
            (Some(_), Some(_)) => Err(SimError::usage(
                option("fast")
                    + " and "
                    + option("fast-frames")
                    + " both give the fast tier's size",
                "give one of them",
            )),
        }
    }

    /// The rules of promotion, as written and read; `first-touch` if none is given.
    fn promotions(&self) -> Result<Vec<(String, PromotionRule)>, SimError> {
        if self.promote.is_empty() {
            let rule = PromotionRule::FirstTouch;
            return Ok(vec![(rule.to_string(), rule)]);
        }
        let read = |text: &String| Ok((text.clone(), PromotionRule::parse(text)?));
        self.promote.iter().map(read).collect()
    }

    fn slow_size(&self) -> Result<Option<TierMemory>, SimError> {
        match (self.slow.as_deref(), self.slow_frames) {
            (None, None) => Ok(None),
            (None, Some(frames)) => Ok(Some(TierMemory::of_frames(frames))),
            (Some(text), None) => match parse_sizes("slow", text)?[..] {
                [size] => Ok(Some(size)),
                _ => Err(SimError::usage(
                    option("slow") + format!(" {text:?} is more than one size"),
                    "give one",
                )),
            },
            (Some(_), Some(_)) => Err(SimError::usage(
                option("slow")
                    + " and "
                    + option("slow-frames")
                    + " both give the slow tier's size",
                "give one of them",
            )),
        }
    }
}

fn parse_fast(item: &str) -> Result<Vec<TierMemory>, SimError> {
    parse_sizes("fast", item)
}

/// Sizes as `--memory` takes them, or 0.
fn parse_sizes(name: &'static str, text: &str) -> Result<Vec<TierMemory>, SimError> {
    if text == "0" || text == "0%" {
        return Ok(vec![TierMemory::None]);
    }
    let sizes = MemorySize::parse_sizes_of(name, text)?;
    Ok(sizes.into_iter().map(TierMemory::Size).collect())
}

fn parse_frames(name: &'static str, item: &str) -> Result<TierMemory, SimError> {
    let is_number = item.bytes().all(|byte| byte.is_ascii_digit());
    let frames = item.parse().ok().filter(|&frames| is_number && frames < u32::MAX);
    frames.map(TierMemory::of_frames).ok_or_else(|| {
        SimError::usage(
            option(name) + format!(" {item:?} is not a number of page frames"),
            format!("give whole numbers from 0 to {}, separated by commas", u32::MAX - 1),
        )
    })
}

fn parse_sight(text: &str) -> Result<Sight, SimError> {
    let refused = || {
        SimError::usage(
            option("see") + format!(" {text:?} is not what a policy can see"),
            "give all, sample:N or bits:P with a whole number from 1",
        )
    };
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|&number: &u64| is_number && number > 0).ok_or_else(refused)
    };
    match text.split_once(':') {
        None if text == "all" => Ok(Sight::All),
        Some(("sample", every)) => Ok(Sight::Sample(number(every)?)),
        Some(("bits", every)) => Ok(Sight::Bits(number(every)?)),
        _ => Err(refused()),
    }
}

fn parse_placement(text: &str) -> Result<Placement, SimError> {
    let interleave = || {
        let (fast, slow) = text.strip_prefix("interleave:")?.split_once(':')?;
        let number = |digits: &str| {
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
        };
        let (fast, slow): (u32, u32) = (number(fast)?, number(slow)?);
        (fast > 0 || slow > 0).then_some(Placement::Interleave { fast, slow })
    };
    match text {
        "fast" => Ok(Placement::Fast),
        "slow" => Ok(Placement::Slow),
        "make-room" => Ok(Placement::MakeRoom),
        _ => interleave().ok_or_else(|| {
            SimError::usage(
                option("placement") + format!(" {text:?} is no placement"),
                "give fast, slow, make-room or interleave:W:V with whole numbers of which one is at least 1",
            )
        }),
    }
}

fn parse_limit(text: &str) -> Result<MigrationLimit, SimError> {
    let of_references = || {
        let (most, period) = text.strip_suffix('r')?.split_once('/')?;
        let most = most.bytes().all(|byte| byte.is_ascii_digit()).then(|| most.parse().ok())??;
        let period =
            period.bytes().all(|byte| byte.is_ascii_digit()).then(|| period.parse().ok())??;
        (period > 0).then_some(MigrationLimit::References { most, period })
    };
    let of_time = || {
        let megabytes = decimal(text.strip_suffix("MB/s")?)?;
        Some(MigrationLimit::BytesPerSecond(
            megabytes * BigRational::from_integer(1_000_000.into()),
        ))
    };
    of_references().or_else(of_time).ok_or_else(|| {
        SimError::usage(
            option("migrate-limit") + format!(" {text:?} is no limit"),
            "give promotions and references such as 100/10000r, or a rate such as 256MB/s",
        )
    })
}

fn parse_seconds(text: &str) -> Result<BigRational, SimError> {
    decimal(text).filter(|seconds| !seconds.is_zero()).ok_or_else(|| {
        SimError::usage(
            option("trace-seconds") + format!(" {text:?} is no number of seconds above 0"),
            "give one such as 3600",
        )
    })
}

/// A number of digits with at most one point.
fn decimal(text: &str) -> Option<BigRational> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || text.len() > 40 {
        return None;
    }
    let numerator: BigInt = format!("{whole}{fraction}").parse().ok()?;
    Some(BigRational::new(numerator, BigInt::from(10).pow(fraction.len() as u32)))
}
