//! # blktrace
//!
//! What blktrace itself writes about a block device, before blkparse: `sda.blktrace.0` and so on, a file for each
//! processor.
//!
//! **A record** has 48 bytes and what it says more, in the byte order of the machine:
//!
//! | field | type | at byte | use |
//! |---|---|---|---|
//! | magic | u32 | 0 | `0x65617407`, the mark and version 7 |
//! | sequence | u32 | 4 | |
//! | time | u64 | 8 | nanoseconds from the start |
//! | sector | u64 | 16 | address, times 512 |
//! | bytes | u32 | 24 | size |
//! | action | u32 | 28 | low half: queued, issued, completed …; high half: reads, writes, discards, flushes … |
//! | process | u32 | 32 | |
//! | device | u32 | 36 | major and minor number: the stream, named `8,0` |
//! | processor, error | u32, u16 | 40 | |
//! | further bytes | u16 | 46 | how many follow |
//!
//! - A request shows in several records, so **one action is read**: `Q`, what programs asked for, if it occurs in the
//!   first 64 KiB, otherwise `D`, `I` or `C`, as in `blkparse`. A note says which.
//! - A file holds what one processor did. `--as-one sda.blktrace.*` reads those of all in the order of time.
//! - Requests that a device passes on to one below it are counted once, if remaps (`A`) tell so.
//! - Discards, flushes and writes that force unit access are events, as in blkparse.
//!
//! **Skipped**: records of other actions, messages, names of processes, requests without data that are not flushes,
//! counted in a note. A record without the magic means that the file is damaged.
//!
//! **Source**: blktrace_api.h of Linux and blktrace.

use rustc_hash::FxHashMap;

use crate::decode::block_requests::{Asked, BlockRequest, BlockRequests, StackedDevices, What};
use crate::decode::output::{Fault, Output};
use crate::decode::records::{self, RecordFormat, field};
use crate::decode::units::SECTOR_BYTES;
use crate::error::TraceError;
use crate::format::{Confidence, Decoder, Format};
use crate::request::{Op, Request};
use crate::source::Source;
use crate::source::sample::Sample;

pub(super) const FORMAT: Format = Format::records(
    "blktrace",
    "binary block traces as blktrace writes them (sda.blktrace.0), before blkparse",
    include_str!("blktrace.rs"),
    sniff,
    open,
)
.with_streams_of("device");

const RECORD_BYTES: usize = 48;
const MAGIC: u32 = 0x6561_7407;

/// Actions, the low half of the field.
const QUEUED: u16 = 1;
const ISSUED: u16 = 7;
const COMPLETED: u16 = 8;
const INSERTED: u16 = 12;
const REMAPPED: u16 = 15;
/// The actions that show requests, the most telling first, with their letters and what they are.
const ACTIONS: [(u16, &str); 4] = [
    (QUEUED, "Q, what programs asked for"),
    (ISSUED, "D, what the device was asked for"),
    (INSERTED, "I, what was put before the device"),
    (COMPLETED, "C, what the device has done"),
];

/// Categories, the high half of the field.
const WRITES: u32 = 1 << 1;
const FLUSHES: u32 = 1 << 2;
const NOTIFIES: u32 = 1 << 10;
const DISCARDS: u32 = 1 << 13;
const FORCES_UNIT_ACCESS: u32 = 1 << 15;
const PACKETS: u32 = 1 << 9;

fn sniff(sample: &Sample) -> Confidence {
    match Order::of(sample.head()) {
        Some(_) => Confidence::Certain,
        None => Confidence::Unfit,
    }
}

/// The byte order of a file.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn of(head: &[u8]) -> Option<Self> {
        let magic = head.first_chunk()?;
        match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
            (MAGIC, _) => Some(Order::Little),
            (_, MAGIC) => Some(Order::Big),
            _ => None,
        }
    }

    #[inline(always)]
    fn u16(self, record: &[u8], at_byte: usize) -> u16 {
        let bytes = field(record, at_byte);
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline(always)]
    fn u32(self, record: &[u8], at_byte: usize) -> u32 {
        let bytes = field(record, at_byte);
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline(always)]
    fn u64(self, record: &[u8], at_byte: usize) -> u64 {
        let bytes = field(record, at_byte);
        match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        }
    }

    #[inline(always)]
    fn record_bytes(self, start: &[u8]) -> usize {
        RECORD_BYTES + usize::from(self.u16(start, 46))
    }
}

fn open(source: &mut Source, output: &mut Output) -> Result<Box<dyn Decoder>, TraceError> {
    let head = source.head();
    let Some(order) = Order::of(head) else {
        return Err(TraceError::Content {
            file: source.file().to_owned(),
            place: "byte 0".to_owned(),
            reason: "there is no blktrace record of version 7; name another format or leave it out"
                .into(),
        });
    };
    let mut has = [false; ACTIONS.len()];
    let mut rest = head;
    while rest.len() >= RECORD_BYTES {
        let action = order.u32(rest, 28);
        for (has, (known, _)) in has.iter_mut().zip(ACTIONS) {
            *has |= action as u16 == known && action >> 16 & NOTIFIES == 0;
        }
        rest = rest.get(order.record_bytes(rest)..).unwrap_or_default();
    }
    let chosen = has.iter().position(|&has| has).unwrap_or(0);
    let (action, what) = ACTIONS[chosen];
    output.holds_events = true;
    output.report.notes.push(format!("requests are the records of action {what}"));
    if source.file().contains(".blktrace.") {
        output.report.notes.push(
            "the file holds what one processor did; give those of all together with --as-one"
                .to_owned(),
        );
    }
    records::decoder(BlkTrace::new(order, action), 0, source)
}

struct BlkTrace {
    order: Order,
    action: u16,
    /// Streams of devices.
    devices: FxHashMap<u32, u32>,
    /// The device that was met last, and its stream.
    last: Option<(u32, u32)>,
    requests: BlockRequests,
    stacked: StackedDevices,
}

impl BlkTrace {
    fn new(order: Order, action: u16) -> Self {
        Self {
            order,
            action,
            devices: FxHashMap::default(),
            last: None,
            requests: BlockRequests::default(),
            stacked: StackedDevices::default(),
        }
    }

    #[inline]
    fn stream(&mut self, device: u32, output: &mut Output) -> u32 {
        match self.last {
            Some((last, stream)) if last == device => stream,
            _ => self.stream_from_table(device, output),
        }
    }

    fn stream_from_table(&mut self, device: u32, output: &mut Output) -> u32 {
        let next = self.devices.len() as u32;
        let stream = *self.devices.entry(device).or_insert(next);
        if stream == next {
            output.report.stream_names.push(format!("{},{}", device >> 20, device & 0xf_ffff));
        }
        self.last = Some((device, stream));
        stream
    }

    /// A device passes a request on: what is counted already is not counted for the lower one.
    fn remap(&mut self, record: &[u8], output: &mut Output) {
        let Some(from) = record.get(RECORD_BYTES..RECORD_BYTES + 4) else { return };
        let from = u32::from_be_bytes(field(from, 0));
        let device = self.order.u32(record, 36);
        let upper = self.devices.get(&from).copied();
        if let Some(upper) = upper.filter(|_| from != device) {
            let below = self.stream(device, output);
            self.stacked.pass_on(upper, below, self.order.u64(record, 16));
        }
    }

    #[inline(never)]
    fn other(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        let order = self.order;
        let action = order.u32(record, 28);
        let categories = action >> 16;
        if categories & NOTIFIES != 0 {
            output.report.pass_over("messages and names of processes");
            return Ok(());
        }
        if action as u16 == REMAPPED && self.action == QUEUED {
            self.remap(record, output);
        }
        if action as u16 != self.action {
            output.report.pass_over("records of other actions");
            return Ok(());
        }
        let bytes = order.u32(record, 24);
        let what = match categories {
            _ if categories & PACKETS != 0 => {
                What::Other("commands to the device that are no requests")
            }
            _ if categories & DISCARDS != 0 => What::Discard,
            _ if categories & WRITES != 0 && categories & FORCES_UNIT_ACCESS != 0 => {
                What::ForcedWrite
            }
            _ if categories & WRITES != 0 => What::Write,
            _ if bytes == 0 => What::Other("requests without data"),
            _ => What::Read,
        };
        let asked = Asked { flushes_first: categories & FLUSHES != 0, what };
        let stream = self.stream(order.u32(record, 36), output);
        let sector = order.u64(record, 16);
        if bytes > 0 && self.stacked.is_counted(stream, sector) {
            output.report.pass_over("requests that another device passed on");
            return Ok(());
        }
        let sectors = u64::from(bytes).div_ceil(SECTOR_BYTES);
        let sectors = (bytes > 0).then_some((sector, sectors));
        let request = BlockRequest { stream, time_ns: Some(order.u64(record, 8)), asked, sectors };
        self.requests.tell(request, output).map(|_| ())
    }
}

impl RecordFormat for BlkTrace {
    #[inline]
    fn record_bytes(&self, start: &[u8]) -> Result<Option<usize>, Fault> {
        if start.len() < RECORD_BYTES {
            return Ok(None);
        }
        if self.order.u32(start, 0) != MAGIC {
            return Err("does not begin with the mark of blktrace".into());
        }
        Ok(Some(self.order.record_bytes(start)))
    }

    /// Nearly all requests are plain reads and writes.
    #[inline]
    fn record(&mut self, record: &[u8], output: &mut Output) -> Result<(), Fault> {
        const ODD: u32 = FLUSHES | NOTIFIES | DISCARDS | FORCES_UNIT_ACCESS | PACKETS;
        let order = self.order;
        let action = order.u32(record, 28);
        let bytes = order.u32(record, 24);
        let is_plain = action as u16 == self.action && action >> 16 & ODD == 0 && bytes > 0;
        if !is_plain || self.stacked.has_passed_on() {
            return self.other(record, output);
        }
        let op = if action >> 16 & WRITES != 0 { Op::Write } else { Op::Read };
        let stream = self.stream(order.u32(record, 36), output);
        self.stacked.take(stream);
        let address = order.u64(record, 16).checked_mul(SECTOR_BYTES);
        let address = address.ok_or("begins past the end of the 64-bit address space")?;
        let request = Request::new(op, address, bytes).in_stream(stream).at(order.u64(record, 8));
        output.request(request)
    }

    fn note(&self, output: &mut Output) {
        self.stacked.note(&mut output.report);
    }
}
