//! The mappings of processes.

use std::ops::Range;

use super::{FileNumber, Files, Mapping, Mappings, Processes, Shared, Telling};
use crate::decode::output::Fault;
use crate::event::Action;
use crate::formats::strace::calls::END_BYTES;

impl Processes {
    pub(super) fn copy_mappings(
        &mut self,
        number: usize,
        files: &mut Files,
    ) -> Result<usize, Fault> {
        let content = self.mappings.get(number).content.clone();
        self.count_entries(content.len())?;
        for mapping in content.values() {
            files.hold(mapping.file);
        }
        Ok(self.mappings.add(Shared { users: 1, content }))
    }

    pub(super) fn leave_mappings(
        &mut self,
        number: usize,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        let mappings = self.mappings.get(number);
        mappings.users -= 1;
        if mappings.users > 0 {
            return Ok(());
        }
        for (start, mapping) in self.mappings.remove(number).content {
            self.entries -= 1;
            self.tell_unmapping(start..mapping.end, mapping, telling)?;
            telling.release(mapping.file)?;
        }
        Ok(())
    }

    fn mappings_of(&mut self, thread: u32) -> &mut Mappings {
        let mappings = self.threads[&thread].mappings;
        &mut self.mappings.get(mappings).content
    }

    /// Maps a file.
    pub(in crate::formats::strace) fn map(
        &mut self,
        thread: u32,
        start: u64,
        mapping: Mapping,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        telling.files.hold(mapping.file);
        self.count_entries(1)?;
        self.mappings_of(thread).insert(start, mapping);
        Ok(())
    }

    /// Unmaps what lies in a range; a mapping that goes on at either side is cut.
    pub(in crate::formats::strace) fn unmap(
        &mut self,
        thread: u32,
        addresses: Range<u64>,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        if addresses.is_empty() {
            return Ok(());
        }
        let mappings = self.mappings_of(thread);
        let before = mappings.range(..addresses.start).next_back();
        let reaching =
            before.filter(|(_, mapping)| mapping.end > addresses.start).map(|(&start, _)| start);
        let within = mappings.range(addresses.clone()).map(|(&start, _)| start);
        let met: Vec<u64> = reaching.into_iter().chain(within).collect();
        for start in met {
            let Some(mapping) = self.mappings_of(thread).remove(&start) else { continue };
            self.entries -= 1;
            if start < addresses.start {
                let left = Mapping { end: addresses.start, ..mapping };
                self.map(thread, start, left, telling)?;
            }
            if mapping.end > addresses.end {
                let offset = mapping.offset.saturating_add(addresses.end - start);
                self.map(thread, addresses.end, Mapping { offset, ..mapping }, telling)?;
            }
            let gone = start.max(addresses.start)..mapping.end.min(addresses.end);
            let offset = mapping.offset.saturating_add(gone.start - start);
            self.tell_unmapping(gone, Mapping { offset, ..mapping }, telling)?;
            telling.release(mapping.file)?;
        }
        Ok(())
    }

    /// Tells that no process maps a range of a file any more, if none does.
    fn tell_unmapping(
        &self,
        addresses: Range<u64>,
        mapping: Mapping,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        if !self.tells_unmapping {
            return Ok(());
        }
        let Mapping { file, offset, .. } = mapping;
        let bytes = addresses.end - addresses.start;
        let mut all = self.mappings.iter().flat_map(|one| &one.content);
        let is_mapped = all.any(|(start, other)| {
            let other_bytes = other.end - start;
            other.file == file
                && other.offset < offset.saturating_add(bytes)
                && offset < other.offset.saturating_add(other_bytes)
        });
        if is_mapped || offset.checked_add(bytes).is_none_or(|end| end > END_BYTES) {
            return Ok(());
        }
        let action = Action::Release { address: offset, bytes };
        telling.files.tell(file, telling.time_ns, action, telling.output)
    }

    /// The mapping at an address, and its first address.
    pub(in crate::formats::strace) fn mapping_at(
        &self,
        thread: u32,
        address: u64,
    ) -> Option<(u64, Mapping)> {
        let mappings = self.mappings.peek(self.threads.get(&thread)?.mappings);
        let (&start, &mapping) = mappings.content.range(..=address).next_back()?;
        (address < mapping.end).then_some((start, mapping))
    }

    /// The files that are mapped in a range.
    pub(in crate::formats::strace) fn mapped(
        &mut self,
        thread: u32,
        addresses: Range<u64>,
    ) -> Vec<FileNumber> {
        let met = self.mappings_of(thread).range(..addresses.end).rev();
        let met = met.take_while(|(_, mapping)| mapping.end > addresses.start);
        let mut files: Vec<FileNumber> = met.map(|(_, mapping)| mapping.file).collect();
        files.reverse();
        files.dedup();
        files
    }
}
