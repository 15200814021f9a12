//! The options of `locality`, as users write them, and the study of one trace that they make.

use clockhand_device::Device;
use clockhand_quantity::{Text, option};

use super::{LocalityStudy, Repeats, Ties, Wanted};
use crate::error::SimError;
use crate::memory_size::parse_page_bytes;
use crate::options::{Domain, options};
use crate::sample::Sample;
use clockhand_trace::TraceInput;

/// The sample of `--sample auto`: it takes hardly longer than 1 % of the pages, with a third of the
/// error.
const USUAL_SAMPLE: Sample = Sample::Rate(0.1);

options! {
    /// Options of `locality`, beside traces and threads.
    pub struct LocalityOptions {
        /// Page size in bytes, a power of two.
        ///
        /// Bytes, a power of two, or text such as ``"4KiB"``.
        page_size in "page_sizes": String = Domain::Number, "4KiB";
        /// NAME[:option=value,...] or FILE.toml. See: clockhand devices.
        ///
        /// Name with options, or a TOML file; it prices the miss curve.
        device in "devices": String = Domain::Device, "slc-nand";
        /// Follow only some pages, such as 10% of them (as auto does) or at most 8192; gives the miss curve with its
        /// standard error.
        ///
        /// Follow only some pages, and give only the miss curve. With ``"auto"`` these are 10 % of the pages. A
        /// float above 0 and up to 1, or text (``"1%"``), is a rate; a whole number from 32 is the most pages.
        sample: Option<String> = Domain::Number;
        /// Seed of the choice of pages, from 0.
        seed: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
        /// Order of pages with equally many writes: stable (the first to reach the count ranks first), recent (the last
        /// one does) or best (all rank first).
        ///
        /// Order of pages with equally many writes: ``"stable"`` (the first to reach the count ranks first),
        /// ``"recent"`` (the last one does) or ``"best"``.
        ties: String = Domain::Word { words: Ties::WORDS }, "stable";
        /// Give the miss curve at no more than this many sizes, chosen so that lines between them are closest to the
        /// others; a note says how close.
        ///
        /// Give the miss curve at no more than this many sizes, from 2, chosen so that straight lines between them
        /// are closest to the others; a note in the facts says how close.
        points: Option<u64> = Domain::Whole { least: 2, most: u64::MAX };
        /// Consecutive references to one page count each, or collapsed to its first read and its first write.
        ///
        /// Consecutive references to one page count ``"each"``, or ``"collapsed"`` to the first read and the
        /// first write among them.
        repeats: String = Domain::Word { words: Repeats::WORDS }, "each";
    }
}

impl LocalityOptions {
    /// The study of a trace.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn study(&self, trace: TraceInput, jobs: Option<usize>) -> Result<LocalityStudy, SimError> {
        Ok(LocalityStudy {
            trace,
            page_bytes: parse_page_bytes(&self.page_size)?,
            device: self.device.clone(),
            ties: Ties::named(&self.ties)?,
            repeats: self.repeats()?,
            sample: self.sample()?,
            seed: self.seed,
            intervals: self.intervals()?,
            wanted: Wanted::default(),
            jobs,
        })
    }

    fn sample(&self) -> Result<Option<Sample>, SimError> {
        match self.sample.as_deref() {
            Some("auto") => Ok(Some(USUAL_SAMPLE)),
            given => given.map(Sample::parse).transpose(),
        }
    }

    fn repeats(&self) -> Result<Repeats, SimError> {
        let repeats = Repeats::named(&self.repeats)?;
        if repeats == Repeats::Collapsed && self.sample.is_some() {
            return Err(SimError::usage(
                option("repeats") + " collapsed needs the whole trace",
                Text::from("leave out ") + option("sample"),
            ));
        }
        Ok(repeats)
    }

    /// Checks everything that can be checked without a trace.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and what it takes.
    pub fn check(&self) -> Result<(), SimError> {
        let page_bytes = parse_page_bytes(&self.page_size)?;
        Ties::named(&self.ties)?;
        self.repeats()?;
        self.sample()?;
        self.intervals()?;
        Device::named_or_file(&self.device)?.page_cost(page_bytes)?;
        Ok(())
    }
}
