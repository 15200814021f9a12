//! When the references of a trace come, kept only where a warm-up, intervals or a log is asked for.

use clockhand_quantity::{Text, option};
use clockhand_trace::{Request, TraceError};

/// The times of references; empty where they are not wanted, and without times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    references: u64,
    /// Of each request with a later time than all before: the references before it, and nanoseconds from the first time.
    requests: Vec<(u64, u64)>,
    first_ns: Option<u64>,
}

impl Arrivals {
    /// Notes a request with its number of references. A time that runs back counts as the one
    /// before.
    pub(crate) fn pass(&mut self, time_ns: Option<u64>, references: u64) {
        if let Some(time_ns) = time_ns {
            let since_ns = time_ns.saturating_sub(*self.first_ns.get_or_insert(time_ns));
            if self.requests.last().is_none_or(|&(_, last_ns)| last_ns < since_ns) {
                self.requests.push((self.references, since_ns));
            }
        }
        self.references += references;
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.requests.len() * size_of::<(u64, u64)>()) as u64
    }

    pub(crate) fn has_times(&self) -> bool {
        self.first_ns.is_some()
    }

    /// The first reference that comes so long after the first one, or later.
    pub(super) fn reference_from(&self, ns: u64) -> Option<u64> {
        let place = self.requests.partition_point(|&(_, time_ns)| time_ns < ns);
        self.requests.get(place).map(|&(reference, _)| reference)
    }

    /// How long after the first one a reference comes.
    pub(crate) fn time_of(&self, reference: u64) -> Option<u64> {
        let behind = self.requests.partition_point(|&(before, _)| before <= reference);
        Some(self.requests[behind.checked_sub(1)?].1)
    }
}

/// The times of a trace's references at several page sizes.
pub(crate) struct ArrivalsAtSizes<'a> {
    is_wanted: bool,
    page_sizes_bytes: &'a [u64],
    of_sizes: Vec<Arrivals>,
    limit_bytes: u64,
}

impl<'a> ArrivalsAtSizes<'a> {
    /// None are kept unless they are wanted.
    pub(crate) fn new(is_wanted: bool, page_sizes_bytes: &'a [u64], limit_bytes: u64) -> Self {
        let of_sizes = vec![Arrivals::default(); page_sizes_bytes.len()];
        ArrivalsAtSizes { is_wanted, page_sizes_bytes, of_sizes, limit_bytes }
    }

    /// Notes requests.
    ///
    /// # Errors
    ///
    /// Their times take more memory than there is.
    pub(crate) fn extend(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        if !self.is_wanted {
            return Ok(());
        }
        for (arrivals, page_bytes) in self.of_sizes.iter_mut().zip(self.page_sizes_bytes) {
            for request in requests.iter().filter(|request| request.bytes > 0) {
                let pages = request.pages(page_bytes.trailing_zeros());
                arrivals.pass(request.time_ns, pages.end() - pages.start() + 1);
            }
            if arrivals.memory_bytes() > self.limit_bytes {
                return Err(TraceError::too_much_memory(
                    "the trace",
                    Text::from("the times that ")
                        + option("warm-up")
                        + " and "
                        + option("every")
                        + " look at take",
                    Text::from("take a part with ") + option("limit"),
                    self.limit_bytes,
                ));
            }
        }
        Ok(())
    }

    /// Those of each page size.
    pub(crate) fn finish(self) -> Vec<Arrivals> {
        self.of_sizes
    }
}
