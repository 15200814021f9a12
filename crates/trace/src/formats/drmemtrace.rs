//! # drmemtrace
//!
//! Offline memory traces of DynamoRIO (`drrun -t drmemtrace -offline`), after `raw2trace`: one file
//! per thread, for 64-bit programs. The reader follows the published definition of the entries; it has
//! not been verified on real data.
//!
//! **An entry** has 12 packed, little-endian bytes: a type (u16), a size (u16) and an address
//! (u64). The first is the header, the last the footer; a file without a footer was cut off.
//!
//! | type | what | becomes |
//! |---|---|---|
//! | 0, 1 | read, write of *size* bytes at *address* | load, store |
//! | 10 to 16, 31, 48, 49 | instruction of *size* bytes at *address* | fetch |
//! | 17 | bundle: *size* instructions that follow the last, whose lengths are the bytes of *address* | fetches |
//! | 24 | process whose number is *address* | the stream; its name is the number |
//! | 25, 26 | header (*address* is the version), footer | |
//!
//! There are no times: the markers that have them occur only here and there.
//!
//! `.gz` files are read directly. The members of a `.zip` are parts of one sequence, so unpack it
//! with `unzip -p`. Traces of 32-bit programs have entries of 8 bytes and are not read.
//!
//! **Skipped**, counted in a note: prefetches (2 to 9, 27, 32 to 46), cache flushes (18 to 21),
//! instructions without a fetch (29), and entries that say something about the trace (thread 22 and
//! 23, marker 28, encoding 47). Other types are counted as malformed.

use crate::decode::columns::Streams;
use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Access, AccessKind, Request};
use crate::source::Source;
use crate::source::sample::Sample;

const ENTRY_BYTES: usize = 12;
const HEADER: u16 = 25;
const FOOTER: u16 = 26;
const HIGHEST_TYPE: u16 = 49;
const HIGHEST_VERSION: u64 = 255;

pub(super) const FORMAT: Format = Format {
    holds_processor_accesses: true,
    ..Format::records(
        "drmemtrace",
        "binary memory traces of programs, from DynamoRIO's drmemtrace -offline",
        include_str!("drmemtrace.rs"),
        sniff,
        open,
    )
    .with_streams_of("process")
};

/// One entry, taken apart.
#[derive(Clone, Copy)]
struct Entry {
    kind: u16,
    size: u16,
    address: u64,
}

impl Entry {
    #[inline]
    fn of(record: &[u8]) -> Self {
        Self {
            kind: u16::from_le_bytes(field(record, 0)),
            size: u16::from_le_bytes(field(record, 2)),
            address: u64::from_le_bytes(field(record, 4)),
        }
    }

    fn is_header(self) -> bool {
        self.kind == HEADER && self.size == 0 && (1..=HIGHEST_VERSION).contains(&self.address)
    }
}

fn sniff(sample: &Sample) -> Confidence {
    let mut entries = sample.head().chunks_exact(ENTRY_BYTES).map(Entry::of);
    let begins = entries.next().is_some_and(Entry::is_header);
    if begins && entries.take(64).all(|entry| entry.kind <= HIGHEST_TYPE) {
        Confidence::Certain
    } else {
        Confidence::Unfit
    }
}

fn open(source: &mut Source, _output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let first = source.head().first_chunk::<ENTRY_BYTES>();
    if !first.is_some_and(|first| Entry::of(first).is_header()) {
        return Err(TraceError::Content {
            file: source.file().to_owned(),
            place: "byte 0".to_owned(),
            reason: "there is no drmemtrace header of a 64-bit trace; \
                     name another format or leave it out"
                .into(),
        });
    }
    let trace = DrMemtrace {
        processes: Streams::of_names(),
        stream: 0,
        next_fetch: 0,
        ended_with_footer: false,
    };
    records::decoder(trace, 0, source)
}

struct DrMemtrace {
    processes: Streams,
    /// That of the current process.
    stream: u32,
    /// Where the instruction after the last one begins.
    next_fetch: u64,
    ended_with_footer: bool,
}

impl DrMemtrace {
    #[inline]
    fn access(
        &self,
        kind: AccessKind,
        address: u64,
        bytes: u16,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let access = Access { kind, address, bytes: u32::from(bytes) };
        if output.cpu_cache.is_some() {
            return output.access(access);
        }
        output.request(Request { stream: self.stream, ..access.into() })
    }

    fn fetch(&mut self, address: u64, bytes: u16, output: &mut Output) -> Result<(), Fault> {
        self.next_fetch = address.wrapping_add(u64::from(bytes));
        self.access(AccessKind::Fetch, address, bytes, output)
    }

    fn bundle(&mut self, entry: Entry, output: &mut Output) -> Result<(), Fault> {
        let lengths = entry.address.to_le_bytes();
        let lengths = lengths
            .get(..usize::from(entry.size))
            .ok_or("is a bundle of more than 8 instructions")?;
        for &length in lengths {
            self.fetch(self.next_fetch, u16::from(length), output)?;
        }
        Ok(())
    }

    fn process(&mut self, number: u64, output: &mut Output) -> Result<(), Fault> {
        self.stream = self.processes.number(number.to_string().as_bytes(), &mut output.report)?;
        if self.stream > 0 && output.cpu_cache.is_some() {
            return Err(Fault::Trace(
                "a second process begins here and the CPU cache filter takes one; \
                 leave the filter out or split the trace"
                    .into(),
            ));
        }
        Ok(())
    }
}

impl RecordFormat for DrMemtrace {
    #[inline]
    fn record_bytes(&self, _start: &[u8]) -> Result<Option<usize>, Fault> {
        Ok(Some(ENTRY_BYTES))
    }

    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let entry = Entry::of(record);
        self.ended_with_footer = entry.kind == FOOTER;
        let passed_over = match entry.kind {
            0 => return self.access(AccessKind::Load, entry.address, entry.size, output),
            1 => return self.access(AccessKind::Store, entry.address, entry.size, output),
            10..=16 | 31 | 48 | 49 => return self.fetch(entry.address, entry.size, output),
            17 => return self.bundle(entry, output),
            24 => return self.process(entry.address, output),
            2..=9 | 27 | 32..=46 => "prefetches",
            18..=21 => "cache flushes",
            29 => "instructions without a fetch",
            22 | 23 | 28 | 47 => "thread, marker and encoding entries",
            HEADER | FOOTER => return Ok(()),
            kind => return Err(format!("is of the unknown type {kind}").into()),
        };
        output.report.pass_over(passed_over);
        Ok(())
    }

    fn may_end(&self) -> bool {
        self.ended_with_footer
    }
}
