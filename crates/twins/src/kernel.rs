//! The kernels' reclaim, simplified (A-90 … A-93).

mod linux24;
mod linux_lru;
mod linux_mglru;

use crate::{Event, Op, State, parameters::Parameters};

pub(crate) use linux_lru::LinuxLru;
pub(crate) use linux_mglru::LinuxMglru;
pub(crate) use linux24::Linux24;

/// The way a page is reached, and its kind.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// By a call, not by memory.
    pub by_call: bool,
    /// A page of a file, not an anonymous one.
    pub is_file: bool,
    /// True if a miss reads the page.
    pub fetched: bool,
}

impl Access {
    /// By the memory of a process, reading what misses.
    pub const MEMORY: Access = Access { by_call: false, is_file: false, fetched: true };
}

/// The step of a kernel's reclaim for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStep {
    /// It is written and stays.
    Write(u64),
    /// It leaves, with its dirty flag.
    Evict(u64, bool),
}

/// Events that only kernels see, beside those of every policy.
pub trait KernelTwin {
    /// One reference; `ahead` as in [`Twin::reference_with`](crate::Twin::reference_with), pages of the same kind.
    fn refer(&mut self, page: u64, op: Op, access: Access, ahead: &[u64]) -> Event;
    /// The page stays and loses its mapping.
    fn unmap(&mut self, page: u64);
    /// The page, which stays, has been written.
    fn written_back(&mut self, page: u64);
    /// The page, which stays, differs from what is stored without having been referenced.
    fn make_dirty(&mut self, page: u64);
    /// The page leaves at once; says whether it was dirty.
    fn drop_page(&mut self, page: u64) -> bool;
    /// Lists from head to tail.
    fn state(&self) -> State;
    /// Pages in memory, ascending.
    fn resident(&self) -> Vec<u64>;
}

/// A kernel as a policy like any other: all pages are anonymous and reached by memory.
pub(crate) struct AsPolicy(pub(crate) Box<dyn KernelTwin>);

impl crate::Twin for AsPolicy {
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event {
        // Ordinary policies tell no steps.
        Event { steps: Vec::new(), ..self.0.refer(page, op, Access::MEMORY, ahead) }
    }

    fn drop_page(&mut self, page: u64) -> bool {
        self.0.drop_page(page)
    }

    fn state(&self) -> State {
        self.0.state()
    }

    fn resident(&self) -> Vec<u64> {
        self.0.resident()
    }
}

/// Builds the twin of a kernel, as [`build`](crate::build) does.
///
/// # Panics
///
/// As [`build`](crate::build).
pub fn build_kernel(
    policy: &str,
    frames: usize,
    parameters: &[(&str, &str)],
) -> Box<dyn KernelTwin> {
    let mut parameters = Parameters::new(policy, parameters);
    // The faulting access sets its bit, so that where bits come from matters to periods alone.
    let visibility = parameters.visibility();
    let twin: Box<dyn KernelTwin> = match policy {
        "linux24" => Box::new(Linux24::new(frames, &mut parameters)),
        "linux24-cflru" => Box::new(Linux24::with_clean_first(frames, visibility, &mut parameters)),
        "linux-lru" => Box::new(LinuxLru::new(frames, &mut parameters)),
        "linux-mglru" => Box::new(LinuxMglru::new(frames, &mut parameters)),
        _ => panic!("there is no twin of kernel `{policy}`"),
    };
    parameters.expect_all_taken();
    twin
}

/// batch = max(1, min(32, floor(S/4))) unless given, at most S.
fn batch(frames: usize, parameters: &mut Parameters) -> usize {
    parameters.integer("batch").unwrap_or((frames / 4).clamp(1, 32)).min(frames)
}

/// A page of any kernel.
#[derive(Clone, Copy, Debug)]
struct Page {
    page: u64,
    is_file: bool,
    accessed: bool,
    dirty: bool,
    referenced: bool,
    mapped: bool,
    /// Hits by calls since the page entered its generation.
    call_hits: u64,
}

impl Page {
    fn new(page: u64, op: Op, access: Access) -> Page {
        Page {
            page,
            is_file: access.is_file,
            // Also by the access that faults, which is retried.
            accessed: !access.by_call,
            dirty: op == Op::Write,
            referenced: false,
            mapped: !access.by_call,
            call_hits: 0,
        }
    }

    /// A page that comes with another one.
    fn ahead(page: u64, is_file: bool) -> Page {
        Page::new(page, Op::Read, Access { by_call: true, is_file, fetched: true })
    }
}

/// A list from head, the newest page, to tail.
type List = Vec<Page>;

fn push_head(list: &mut List, page: Page) {
    list.insert(0, page);
}

fn take(list: &mut List, page: u64) -> Option<Page> {
    let position = list.iter().position(|other| other.page == page)?;
    Some(list.remove(position))
}

fn evict(event: &mut Event, page: Page) {
    event.evicted.push((page.page, page.dirty));
    event.steps.push(KernelStep::Evict(page.page, page.dirty));
}

fn ascending<'a>(lists: impl IntoIterator<Item = &'a List>) -> Vec<u64> {
    let mut pages: Vec<u64> = lists.into_iter().flatten().map(|page| page.page).collect();
    pages.sort_unstable();
    pages
}
