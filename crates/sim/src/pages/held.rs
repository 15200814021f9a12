//! A trace that is held for cells of many settings, and the next one, which is read beside those cells.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clockhand_trace::{Folding, TraceInput};

use super::PagesOptions;
use super::sampled::count;
use crate::contestant::Contestant;
use crate::error::SimError;
use crate::memory_size::parse_page_bytes;
use crate::pricing::Pricing;
use crate::read_trace::ReadTrace;
use crate::study::{ahead, unless_too_large};
use crate::views::{Views, Wanted, foldings, numbering, read_at};
use clockhand_trace::progress::Progress;

/// The interval between two looks at a trace that is read ahead.
const LOOK: Duration = Duration::from_millis(20);

/// A trace, and for which settings it is read.
#[derive(Clone)]
pub struct Reading {
    input: TraceInput,
    contestants: Vec<Contestant>,
    wanted: Settings,
}

/// What settings want of a trace.
#[derive(Clone, PartialEq, Eq)]
struct Settings {
    /// What distinguishes the trace from others.
    trace: String,
    policies: Vec<String>,
    devices: Vec<String>,
    page_sizes_bytes: Vec<u64>,
    /// Whether any cell begins to count after a warm-up or has intervals.
    has_intervals: bool,
}

impl Reading {
    /// A trace for all these settings; those with samples need no view of it. `trace` distinguishes it from others.
    ///
    /// # Errors
    ///
    /// A policy or page size is unusable.
    pub fn new(
        trace: String,
        input: TraceInput,
        settings: &[PagesOptions],
    ) -> Result<Self, SimError> {
        let whole = || settings.iter().filter(|setting| setting.sample.is_none());
        let policies = each_once(whole().flat_map(|setting| setting.policy.iter().cloned()));
        let sizes = whole().map(|setting| parse_page_bytes(&setting.page_size));
        let wanted = Settings {
            trace,
            devices: each_once(whole().map(|setting| setting.device.clone())),
            page_sizes_bytes: each_once(sizes.collect::<Result<Vec<_>, _>>()?.into_iter()),
            has_intervals: whole()
                .any(|setting| setting.every.is_some() || setting.warm_up.is_some()),
            policies,
        };
        Ok(Reading { input, contestants: Contestant::parse_all(&wanted.policies)?, wanted })
    }
}

fn each_once<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// A trace that was read once: its views at some page sizes.
pub struct HeldTrace {
    /// Without scratch files, which only its views need.
    input: TraceInput,
    /// By page size in bytes.
    at: Vec<(u64, Views)>,
    /// What it is at page sizes of samples, each counted once.
    counted: Mutex<BTreeMap<u64, ReadTrace>>,
    /// Limit of the memory for a trace that is read beside the cells.
    beside_bytes: AtomicU64,
}

impl HeldTrace {
    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// A policy or device is unusable, or the trace cannot be read.
    pub fn read(reading: &Reading, progress: &Progress) -> Result<Self, SimError> {
        Self::read_within(reading, &reading.input, progress)
    }

    fn read_within(
        reading: &Reading,
        input: &TraceInput,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let Reading { contestants, wanted, .. } = reading;
        let mut needed = if wanted.has_intervals { vec![Folding::None] } else { Vec::new() };
        for &page_bytes in &wanted.page_sizes_bytes {
            for device in &wanted.devices {
                let device_ratio = Pricing::new(device, page_bytes)?.device_ratio;
                needed.extend(foldings(contestants, device_ratio)?);
            }
        }
        let wanted = Wanted {
            page_sizes_bytes: &wanted.page_sizes_bytes,
            foldings: &each_once(needed.into_iter()),
            keeps_times: wanted.has_intervals,
            drops: false,
        };
        let at = match wanted.page_sizes_bytes {
            [] => Vec::new(),
            sizes => {
                let (input, scratch) = input.apart_from_scratch();
                let numbering = numbering(contestants);
                let views = read_at(&input, scratch.as_deref(), wanted, numbering, progress)?;
                sizes.iter().copied().zip(views).collect()
            }
        };
        Ok(HeldTrace {
            input: reading.input.apart_from_scratch().0,
            at,
            counted: Mutex::default(),
            beside_bytes: AtomicU64::new(0),
        })
    }

    /// What the trace is at a page size. For a sample it is counted, and nothing of it kept.
    ///
    /// # Errors
    ///
    /// It was not read for this page size, or it cannot be read.
    pub fn trace(
        &self,
        page_bytes: u64,
        is_sampled: bool,
        progress: &Progress,
    ) -> Result<ReadTrace, SimError> {
        if !is_sampled {
            return Ok(self.views(page_bytes)?.trace.clone());
        }
        let mut counted = locked(&self.counted);
        if let Some(trace) = counted.get(&page_bytes) {
            return Ok(trace.clone());
        }
        let trace = count(&self.input, page_bytes, progress)?;
        Ok(counted.entry(page_bytes).or_insert(trace).clone())
    }

    /// The views at a page size.
    pub(super) fn views(&self, page_bytes: u64) -> Result<&Views, SimError> {
        let found = self.at.iter().find(|(other, _)| *other == page_bytes);
        found.map(|(_, views)| views).ok_or_else(|| {
            SimError::usage(
                format!("the trace was not read for pages of {page_bytes} bytes"),
                "add that size when it is read",
            )
        })
    }

    /// The trace without scratch files: samples are small.
    pub(super) fn input_of_samples(&self) -> &TraceInput {
        &self.input
    }

    /// The memory that the trace and its cells may take.
    pub(super) fn memory_bytes(&self) -> u64 {
        let beside_bytes = self.beside_bytes.load(Ordering::Relaxed);
        self.input.memory_limit_bytes().saturating_sub(beside_bytes)
    }

    /// The next trace as it may be read beside the cells of this one, which are given less memory then; `None` if there
    /// is no memory for both.
    fn next(&self, input: &TraceInput) -> Option<TraceInput> {
        let taken_bytes = self.at.iter().map(|(_, views)| views.memory_bytes()).sum();
        let (next, share_bytes) = ahead(self.input.memory_limit_bytes(), taken_bytes, input)?;
        self.beside_bytes.store(share_bytes, Ordering::Relaxed);
        Some(next)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The trace that was read last, for further cells of it, and the one that is read ahead.
#[derive(Default)]
pub struct HeldTraces(Mutex<Held>);

#[derive(Default)]
struct Held {
    present: Option<(Settings, Arc<HeldTrace>)>,
    ahead: Option<Ahead>,
}

impl HeldTraces {
    /// The trace, which is read unless it is held already; another one is forgotten before.
    ///
    /// # Errors
    ///
    /// Those of [`HeldTrace::read`].
    pub fn read(&self, reading: &Reading, progress: &Progress) -> Result<Arc<HeldTrace>, SimError> {
        let mut held = locked(&self.0);
        if let Some((settings, present)) = &held.present
            && *settings == reading.wanted
        {
            return Ok(Arc::clone(present));
        }
        held.present = None;
        let ahead = held.ahead.take().filter(|ahead| ahead.settings == reading.wanted);
        let found = ahead.map(|ahead| ahead.finish(progress)).transpose()?.flatten();
        let trace = Arc::new(found.map_or_else(|| HeldTrace::read(reading, progress), Ok)?);
        held.present = Some((reading.wanted.clone(), Arc::clone(&trace)));
        Ok(trace)
    }

    /// Begins to read the next trace beside the cells of the present one, if there is memory for both.
    pub fn read_ahead(&self, reading: Reading) {
        let mut held = locked(&self.0);
        let Some((settings, present)) = &held.present else { return };
        if held.ahead.is_none()
            && *settings != reading.wanted
            && let Some(input) = present.next(&reading.input)
        {
            held.ahead = Some(Ahead::begin(reading, input));
        }
    }

    /// Forgets both traces.
    pub fn forget(&self) {
        *locked(&self.0) = Held::default();
    }
}

/// A trace that is being read; dropped, it is read no more.
struct Ahead {
    settings: Settings,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<HeldTrace, SimError>>>,
}

impl Ahead {
    fn begin(reading: Reading, input: TraceInput) -> Self {
        let (settings, progress) = (reading.wanted.clone(), Arc::new(Progress::default()));
        let own = Arc::clone(&progress);
        let read = move || HeldTrace::read_within(&reading, &input, &own);
        let thread = thread::Builder::new().name("reading-ahead".to_owned()).spawn(read).ok();
        Ahead { settings, progress, thread }
    }

    /// The trace when it has been read; `None` if it has to be read now.
    fn finish(mut self, progress: &Progress) -> Result<Option<HeldTrace>, SimError> {
        let Some(thread) = self.thread.take() else { return Ok(None) };
        while !thread.is_finished() {
            if progress.is_cancelled() {
                self.progress.cancel();
            }
            thread::sleep(LOOK);
        }
        let read = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        unless_too_large(read).transpose()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.progress.cancel();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PAGE_BYTES: u64 = 4096;

    /// A trace in a file that is not there any more once it was read.
    fn reading(name: &str, references: usize) -> (Reading, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        (0..references).for_each(|page| writeln!(file, "{:08x} R", page * 4096).unwrap());
        let setting = PagesOptions { policy: vec!["clock".to_owned()], ..Default::default() };
        let input = TraceInput::file(file.path().to_str().unwrap());
        (Reading::new(name.to_owned(), input, &[setting]).unwrap(), file)
    }

    fn pages(held: &HeldTrace) -> u32 {
        held.trace(PAGE_BYTES, false, &Progress::default()).unwrap().footprint_pages
    }

    #[test]
    fn a_trace_is_read_once_and_the_next_one_beside_it() {
        let (held, progress) = (HeldTraces::default(), Progress::default());
        let ((first, file), (second, next)) = (reading("first", 3), reading("second", 5));
        assert_eq!(pages(&held.read(&first, &progress).unwrap()), 3);
        drop(file);
        assert_eq!(pages(&held.read(&first, &progress).unwrap()), 3, "it is held");
        held.read_ahead(second.clone());
        while !locked(&held.0).ahead.as_ref().unwrap().thread.as_ref().unwrap().is_finished() {
            thread::sleep(LOOK);
        }
        drop(next);
        assert_eq!(pages(&held.read(&second, &progress).unwrap()), 5, "it was read ahead");
        held.forget();
        assert!(matches!(held.read(&first, &progress), Err(SimError::Trace(_))));
    }

    #[test]
    fn a_trace_that_cannot_be_read_ahead_is_told_of_in_its_turn() {
        let (held, progress) = (HeldTraces::default(), Progress::default());
        let ((first, _file), (second, next)) = (reading("first", 3), reading("second", 5));
        drop(next);
        held.read(&first, &progress).unwrap();
        held.read_ahead(second.clone());
        assert!(matches!(held.read(&second, &progress), Err(SimError::Trace(_))));
        assert_eq!(pages(&held.read(&first, &progress).unwrap_or_else(|_| unreachable!())), 3);
    }
}
