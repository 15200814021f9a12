//! The first-level cache of a processor, as a filter between its accesses and memory.
//!
//! A program's loads and stores mostly end in the cache; what a memory policy sees is what the
//! cache lets through. The filter is a split first-level cache, virtually indexed, LRU within a
//! set, cold at the start:
//!
//! - A fetch or load that misses reads its line.
//! - A store that misses allocates its line. The [`View`](crate::View) decides whether that reads memory.
//! - A dirty line that is evicted is written *before* the read that caused it.
//! - An access that spans lines touches each, ascending.
//! - Lines that are dirty at the end stay where they are.

use crate::error::TraceError;
use crate::processor::view::RecordClass;
use crate::request::{Access, AccessKind, Request};

/// Shape and rules of a [`CpuCache`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuCacheConfig {
    /// Bytes of the instruction cache.
    pub instruction_bytes: u64,
    /// Bytes of the data cache.
    pub data_bytes: u64,
    /// Lines per set, of both caches.
    pub ways: u32,
    /// Bytes of a line, a power of two.
    pub line_bytes: u32,
}

impl Default for CpuCacheConfig {
    /// 16 KiB of instructions and 16 KiB of data, 4 ways, lines of 32 bytes.
    fn default() -> Self {
        Self { instruction_bytes: 16 * 1024, data_bytes: 16 * 1024, ways: 4, line_bytes: 32 }
    }
}

/// A split first-level cache that turns processor accesses into requests of one line each.
#[derive(Clone, Debug)]
pub struct CpuCache {
    instructions: Cache,
    data: Cache,
    line_shift: u32,
}

impl CpuCache {
    /// An empty cache.
    ///
    /// # Errors
    /// [`TraceError::CpuCacheShape`] when the line size or the number of sets is not a power of
    /// two, or a size is zero or more than 1 GiB.
    pub fn new(config: CpuCacheConfig) -> Result<Self, TraceError> {
        if !config.line_bytes.is_power_of_two() {
            let reason = format!(
                "a line of {} bytes is not a power of two; use 32, for example",
                config.line_bytes
            );
            return Err(TraceError::CpuCacheShape { reason });
        }
        Ok(Self {
            instructions: Cache::new("instruction", config.instruction_bytes, &config)?,
            data: Cache::new("data", config.data_bytes, &config)?,
            line_shift: config.line_bytes.trailing_zeros(),
        })
    }

    /// Performs one access and gives `emit` the requests that reach memory, in order. An access
    /// without bytes touches nothing; one that would run past the end of the address space ends
    /// there.
    pub fn access(&mut self, access: Access, mut emit: impl FnMut(Request)) {
        let line_bytes = 1 << self.line_shift;
        let request = |class: RecordClass, line: u64| Request {
            class: Some(class),
            ..Request::new(class.bus_op(), line << self.line_shift, line_bytes)
        };
        let (cache, missed) = match access.kind {
            AccessKind::Fetch => (&mut self.instructions, RecordClass::Fetch),
            AccessKind::Load => (&mut self.data, RecordClass::LoadMiss),
            AccessKind::Store => (&mut self.data, RecordClass::StoreFill),
        };
        for line in Request::from(access).pages(self.line_shift) {
            match cache.touch(line, access.kind == AccessKind::Store) {
                Touch::Hit => continue,
                Touch::Miss { written_back: Some(victim) } => {
                    emit(request(RecordClass::WriteBack, victim));
                }
                Touch::Miss { written_back: None } => {}
            }
            emit(request(missed, line));
        }
    }
}

/// What touching a line did.
enum Touch {
    Hit,
    Miss {
        /// The dirty line that had to leave.
        written_back: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Line {
    number: u64,
    valid: bool,
    dirty: bool,
}

/// One set-associative cache; the lines of a set stand together, the most recently used first.
#[derive(Clone, Debug)]
struct Cache {
    lines: Vec<Line>,
    ways: usize,
    set_mask: u64,
}

impl Cache {
    const MAX_BYTES: u64 = 1 << 30;

    fn new(name: &str, bytes: u64, config: &CpuCacheConfig) -> Result<Self, TraceError> {
        let set_bytes = u64::from(config.ways) * u64::from(config.line_bytes);
        let sets = bytes.checked_div(set_bytes).unwrap_or(0);
        if bytes > Self::MAX_BYTES || !sets.is_power_of_two() || sets * set_bytes != bytes {
            let reason = format!(
                "{bytes} bytes of {name} cache with {} ways and lines of {} bytes do not make a power of two of sets \
                 within 1 GiB; change the size or the ways",
                config.ways, config.line_bytes
            );
            return Err(TraceError::CpuCacheShape { reason });
        }
        let empty = Line { number: 0, valid: false, dirty: false };
        let lines = (bytes / u64::from(config.line_bytes)) as usize;
        Ok(Self { lines: vec![empty; lines], ways: config.ways as usize, set_mask: sets - 1 })
    }

    fn touch(&mut self, number: u64, is_store: bool) -> Touch {
        let first = (number & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        if let Some(way) = set.iter().position(|line| line.valid && line.number == number) {
            set[..=way].rotate_right(1);
            set[0].dirty |= is_store;
            return Touch::Hit;
        }
        set.rotate_right(1);
        let victim = std::mem::replace(&mut set[0], Line { number, valid: true, dirty: is_store });
        Touch::Miss { written_back: victim.dirty.then_some(victim.number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lines of 32 bytes, one set: small enough to follow by hand.
    const TINY: CpuCacheConfig =
        CpuCacheConfig { instruction_bytes: 64, data_bytes: 64, ways: 2, line_bytes: 32 };

    fn filter(config: CpuCacheConfig, accesses: &[(AccessKind, u64, u32)]) -> Vec<(char, u64)> {
        let mut cache = CpuCache::new(config).unwrap();
        let mut seen = Vec::new();
        for &(kind, address, bytes) in accesses {
            cache.access(Access { kind, address, bytes }, |request| {
                assert_eq!(request.bytes, config.line_bytes);
                let class = request.class.unwrap();
                assert_eq!(request.op, class.bus_op());
                seen.push((class.letter(), request.address));
            });
        }
        seen
    }

    use AccessKind::{Fetch, Load, Store};

    #[test]
    fn a_hit_reaches_no_memory() {
        assert_eq!(filter(TINY, &[(Load, 0, 4), (Load, 28, 4), (Store, 8, 4)]), [('R', 0)]);
    }

    #[test]
    fn a_store_miss_fills_its_line() {
        assert_eq!(filter(TINY, &[(Store, 0, 4), (Load, 0, 4)]), [('A', 0)]);
    }

    #[test]
    fn a_dirty_victim_is_written_before_the_read_that_evicts_it() {
        let accesses = [(Store, 0, 4), (Load, 32, 4), (Load, 64, 4)];
        assert_eq!(filter(TINY, &accesses), [('A', 0), ('R', 32), ('W', 0), ('R', 64)]);
    }

    #[test]
    fn the_least_recently_used_line_leaves() {
        let accesses = [(Store, 0, 4), (Store, 32, 4), (Load, 0, 4), (Load, 64, 4)];
        assert_eq!(filter(TINY, &accesses), [('A', 0), ('A', 32), ('W', 32), ('R', 64)]);
    }

    #[test]
    fn instructions_and_data_do_not_share_lines() {
        assert_eq!(
            filter(TINY, &[(Fetch, 0, 4), (Load, 0, 4), (Fetch, 4, 4)]),
            [('I', 0), ('R', 0)]
        );
    }

    #[test]
    fn an_access_that_spans_lines_touches_each_ascending() {
        assert_eq!(filter(TINY, &[(Load, 30, 36)]), [('R', 0), ('R', 32), ('R', 64)]);
    }

    #[test]
    fn dirty_lines_at_the_end_are_not_written() {
        assert_eq!(filter(TINY, &[(Store, 0, 4), (Store, 32, 4)]), [('A', 0), ('A', 32)]);
    }

    #[test]
    fn an_access_at_the_end_of_the_address_space_ends_there() {
        assert_eq!(filter(TINY, &[(Load, u64::MAX, 8)]), [('R', u64::MAX - 31)]);
    }

    #[test]
    fn the_default_is_split_16_kib_with_4_ways_of_32_byte_lines() {
        // Five lines of one set, 128 sets apart: the fifth evicts the first, 4 ways hold the rest.
        let stride = 128 * 32;
        let mut accesses: Vec<_> = (0..5).map(|index| (Load, index * stride, 4)).collect();
        accesses.extend([(Load, 4 * stride, 4), (Load, 0, 4)]);
        let expected: Vec<_> = [0, 1, 2, 3, 4, 0].map(|index| ('R', index * stride)).to_vec();
        assert_eq!(filter(CpuCacheConfig::default(), &accesses), expected);
    }

    #[test]
    fn impossible_shapes_are_refused_with_the_number_to_change() {
        for (config, word) in [
            (CpuCacheConfig { line_bytes: 48, ..TINY }, "48"),
            (CpuCacheConfig { line_bytes: 0, ..TINY }, "0"),
            (CpuCacheConfig { ways: 0, ..TINY }, "0 ways"),
            (CpuCacheConfig { data_bytes: 0, ..TINY }, "data"),
            (CpuCacheConfig { data_bytes: 192, ..TINY }, "192"),
            (CpuCacheConfig { instruction_bytes: 1 << 40, ..TINY }, "instruction"),
        ] {
            let message = CpuCache::new(config).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}
