//! References to memory between the calls of a log: whose pages they are.
//!
//! A mapping of a file has the file's pages, except those that the process has written in a private mapping: these are
//! its own from then on. All other memory of a process is one object.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{Caller, END_BYTES, has};
use super::line::{Entry, When};
use super::{Files, Log};
use crate::decode::output::{Fault, Output};
use crate::event::{Action, Event};
use crate::request::Op;

const PAGE_BYTES: u64 = 4096;

/// The memory of all processes, by the number of the process.
#[derive(Default)]
pub(super) struct Memory {
    spaces: FxHashMap<u32, Space>,
}

/// The memory of one process that is not of files.
#[derive(Default)]
struct Space {
    name: String,
    /// Its number in the trace, from its first reference on.
    object: Option<u32>,
    /// Pages of private mappings that were written.
    copied: FxHashSet<u64>,
    /// The end of the heap, if the log has it.
    heap_end: Option<u64>,
}

impl Space {
    fn object(&mut self, files: &mut Files, output: &mut Output) -> u32 {
        let name = &self.name;
        *self.object.get_or_insert_with(|| files.begin_memory(name.clone(), output))
    }
}

/// A reference to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryReference {
    pub(crate) process: u32,
    pub(crate) op: Op,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) time_ns: Option<u64>,
}

impl Log {
    /// A log that has the processes' references to memory, too.
    pub(crate) fn with_memory() -> Self {
        let mut log = Self { memory: Some(Memory::default()), ..Self::default() };
        log.processes.tells_unmapping = true;
        log
    }

    /// The time in front of a line; none if it has none, or is not a line of a log.
    pub(crate) fn time_of(line: &[u8]) -> Option<u64> {
        match Entry::read(line).ok()?.when {
            When::At { time_ns } => Some(time_ns),
            When::Unknown | When::OfDay { .. } | When::SinceLast { .. } => None,
        }
    }

    /// Says what the memory of a process is called from its next reference on.
    pub(crate) fn name_memory(&mut self, process: u32, name: &str) {
        if let Some(memory) = &mut self.memory {
            name.clone_into(&mut memory.spaces.entry(process).or_default().name);
        }
    }

    /// Takes a reference to memory, which does not cross the border of a page.
    pub(crate) fn refer(
        &mut self,
        reference: MemoryReference,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let MemoryReference { process, op, address, bytes, time_ns } = reference;
        let Some(memory) = &mut self.memory else { return Ok(()) };
        if address >= END_BYTES {
            // Pages that the kernel gives to all processes.
            return Ok(());
        }
        let space = memory.spaces.entry(process).or_default();
        let page = address / PAGE_BYTES;
        let mapped = self.processes.mapping_at(process, address);
        if let Some((start, mapping)) = mapped
            && (mapping.is_shared || !space.copied.contains(&page))
        {
            let offset = mapping.offset.saturating_add(address - start);
            let is_copied = op == Op::Write && !mapping.is_shared;
            let op = if is_copied { Op::Read } else { op };
            let action = Action::Memory { op, address: offset, bytes };
            self.files.tell(mapping.file, time_ns, action, output)?;
            if !is_copied {
                return Ok(());
            }
            space.copied.insert(page);
        }
        let object = space.object(&mut self.files, output);
        output.event(Event { object, time_ns, action: Action::Memory { op, address, bytes } })
    }

    /// A child begins with copies of what its parent has written in private mappings.
    pub(super) fn copy_memory(&mut self, parent: u32, child: u32) {
        let Some(memory) = &mut self.memory else { return };
        if !self.processes.is_known(parent) {
            return;
        }
        let parent = self.processes.process_of(parent);
        let Some(Space { name, copied, heap_end, .. }) = memory.spaces.get(&parent) else { return };
        let space =
            Space { name: name.clone(), object: None, copied: copied.clone(), heap_end: *heap_end };
        memory.spaces.insert(child, space);
    }

    /// A process has ended, or runs another program: its memory is gone.
    pub(super) fn end_memory(
        &mut self,
        thread: u32,
        time_ns: Option<u64>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        match memory.spaces.remove(&thread).and_then(|space| space.object) {
            Some(object) => output.event(Event { object, time_ns, action: Action::ReleaseAll }),
            None => Ok(()),
        }
    }
}

impl Caller<'_, '_> {
    /// The program gives memory back, or gets other memory in its place.
    pub(super) fn release_memory(&mut self, addresses: Range<u64>) -> Result<(), Fault> {
        let Some(memory) = &mut self.log.memory else { return Ok(()) };
        let process = self.log.processes.process_of(self.thread);
        let Some(space) = memory.spaces.get_mut(&process) else { return Ok(()) };
        let end = addresses.end.min(END_BYTES - PAGE_BYTES).next_multiple_of(PAGE_BYTES);
        if addresses.start >= end {
            return Ok(());
        }
        let pages = addresses.start / PAGE_BYTES..end / PAGE_BYTES;
        space.copied.retain(|page| !pages.contains(page));
        let Some(object) = space.object else { return Ok(()) };
        let action = Action::Release { address: addresses.start, bytes: end - addresses.start };
        self.output.event(Event { object, time_ns: self.time_ns, action })
    }

    /// Follows a call that changes memory only.
    pub(super) fn follow_memory(&mut self) -> Result<(), Fault> {
        let Some(returned) = self.call.returned() else { return Ok(()) };
        if self.call.name == b"madvise" {
            let gives_back = self.argument(2).is_some_and(|advice| has(advice, b"MADV_DONTNEED"));
            let addresses = self.addresses(0, 1)?;
            return if gives_back { self.release_memory(addresses) } else { Ok(()) };
        }
        let process = self.log.processes.process_of(self.thread);
        let Some(memory) = &mut self.log.memory else { return Ok(()) };
        let before = memory.spaces.entry(process).or_default().heap_end.replace(returned);
        match before.filter(|&before| returned < before) {
            Some(before) => self.release_memory(returned..before),
            None => Ok(()),
        }
    }
}
