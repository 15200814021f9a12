//! # champsim
//!
//! Instruction traces of the processor simulator ChampSim (normally in `.xz` or `.gz`), of 64 bytes
//! per instruction, and those of CloudSuite, of 96 bytes. Not verified on real data.
//!
//! **A record** is one instruction, little-endian; the first records tell which of the two lengths
//! the file has:
//!
//! | field | type | at byte of 64 | at byte of 96 | use |
//! |---|---|---|---|---|
//! | instruction pointer | u64 | 0 | 0 | fetch |
//! | is a branch, is taken | u8, u8 | 8 | 8 | 0 or 1, for detection |
//! | registers written | u8 each | 10 (2) | 10 (4) | |
//! | registers read | u8 each | 12 (4) | 14 (4) | |
//! | addresses stored to | u64 each | 16 (2) | 24 (4) | stores |
//! | addresses loaded from | u64 each | 32 (4) | 56 (4) | loads |
//! | address space | u8, u8 | | 88 | |
//!
//! - An instruction is a fetch, then its loads, then its stores. An address of 0 is an unused slot.
//! - There are no sizes (each access touches 1 byte) and no times.
//! - Addresses are virtual. The address space identifiers of CloudSuite are ignored: a file holds
//!   the instructions of one core.
//! - Records of 72 bytes, which some development versions of ChampSim read, are not known.
//!
//! **Skipped**: nothing. A record whose branch flags are neither 0 nor 1 is counted as malformed.

use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Access, AccessKind};
use crate::source::Source;
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    ..Format::records(
        "champsim",
        "binary instruction traces of ChampSim, 64 bytes each, or 96 in those of CloudSuite",
        include_str!("champsim.rs"),
        sniff,
        open,
    )
};

/// Where the addresses of one kind of record stand.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Layout {
    record_bytes: usize,
    stores_at: usize,
    loads_at: usize,
    loads_end: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout { record_bytes: 64, stores_at: 16, loads_at: 32, loads_end: 64 },
    Layout { record_bytes: 96, stores_at: 24, loads_at: 56, loads_end: 88 },
];

impl Layout {
    /// The length of records that the trace begins with.
    fn of(head: &[u8]) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.fits(head))
    }

    /// The format has no mark; but flags are 0 or 1, addresses are those of a program, and mostly
    /// one instruction follows the other.
    fn fits(self, head: &[u8]) -> bool {
        const RECORDS_TRIED: usize = 256;
        const LONGEST_INSTRUCTION_BYTES: u64 = 16;
        let records: Vec<_> = head.chunks_exact(self.record_bytes).take(RECORDS_TRIED).collect();
        let pointer = |record: &[u8]| u64::from_le_bytes(field(record, 0));
        let successors = records.windows(2).filter(|pair| {
            pointer(pair[1]).wrapping_sub(pointer(pair[0])) <= LONGEST_INSTRUCTION_BYTES
        });
        !records.is_empty()
            && 3 * successors.count() >= records.len() - 1
            && records.iter().all(|record| {
                let mut addresses = self.addresses(record, self.stores_at..self.loads_end);
                has_branch_flags(record)
                    && pointer(record) != 0
                    && is_canonical(pointer(record))
                    && addresses.all(is_canonical)
            })
    }

    /// The addresses in the slots that are in use.
    fn addresses(
        self,
        record: &[u8],
        slots: std::ops::Range<usize>,
    ) -> impl Iterator<Item = u64> + '_ {
        let words = record[slots].chunks_exact(8).map(|word| u64::from_le_bytes(field(word, 0)));
        words.filter(|&address| address != 0)
    }
}

fn has_branch_flags(record: &[u8]) -> bool {
    record[8] <= 1 && record[9] <= record[8]
}

/// Programs have addresses of 48 bits, those of a kernel with all higher bits set.
fn is_canonical(address: u64) -> bool {
    matches!(address >> 48, 0 | 0xffff)
}

fn sniff(sample: &Sample) -> Confidence {
    if Layout::of(sample.head()).is_some() { Confidence::Likely } else { Confidence::Unfit }
}

fn open(source: &mut Source, _output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let Some(layout) = Layout::of(source.head()) else {
        return Err(TraceError::Content {
            file: source.file().to_owned(),
            place: "byte 0".to_owned(),
            reason: "there are no ChampSim instructions of 64 or 96 bytes; \
                     name another format or leave it out"
                .into(),
        });
    };
    records::decoder(ChampSim { layout }, 0, source)
}

struct ChampSim {
    layout: Layout,
}

impl RecordFormat for ChampSim {
    #[inline]
    fn record_bytes(&self, _start: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(Some(self.layout.record_bytes))
    }

    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        if !has_branch_flags(record) {
            return Err("has branch flags that are neither 0 nor 1".into());
        }
        let layout = self.layout;
        let mut take = |kind, address| output.access(Access { kind, address, bytes: 1 });
        take(AccessKind::Fetch, u64::from_le_bytes(field(record, 0)))?;
        for address in layout.addresses(record, layout.loads_at..layout.loads_end) {
            take(AccessKind::Load, address)?;
        }
        for address in layout.addresses(record, layout.stores_at..layout.loads_at) {
            take(AccessKind::Store, address)?;
        }
        Ok(())
    }
}
