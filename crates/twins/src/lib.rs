//! Slow, literal twins: the test kit.
//!
//! Each page-replacement policy and write buffer is written here a second time, straight from the numbered rules
//! (A-01 … A-76) that resolve what the papers leave open or, where no rule names it, from its page. A twin is read
//! beside them, so it uses the plainest data it can: a queue, a linear search, exact rationals. Nothing in this crate shares
//! code with the production policies; a property test gives both the same references and compares hits, evictions and
//! state.
//!
//! ```
//! use clockhand_twins::{Op, build};
//!
//! let mut clock = build("clock", 2, &[], &[]);
//! assert!(!clock.reference(1, Op::Write).hit);
//! assert!(!clock.reference(2, Op::Read).hit);
//! assert_eq!(clock.reference(3, Op::Read).evicted, [(1, true)]);
//! assert_eq!(clock.state().to_string(), r#"{"from_hand":[[2,0],[3,0]]}"#);
//! ```
//!
//! # Parameters
//!
//! | policy | parameters (default) |
//! |---|---|
//! | `fifo`, `lru`, `lru-wsr`, `min`, `sieve`, `lfu`, `arc` | none |
//! | `clock` | `insert_ref` (0) |
//! | `nru` | `mode` (`scan`; or `periodic`, which needs `period` in references) |
//! | `car` | none |
//! | `cflru` | `window_pages` or `window_share` (1/3) |
//! | `cflru-dynamic` | `period` (1000 references), `step` (max(1, S/16) pages), `threshold` (0), `cost_read` (1), `cost_write` (8), `write_allocate_fetch` (true) |
//! | `cfclock` | `window_pages` or `window_share` (1/3), `clear_passed` (true) |
//! | `craw`, `craw-a` | `c` (8), `ghosts` (`exclusive` or `literal`), `write_back` (`lazy` or `eager`) |
//! | `random` | `seed` (0) |
//! | `clock-pro` | `cold_share` (1/100) |
//! | `2q` | `kin_share` (1/4), `kout_share` (1/2) |
//! | `s3-fifo` | `small_share` (1/10), `move_to_main_threshold` (2), `fill` (`small` or `main`) |
//! | `lirs` | `hir_share` (1/100) |
//! | `lirs-wsr` | `hir_share` (1/100), `spare_lir` (true) |
//! | `ccf-lru` | `new_dirty` (`hot` or `cold`) |
//! | `cfdc` | `priority_share` (1/2), `cluster_pages` (64) |
//! | `casa` | `c` (8) |
//! | `ad-lru` | `min_cold_share` (1/10) |
//! | `for` | `c` (8), `hot_share` (1/2), `history` (`keep` or `forget`) |
//! | `ace` | `policy` (`lru`, `cflru` or `lru-wsr`), `batch` (8) |
//! | `ace-clock` | `policy` (`clock` or `credit-clock`), `batch` (8), `c` (8, of `credit-clock`) |
//! | `w-tinylfu` | `window_share` (1/100), `protected_share` (4/5), `sample_factor` (10), `doorkeeper` (false) |
//! | `linux24`, `linux-lru`, `linux-mglru` | `batch` (max(1, min(32, S/4)) pages) |
//! | `linux24-cflru` | `batch`; `share` (1/4), or `dynamic=true` with `period` (10 S references), `threshold` (1/20), `cost_read` (1), `cost_write` (8) |
//! | `weighted-clock` | `rounds` (3) |
//! | `wa-landlord` | `c` (8) |
//! | `credit-clock` | `c` (8) or `k`, `clean_levels` (4), `dirty_levels` (2), `new_dirty_share` (1) |
//!
//! | write buffer | parameters (default) |
//! |---|---|
//! | `clock-dnv` | `dram_share` (1/10), `nvm_write_hit` (`in_place`, `promote`, `dram_copy`), `padding` (`remove`, `keep_clean`, `off`), `pad_migrating` (false), `read_allocate` (true) |
//! | `fab` | `clean_padding` (true), `cache_reads` (true) |
//! | `cbm` | `dram_share` (1/10), `threshold` (4) |
//! | `bplru` | `padding` (`on` or `off`), `compensation` (true) |
//! | `clc` | `alpha` (1/10) |
//! | `lb-clock` | `clear_sequential` (false) |
//! | `pud-lru` | `distance` (1), `padding` (`off` or `on`) |
//! | `bpac` | `growth` (1) |
//! | `block-min` | `padding` (`off` or `on`) |
//! | `lru`, `clock`, `cflru`, `lru-wsr`, `craw`, `credit-clock` | the policy's own, `cache_reads` (true); reads and writes only |
//!
//! The write buffers of blocks also take `commands` (`paper` or `safe`).
//!
//! The bit-driven ones (`fifo`, `random`, `clock`, `clock-pro`, `sieve`, `nru`, `car`, `cfclock`, `craw`, `craw-a`,
//! `weighted-clock`, `credit-clock`, `ace-clock`) also take `bits`: `exact` (every access sets its bit, the papers' rule), `mapped`
//! or `sensed` (what real memory shows). Under `mapped` the faulting access is retried, so it sets its own bit and maps
//! the page. On a mapped page a later read goes unseen and a later write sets its bit. Clearing a set bit unmaps the
//! page, which keeps its other bit; the next access is seen and maps it again. The dirty flag is exact under both.
//! Under `sensed` the policy sees the same accesses, but only when it looks. It learns that a page was referenced from
//! its being mapped again. The first access to an unmapped page therefore shows as a read even if it writes, except for
//! the retried fault, which is known. A period ends with the first miss at or after its last reference.

mod ace;
mod ad_lru;
mod arc;
mod bound;
mod buffer;
mod car;
mod casa;
mod cases;
mod ccf_lru;
mod cfclock;
mod cfdc;
mod cflru;
mod clock;
mod clock_page;
mod clock_pro;
mod craw;
mod credit_clock;
mod drive_time;
mod fifo;
mod file_cache;
mod flash;
mod for_;
mod kernel;
mod lfu;
mod lirs;
mod lru;
mod lru_wsr;
mod min;
mod nru;
mod page_list;
mod pagecache;
mod parameters;
mod random;
mod requests;
mod run;
mod s3_fifo;
mod sieve;
mod split_mix;
mod state;
mod tiers;
mod translation;
mod two_queues;
mod visibility;
mod w_tinylfu;
mod wa_landlord;
mod weighted_clock;

pub use bound::lower_bounds;
pub use buffer::{
    BUFFERS, BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place,
    build_buffer,
};
pub use cases::cases;
pub use drive_time::{
    DriveTimeTwin, ProgrammedFrom, TimedDecisions, TimedFlash, TimedKind, TimedMedium,
    TimedOperation, TimedRequest, TimedRules, TimedServed, TimedStep,
};
pub use file_cache::{
    AdmissionRules, Cost, FileCacheCosts, FileCacheEvent, FileCacheTwin, belady, evictions,
    file_cache_bound,
};
pub use flash::{
    DftlRules, DftlTwin, FlashCause, FlashClasses, FlashEvent, FlashRules, FlashTwin,
    LogBlockRules, LogBlockTwin, SlcRules, ZoneRefusal, ZoneRules, ZonedTwin,
};
pub use kernel::{Access, KernelStep, KernelTwin, build_kernel};
pub use pagecache::{PageCacheRequest, PageCacheRules, PageCacheTwin};
pub use requests::RequestCosts;
pub use run::{Options, Run, Totals, run};
pub use state::State;
pub use tiers::{
    TierEvent, TierKeeper, TierPlacement, TierPrices, TierPromotion, TierRules, TierSight,
    TierTimes, TierTwin, TppRule, static_pages,
};
pub use translation::{
    StreamPage, TlbKey, TlbTwin, TranslationEvent, TranslationRules, TranslationTwin, UpperEntry,
};

use parameters::Parameters;

/// Names of all twins, as the command writes them.
pub const POLICIES: [&str; 36] = [
    "fifo",
    "lru",
    "clock",
    "nru",
    "car",
    "cflru",
    "cflru-dynamic",
    "cfclock",
    "lru-wsr",
    "lirs-wsr",
    "ccf-lru",
    "cfdc",
    "casa",
    "ad-lru",
    "for",
    "ace",
    "ace-clock",
    "craw",
    "craw-a",
    "min",
    "random",
    "clock-pro",
    "sieve",
    "lfu",
    "2q",
    "arc",
    "s3-fifo",
    "lirs",
    "w-tinylfu",
    "linux24",
    "linux24-cflru",
    "linux-lru",
    "linux-mglru",
    "weighted-clock",
    "wa-landlord",
    "credit-clock",
];

/// The operation of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The page is read.
    Read,
    /// The page is modified.
    Write,
}

/// One reference's outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// True if the page was in memory.
    pub hit: bool,
    /// Pages that left memory, in order, each with its dirty flag at that moment.
    pub evicted: Vec<(u64, bool)>,
    /// Pages written back without leaving memory at that moment (eager write-back), in order. Such a page may still
    /// leave memory, then clean, on the same reference.
    pub written_back: Vec<u64>,
    /// Of kernels only: both kinds, in order.
    pub steps: Vec<KernelStep>,
}

impl Event {
    fn hit() -> Event {
        Event { hit: true, ..Event::default() }
    }

    fn miss() -> Event {
        Event::default()
    }
}

/// A policy with its own memory of `S` frames: it gets every reference and answers with what happened.
pub trait Twin {
    /// Applies one reference and says what happened.
    ///
    /// # Panics
    ///
    /// `min` panics if the reference is not the next one of the future it was built with.
    fn reference(&mut self, page: u64, op: Op) -> Event {
        self.reference_with(page, op, &[])
    }

    /// As [`Twin::reference`]; if the page is not in memory, `ahead`, which are not either, come with it without
    /// having been referenced. Frames first (A-58, A-88): all evictions come before the first of these pages.
    fn reference_with(&mut self, page: u64, op: Op, ahead: &[u64]) -> Event;

    /// The page, which is in memory, leaves at once and out of turn (A-83); says whether it was dirty.
    fn drop_page(&mut self, page: u64) -> bool;

    /// A reference that the policy does not see, because its page stays outside. Its periods count it, and `min`
    /// goes on in its future.
    fn pass_by(&mut self, page: u64, op: Op) {
        let _ = (page, op);
    }

    /// Sets the dirty flag of a page in memory, whatever references the policy got; for policies that look at it
    /// (A-03).
    fn set_dirty(&mut self, page: u64, dirty: bool) {
        let _ = (page, dirty);
    }

    /// The page that would leave now if one had to; nothing changes.
    ///
    /// # Panics
    ///
    /// Unless the policy is one whose choice changes nothing and a page is in memory.
    fn next_victim(&self) -> u64 {
        panic!("the choice of this policy changes it")
    }

    /// The complete state, with exactly the keys of the golden files.
    fn state(&self) -> State;

    /// Pages in memory, ascending.
    fn resident(&self) -> Vec<u64>;

    /// Counts beyond the common ones, by the golden files' names. CRAW and CRAW-A count `reclaims` and `null_reclaims`
    /// (A-36), `w1_drained` (A-26), `stale_ghosts` (A-30), `zero_by_zero` (A-22) and `hits_gR`, `hits_gW1`, `hits_gW2`.
    /// A stale ghost is a scan link of a page still in a ghost of that side. The zero-by-zero count is of RECLAIM calls
    /// that met an empty area of desired size 0. Other policies have none.
    fn statistics(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Builds the twin of `policy` (a name of [`POLICIES`]) with `frames` page frames.
///
/// `parameters` are names and values as the command writes them (see the crate's table); `future` is the whole trace
/// and only `min` looks at it.
///
/// # Panics
///
/// On an unknown policy or parameter, a value out of its range, or no frame: a test asked for what does not exist.
pub fn build(
    policy: &str,
    frames: usize,
    parameters: &[(&str, &str)],
    future: &[(u64, Op)],
) -> Box<dyn Twin> {
    assert!(frames >= 1, "a memory needs at least one frame");
    if policy.starts_with("linux") {
        return Box::new(kernel::AsPolicy(build_kernel(policy, frames, parameters)));
    }
    let mut parameters = Parameters::new(policy, parameters);
    let twin: Box<dyn Twin> = match policy {
        "fifo" => Box::new(fifo::Fifo::new(frames, &mut parameters)),
        "lru" => Box::new(lru::Lru::new(frames)),
        "clock" => Box::new(clock::Clock::new(frames, &mut parameters)),
        "nru" => Box::new(nru::Nru::new(frames, &mut parameters)),
        "car" => Box::new(car::Car::new(frames, &mut parameters)),
        "cflru" => Box::new(cflru::Cflru::with_static_window(frames, &mut parameters)),
        "cflru-dynamic" => Box::new(cflru::Cflru::with_dynamic_window(frames, &mut parameters)),
        "cfclock" => Box::new(cfclock::Cfclock::new(frames, &mut parameters)),
        "lru-wsr" => Box::new(lru_wsr::LruWsr::new(frames)),
        "craw" => Box::new(craw::Craw::new(frames, &mut parameters)),
        "craw-a" => Box::new(craw::Craw::new_all_references(frames, &mut parameters)),
        "min" => Box::new(min::Min::new(frames, future)),
        "random" => Box::new(random::Random::new(frames, &mut parameters)),
        "clock-pro" => Box::new(clock_pro::ClockPro::new(frames, &mut parameters)),
        "sieve" => Box::new(sieve::Sieve::new(frames, &mut parameters)),
        "lfu" => Box::new(lfu::Lfu::new(frames)),
        "2q" => Box::new(two_queues::TwoQueues::new(frames, &mut parameters)),
        "arc" => Box::new(arc::Arc::new(frames)),
        "s3-fifo" => Box::new(s3_fifo::S3Fifo::new(frames, &mut parameters)),
        "lirs" => Box::new(lirs::Lirs::new(frames, &mut parameters)),
        "lirs-wsr" => Box::new(lirs::Lirs::with_chances(frames, &mut parameters)),
        "ccf-lru" => Box::new(ccf_lru::CcfLru::new(frames, &mut parameters)),
        "cfdc" => Box::new(cfdc::Cfdc::new(frames, &mut parameters)),
        "casa" => Box::new(casa::Casa::new(frames, &mut parameters)),
        "ad-lru" => Box::new(ad_lru::AdLru::new(frames, &mut parameters)),
        "for" => Box::new(for_::For::new(frames, &mut parameters)),
        "ace" => Box::new(ace::Ace::of_lists(frames, &mut parameters)),
        "ace-clock" => Box::new(ace::Ace::of_clocks(frames, &mut parameters)),
        "w-tinylfu" => Box::new(w_tinylfu::WTinylfu::new(frames, &mut parameters)),
        "weighted-clock" => Box::new(weighted_clock::WeightedClock::new(frames, &mut parameters)),
        "wa-landlord" => Box::new(wa_landlord::WaLandlord::new(frames, &mut parameters)),
        "credit-clock" => Box::new(credit_clock::CreditClock::new(frames, &mut parameters)),
        _ => panic!("there is no twin of policy `{policy}`"),
    };
    parameters.expect_all_taken();
    twin
}
