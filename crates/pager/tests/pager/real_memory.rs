//! Every bit-driven policy on real memory: contents are verified at every access, and the events are those of the twin.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clockhand_pager::store::Store;
use clockhand_pager::{Bits, Event, PagedRegion, Settings, obstacle};

use crate::decisions::{
    SOURCES, events_of_twin, policies, reading_ahead, settings, twin, with_bits, writes_first,
};
use crate::model::ModelStore;

const PAGE_BYTES: usize = 4096;
pub const PAGES: u32 = 96;

/// A region whose first word of each page the test reads and writes.
pub struct Words {
    pub region: PagedRegion,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Words {
    fn new(settings: Settings) -> Self {
        Words::in_store(settings, Box::new(ModelStore::new(0x5555_3333_0F0F_00FF)))
    }

    pub fn in_store(settings: Settings, store: Box<dyn Store>) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        let sink = move |event| log.lock().expect("no test panics with this lock").push(event);
        let region =
            PagedRegion::new(PAGES, settings, store, Box::new(sink)).expect("this kernel pages");
        Words { region, events }
    }

    /// The words of a region whose events the test does not want.
    pub fn of(region: PagedRegion) -> Self {
        Words { region, events: Arc::default() }
    }

    pub fn log(&self) -> Vec<Event> {
        self.events.lock().expect("no test panics with this lock").clone()
    }

    fn word(&self, page: u32, index: usize) -> *mut u64 {
        assert!(page < PAGES && index < PAGE_BYTES / 8);
        // SAFETY: the word lies in the region.
        unsafe { self.region.as_ptr().add(page as usize * PAGE_BYTES).cast::<u64>().add(index) }
    }

    pub fn read(&self, page: u32, index: usize) -> u64 {
        // SAFETY: the region is memory, and each word is used by one thread.
        unsafe { self.word(page, index).read_volatile() }
    }

    pub fn write(&self, page: u32, index: usize, value: u64) {
        // SAFETY: the region is memory, and each word is used by one thread.
        unsafe { self.word(page, index).write_volatile(value) }
    }
}

/// Pseudo-random numbers below a bound.
pub fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    }
}

/// Says why a test of real memory cannot run here, if it cannot.
pub fn is_refused() -> bool {
    if let Some(obstacle) = obstacle() {
        eprintln!("SKIPPED: {obstacle}");
        return true;
    }
    false
}

/// A program with a working set that moves, scans now and then, and writes a share of what it touches.
pub fn run_program(
    words: &Words,
    steps: u64,
    seed: u64,
    write_percent: u64,
    mut before_step: impl FnMut(u64),
) {
    let mut next = numbers(seed);
    let mut expected = [[0u64; 2]; PAGES as usize];
    for step in 0..steps {
        before_step(step);
        let page = match next(10) {
            0 => step % u64::from(PAGES),
            1..7 => (step / 200 + next(20)) % u64::from(PAGES),
            _ => next(u64::from(PAGES)),
        } as u32;
        let index = [0, PAGE_BYTES / 8 - 1][next(2) as usize];
        let expected = &mut expected[page as usize][usize::from(index > 0)];
        assert_eq!(words.read(page, index), *expected, "page {page}, word {index}, step {step}");
        if next(100) < write_percent {
            *expected = step + 1;
            words.write(page, index, step + 1);
        }
    }
}

fn policies_and_sources() -> impl Iterator<Item = (String, Bits)> {
    policies().into_iter().flat_map(|policy| SOURCES.map(|bits| (policy.clone(), bits)))
}

/// The number of frames, and how many others for writes under way and for pages read ahead.
struct Shares {
    frames: u32,
    reserve: u32,
    ahead: u32,
}

fn does_what_the_twin_does(shares: Shares, write_percent: u64) {
    if is_refused() {
        return;
    }
    let Shares { frames, reserve, ahead } = shares;
    for (policy, bits) in policies_and_sources() {
        let settings = with_bits(settings(&policy, frames, reserve), bits);
        let words = Words::new(reading_ahead(settings, ahead));
        run_program(&words, 3000, u64::from(frames), write_percent, |_| {});
        let log = words.log();
        let counts = words.region.finish().counts;
        let expected = events_of_twin(&mut *twin(&policy, frames - reserve, bits), &log);
        let log = writes_first(&log);
        assert!(log == expected, "{policy}, {bits:?}, {frames} frames, reserve {reserve}");
        assert!(counts.peak_resident_pages <= u64::from(frames + ahead), "{policy}: {counts:?}");
        assert_eq!(counts.pages_read_ahead > 0, ahead > 0, "{policy}: {counts:?}");
        let left_dirty = counts.dirty_evictions + counts.write_backs;
        assert_eq!(counts.pages_written + counts.pages_not_written, left_dirty, "{policy}");
        // Of the kernel that writes pages which stay, only clean pages leave.
        assert!(left_dirty > 0 && counts.pages_read > 0, "{policy}: {counts:?}");
    }
}

#[test]
fn real_memory_does_what_the_twin_does() {
    does_what_the_twin_does(Shares { frames: 16, reserve: 0, ahead: 0 }, 30);
}

#[test]
fn real_memory_that_reads_ahead_does_what_the_twin_does() {
    does_what_the_twin_does(Shares { frames: 30, reserve: 0, ahead: 20 }, 80);
}

#[test]
fn real_memory_with_a_reserve_does_what_the_twin_does() {
    does_what_the_twin_does(Shares { frames: 48, reserve: 8, ahead: 0 }, 50);
}

#[test]
fn real_memory_with_a_reserve_that_reads_ahead_does_what_the_twin_does() {
    does_what_the_twin_does(Shares { frames: 24, reserve: 3, ahead: 8 }, 5);
}

#[test]
fn threads_share_a_region() {
    if is_refused() {
        return;
    }
    // With a reserve of 12 pages leave several at a time, while the threads still reach them.
    for ((policy, reserve, ahead), bits) in [("craw", 0, 0), ("craw", 4, 0), ("clock", 12, 8)]
        .into_iter()
        .flat_map(|case| SOURCES.map(|bits| (case, bits)))
    {
        let settings = with_bits(settings(policy, 20 + reserve, reserve), bits);
        let words = Words::new(reading_ahead(settings, ahead));
        thread::scope(|scope| {
            for number in 0..4 {
                let words = &words;
                // Threads share pages and not words.
                scope.spawn(move || {
                    let mut next = numbers(number as u64);
                    let mut expected = [0u64; PAGES as usize];
                    for step in 1..2000 {
                        let page = next(PAGES.into()) as u32;
                        assert_eq!(words.read(page, number), expected[page as usize]);
                        if next(2) == 0 {
                            expected[page as usize] = step;
                            words.write(page, number, step);
                        }
                    }
                });
            }
        });
        let log = words.log();
        assert!(log == events_of_twin(&mut *twin(policy, 20, bits), &log), "{policy}, {bits:?}");
    }
}

/// Without load control no thread goes on: each read needs two pages, and 80 are needed at once.
#[test]
fn threads_that_need_more_pages_at_once_than_there_are_frames_all_go_on() {
    const THREADS: u32 = 40;
    const READS: u32 = 300;
    if is_refused() {
        return;
    }
    for bits in SOURCES {
        let words = Words::new(with_bits(settings("fifo", 16, 0), bits));
        thread::scope(|scope| {
            for number in 0..THREADS {
                let words = &words;
                scope.spawn(move || {
                    let mut next = numbers(number.into());
                    for _ in 0..READS {
                        let second = 1 + next(u64::from(PAGES) - 1) as usize;
                        // SAFETY: all of these bytes are in the region, and no thread writes.
                        let read = unsafe {
                            let first = words.region.as_ptr().add(second * PAGE_BYTES - 4);
                            first.cast::<u64>().read_unaligned()
                        };
                        assert_eq!(std::hint::black_box(read), 0);
                    }
                });
            }
        });
        let misses = words.region.finish().counts.misses;
        let reads = u64::from(THREADS * READS);
        assert!(misses < 4 * reads, "{misses} misses, {bits:?}");
    }
}

#[test]
fn what_is_discarded_reads_as_zeros() {
    if is_refused() {
        return;
    }
    for bits in SOURCES {
        let words = Words::new(with_bits(settings("clock", 16, 0), bits));
        (0..PAGES).for_each(|page| words.write(page, 0, 1));
        words.region.discard(10, 70).expect("nothing fails");
        words.region.discard(PAGES, 0).expect("there is nothing to do");
        for page in 0..PAGES {
            let is_discarded = (10..80).contains(&page);
            assert_eq!(words.read(page, 0), u64::from(!is_discarded), "page {page}");
        }
        let counts = words.region.finish().counts;
        assert_eq!(counts.discarded_pages, 70);
        assert!(counts.pages_zero_filled >= u64::from(PAGES) + 50, "{counts:?}");
    }
}

/// Once the thread that waited for such a page was woken to retry forever, because the pager believed that the page
/// had a translation.
#[test]
fn translations_that_the_kernel_drops_by_itself_are_made_again() {
    if is_refused() {
        return;
    }
    let advice = [libc::MADV_DONTNEED, libc::MADV_PAGEOUT];
    for (advice, bits) in advice.into_iter().flat_map(|advice| SOURCES.map(|bits| (advice, bits))) {
        let words = Arc::new(Words::new(with_bits(settings("clock", 16, 0), bits)));
        (0..8).for_each(|page| words.write(page, 0, u64::from(page) + 1));
        (8..14).for_each(|page| assert_eq!(words.read(page, 0), 0));
        // SAFETY: translations of a shared mapping lose no content. If the kernel cannot do it, nothing is tested.
        unsafe { libc::madvise(words.region.as_ptr().cast(), words.region.bytes(), advice) };
        let (done, is_done) = std::sync::mpsc::channel();
        let words_of_program = words.clone();
        thread::spawn(move || {
            for page in 0..14 {
                let expected = if page < 8 { u64::from(page) + 1 } else { 0 };
                assert_eq!(words_of_program.read(page, 0), expected, "page {page}");
                words_of_program.write(page, 0, 77);
            }
            done.send(()).expect("the test waits");
        });
        is_done.recv_timeout(Duration::from_secs(20)).expect("the pages are accessed");
        assert!((0..14).all(|page| words.read(page, 0) == 77));
    }
}

#[test]
fn a_forked_child_does_not_have_the_region() {
    if is_refused() {
        return;
    }
    let words = Words::new(settings("clock", 16, 0));
    (0..PAGES).for_each(|page| words.write(page, 0, 1));
    // SAFETY: the child only touches memory, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        (0..PAGES).for_each(|page| words.write(page, 0, words.read(page, 0) + 1));
        // SAFETY: ends the child without what the parent wants to do at its end.
        unsafe { libc::_exit(0) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status}");
    (0..PAGES).for_each(|page| assert_eq!(words.read(page, 0), 1, "page {page}"));
}

#[test]
fn the_kernel_reads_and_writes_a_region_in_system_calls() {
    if is_refused() {
        return;
    }
    let words = Words::new(settings("cfclock", 16, 0));
    let bytes = words.region.bytes();
    let mut source = tempfile::tempfile().expect("a temporary file");
    let content: Vec<u8> = (0..bytes).map(|index| (index / 7) as u8).collect();
    std::io::Write::write_all(&mut source, &content).expect("there is room");
    // SAFETY: the region is memory that nothing else uses now.
    let view = unsafe { std::slice::from_raw_parts_mut(words.region.as_ptr(), bytes) };
    std::os::unix::fs::FileExt::read_exact_at(&source, view, 0)
        .expect("the kernel writes into the region");
    assert!(view == content);
}

#[test]
fn a_policy_that_must_be_told_of_hits_is_refused() {
    let refusal =
        |policy: &str, frames| settings(policy, frames, 0).check().expect_err("it cannot page");
    assert!(refusal("lru", 64).starts_with("lru needs every hit"));
    assert!(refusal("min", 64).starts_with("min must know the future"));
    assert!(refusal("clock", 15).contains("fewer than 16"));
}
