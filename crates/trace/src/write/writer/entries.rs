//! Writes one entry after the other, as the format has them.

use std::collections::BTreeSet;
use std::path::Path;

use super::streams::Streams;
use super::{Reason, WriteOptions};
use crate::error::TraceError;
use crate::request::{Op, Request};
use crate::write::encoded_file::EncodedFile;
use crate::write::target::{Encoding, Entry, Head, Target, WriteEntry};
use clockhand_quantity::{Text, option};

/// Times that count from the start of a machine or of a trace are shorter than ten years; longer ones are dates.
const LONGEST_UPTIME_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
/// The distance of requests without times in a format that needs them.
const MADE_UP_GAP_NS: u64 = 1_000;

const TIME_UNLIKE_FIRST: &str =
    "has a time although the first has none; leave the times out of all";
const NO_TIME_UNLIKE_FIRST: &str =
    "has no time although the first has one; leave the times out of all";

/// Writes one entry after the other.
pub(super) struct EntryWriter {
    target: &'static Target,
    entry: WriteEntry,
    widen: bool,
    has_times: bool,
    /// Where times begin, for formats that cannot hold the trace's own.
    origin_ns: u64,
    file: EncodedFile,
    requests: u64,
    entries: u64,
    streams: Streams,
    previous_op: Option<Op>,
    previous_time_ns: u64,
    losses: Losses,
}

/// The number of requests for each loss, and the keys of lost labels.
#[derive(Default)]
struct Losses {
    times: u64,
    cut_times: u64,
    sizes: u64,
    widened: u64,
    labels: Vec<String>,
    out_of_order: u64,
    before_first: u64,
}

impl EntryWriter {
    pub(super) fn create(
        path: &Path,
        options: &WriteOptions,
        entry: WriteEntry,
        has_times: bool,
    ) -> Result<Self, TraceError> {
        let mut file = EncodedFile::create(path)?;
        let target = options.target;
        let mut losses = Losses::default();
        if !target.keeps_labels {
            losses.labels = options.labels.iter().map(|(key, _)| key.clone()).collect();
        }
        if let Encoding::Entries { head, .. } = target.encoding {
            head(&Head { labels: &options.labels, has_times }, &mut file.buffer);
        }
        Ok(Self {
            target,
            entry,
            widen: options.widen,
            has_times,
            origin_ns: 0,
            file,
            requests: 0,
            entries: 0,
            streams: Streams::default(),
            previous_op: None,
            previous_time_ns: 0,
            losses,
        })
    }

    /// Counts a label as lost.
    pub(super) fn lose_label(&mut self, key: &str) {
        self.losses.labels.push(key.to_owned());
    }

    pub(super) fn write(
        &mut self,
        requests: &[Request],
        stream_names: &[String],
    ) -> Result<(), TraceError> {
        for request in requests {
            self.request(request, stream_names).map_err(|reason| TraceError::Unwritable {
                file: self.file.name(),
                index: self.requests,
                reason,
            })?;
            self.requests += 1;
            self.file.write_if_full()?;
        }
        Ok(())
    }

    fn request(&mut self, request: &Request, stream_names: &[String]) -> Result<(), Reason> {
        let time_ns = self.time_ns(request)?;
        let begins_stream = self.streams.take(request.stream, self.target, stream_names)?;
        let (mut address, last) = self.place(request)?;
        let stretch_bytes = self.target.extent.stretch_bytes;
        loop {
            let stretch_last = match stretch_bytes {
                Some(bytes) => last.min(address | (bytes - 1)),
                None => last,
            };
            let entry = Entry {
                op: request.op,
                address,
                bytes: (stretch_last - address + 1) as u32,
                stream: request.stream,
                stream_name: &self.streams.last_name,
                begins_stream: begins_stream && address == request.address,
                time_ns,
                has_time: self.has_times,
                index: self.entries,
                previous_op: self.previous_op,
            };
            (self.entry)(&entry, &mut self.file.buffer)?;
            self.entries += 1;
            self.previous_op = Some(request.op);
            if stretch_last == last {
                return Ok(());
            }
            address = stretch_last + 1;
        }
    }

    /// The time of a request as the target can hold it, from the target's origin on.
    fn time_ns(&mut self, request: &Request) -> Result<u64, Reason> {
        let Some(field) = self.target.time else {
            self.losses.times += u64::from(request.time_ns.is_some());
            return Ok(0);
        };
        let time_ns = match (request.time_ns, self.has_times) {
            (Some(time_ns), true) => time_ns,
            (None, false) => self.requests * MADE_UP_GAP_NS,
            (Some(_), false) => return Err(TIME_UNLIKE_FIRST.into()),
            (None, true) => return Err(NO_TIME_UNLIKE_FIRST.into()),
        };
        let is_date = field.is_from_start && time_ns >= LONGEST_UPTIME_NS;
        if self.requests == 0 && (is_date || time_ns / field.unit_ns > field.highest) {
            self.origin_ns = time_ns;
        }
        let is_before = field.is_from_start && time_ns < self.origin_ns;
        self.losses.before_first += u64::from(is_before);
        let time_ns = if is_before { self.origin_ns } else { time_ns };
        let from_origin = time_ns.checked_sub(self.origin_ns);
        let time_ns = from_origin.ok_or_else(|| {
            format!(
                "is earlier than the first, from which {} would count; choose another format",
                self.target.name
            )
        })?;
        if time_ns / field.unit_ns > field.highest {
            return Err(Text::from(format!(
                "is {} {} after the first, more than {} can hold; convert fewer with ",
                time_ns / field.unit_ns,
                field.unit,
                self.target.name
            )) + option("limit"));
        }
        self.losses.out_of_order += u64::from(time_ns < self.previous_time_ns);
        self.previous_time_ns = time_ns;
        self.losses.cut_times += u64::from(self.has_times && time_ns % field.unit_ns != 0);
        Ok(time_ns - time_ns % field.unit_ns)
    }

    /// First and last byte of a request as the target can hold them.
    fn place(&mut self, request: &Request) -> Result<(u64, u64), Reason> {
        let extent = self.target.extent;
        let Some(to_last_byte) = request.bytes.checked_sub(1) else {
            return Err("touches no byte; leave it out".into());
        };
        let past_the_end = "runs past the end of the 64-bit address space; correct its size";
        let last = request.address.checked_add(u64::from(to_last_byte)).ok_or(past_the_end)?;
        if extent.stretch_bytes.is_some_and(|bytes| u64::from(request.bytes) != bytes)
            && (extent.size_unit > 1 || request.bytes > 1)
        {
            self.losses.sizes += 1;
        }
        let is_whole = request.address.is_multiple_of(extent.address_unit)
            && u64::from(request.bytes).is_multiple_of(extent.size_unit);
        if is_whole {
            return Ok((request.address, last));
        }
        let unit_bytes = extent.address_unit;
        if !self.widen {
            return Err(Text::from(format!(
                "begins at byte {} and has {} bytes, and {} counts in units of {unit_bytes} bytes; \
                 widen such requests with ",
                request.address, request.bytes, self.target.name
            )) + option("widen")
                + ", or choose a format that counts bytes");
        }
        self.losses.widened += 1;
        let first = request.address & !(unit_bytes - 1);
        let last = last | (extent.size_unit - 1);
        if last - first >= u64::from(u32::MAX) {
            return Err("has 4294967295 bytes or more when it is widened; split it".into());
        }
        Ok((first, last))
    }

    pub(super) fn finish(mut self) -> Result<Vec<String>, TraceError> {
        if let Encoding::Entries { tail, .. } = self.target.encoding {
            self.file.buffer.extend_from_slice(tail);
        }
        let losses = self.lost();
        self.file.finish()?;
        Ok(losses)
    }

    /// What the target could not hold, a sentence each.
    fn lost(&self) -> Vec<String> {
        let Self { target, losses, requests, entries, .. } = self;
        let name = target.name;
        let mut lost = Vec::new();
        if losses.times > 0 {
            lost.push(format!("times are lost: {name} has none"));
        }
        if let Some(field) = target.time {
            if losses.cut_times > 0 {
                let cut = losses.cut_times;
                lost.push(format!("{cut} times are cut to whole {}", field.unit));
            }
            if !self.has_times && !field.is_optional {
                lost.push("the trace has no times: requests are written 1 µs apart".to_owned());
            }
            if self.origin_ns > 0 {
                lost.push("times count from the first request on".to_owned());
            }
            if losses.before_first > 0 {
                let before = losses.before_first;
                lost.push(format!(
                    "{before} requests are earlier than the first and are written at its time"
                ));
            }
        }
        if target.orders_by_time && losses.out_of_order > 0 {
            lost.push(format!("the order is lost: {name} puts requests in the order of times"));
        }
        if losses.widened > 0 {
            let unit_bytes = target.extent.address_unit;
            let widened = losses.widened;
            lost.push(format!("{widened} requests were widened to units of {unit_bytes} bytes"));
        }
        if let (1.., Some(bytes)) = (losses.sizes, target.extent.stretch_bytes) {
            lost.push(format!(
                "sizes are lost: {name} has none, so each request becomes an entry per {bytes} bytes that it \
                 touches ({requests} requests, {entries} entries)"
            ));
        }
        lost.extend(self.streams.lost(target));
        if !losses.labels.is_empty() {
            // A label may occur more than once; its name is shown once.
            let names: BTreeSet<&str> = losses.labels.iter().map(String::as_str).collect();
            let names: Vec<&str> = names.into_iter().collect();
            lost.push(format!("labels are lost: {}", names.join(", ")));
        }
        lost.extend(target.made_up.map(|what| format!("{what}, which the trace does not have")));
        lost
    }
}
