//! The processes of a log: which descriptor and which mapping of a process leads to which file.
//!
//! Threads share their descriptors and mappings, a child has copies; several descriptors, also of
//! several processes, share one description, which holds the offset.

mod mappings;

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::files::{FileNumber, Files};
use super::pool::Pool;
use crate::decode::output::{Fault, Output};

/// What an open call made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description {
    pub(super) file: FileNumber,
    pub(super) offset: u64,
    /// True if every write goes to the end.
    pub(super) appends: bool,
    /// True if it goes past the cache.
    pub(super) is_direct: bool,
    /// True if every write is persistent when it returns (O_SYNC, O_DSYNC).
    pub(super) is_synchronous: bool,
    /// Descriptors of it.
    users: u32,
}

impl Description {
    /// One at the first byte of a file.
    pub(super) fn new(file: FileNumber) -> Self {
        Self { file, offset: 0, appends: false, is_direct: false, is_synchronous: false, users: 0 }
    }
}

/// A description, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DescriptionNumber(u32);

/// A descriptor.
#[derive(Clone, Copy, Debug)]
struct Slot {
    description: DescriptionNumber,
    closes_on_exec: bool,
}

/// Something that threads share: how many do, and what.
struct Shared<T> {
    users: u32,
    content: T,
}

/// A part of a file in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) end: u64,
    pub(super) file: FileNumber,
    /// The byte of the file at its first address.
    pub(super) offset: u64,
    /// True if what is written there goes to the file.
    pub(super) is_shared: bool,
}

impl Mapping {
    /// One of these addresses, which begins at a byte of the file.
    pub(super) fn new(
        addresses: &Range<u64>,
        file: FileNumber,
        offset: u64,
        is_shared: bool,
    ) -> Self {
        Self { end: addresses.end, file, offset, is_shared }
    }
}

/// Mappings of files by their first addresses.
type Mappings = BTreeMap<u64, Mapping>;
type Slots = BTreeMap<u32, Slot>;

/// A thread.
struct Thread {
    /// Of its process: the number of the thread that began it.
    process: u32,
    slots: usize,
    mappings: usize,
    directory: Option<Vec<u8>>,
    /// True if it was met before the call that made it had returned.
    came_early: bool,
}

/// What a new thread shares with the one that made it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sharing {
    pub(super) process: bool,
    pub(super) descriptors: bool,
    pub(super) memory: bool,
}

/// All processes.
#[derive(Default)]
pub(super) struct Processes {
    threads: FxHashMap<u32, Thread>,
    slots: Pool<Shared<Slots>>,
    mappings: Pool<Shared<Mappings>>,
    descriptions: Pool<Description>,
    /// Descriptors and mappings of all processes.
    entries: usize,
    /// True if it must know which parts of a file no process maps any more.
    pub(super) tells_unmapping: bool,
}

/// No machine has as many; a damaged log in which processes double must not fill the memory.
const LIMIT_ENTRIES: usize = 1 << 22;

/// The receiver of file events, and their time.
pub(super) struct Telling<'a> {
    pub(super) files: &'a mut Files,
    pub(super) time_ns: Option<u64>,
    pub(super) output: &'a mut Output,
}

impl Telling<'_> {
    pub(super) fn release(&mut self, file: FileNumber) -> Result<(), Fault> {
        self.files.release(file, self.time_ns, self.output)
    }
}

impl Processes {
    pub(super) fn is_known(&self, thread: u32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The thread that a number in the log means; a log leaves out the number of the only one.
    pub(super) fn named(&self, written: u32) -> u32 {
        match (written, self.threads.len()) {
            (0, 1) => self.threads.keys().copied().next().unwrap_or(0),
            _ => written,
        }
    }

    /// Gives a thread that was in the log without a number its number; false if there is none.
    pub(super) fn give_number(&mut self, thread: u32) -> bool {
        let Some(unnumbered) = self.threads.remove(&0) else { return false };
        self.threads.insert(thread, Thread { process: thread, ..unnumbered });
        true
    }

    /// The number of the process of a known thread.
    pub(super) fn process_of(&self, thread: u32) -> u32 {
        self.threads[&thread].process
    }

    /// Adds a thread that nothing in the log has made.
    pub(super) fn begin(&mut self, thread: u32) {
        let slots = self.slots.add(Shared { users: 1, content: Slots::new() });
        let mappings = self.mappings.add(Shared { users: 1, content: Mappings::new() });
        let process = thread;
        let made = Thread { process, slots, mappings, directory: None, came_early: false };
        self.threads.insert(thread, made);
    }

    /// Adds a thread that another has made; `came_early` if that call has not returned yet.
    pub(super) fn fork(
        &mut self,
        parent: u32,
        child: u32,
        sharing: Sharing,
        came_early: bool,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        match self.threads.get_mut(&child) {
            Some(known) if known.came_early => {
                known.came_early = false;
                return Ok(());
            }
            Some(_) => self.end(child, telling)?,
            None => {}
        }
        let Some(Thread { process, slots, mappings, directory, .. }) = self.threads.get(&parent)
        else {
            self.begin(child);
            return Ok(());
        };
        let (slots, mappings) = (*slots, *mappings);
        let process = if sharing.process { *process } else { child };
        let directory = directory.clone();
        let slots = if sharing.descriptors {
            self.slots.get(slots).users += 1;
            slots
        } else {
            self.copy_slots(slots)?
        };
        let mappings = if sharing.memory {
            self.mappings.get(mappings).users += 1;
            mappings
        } else {
            self.copy_mappings(mappings, telling.files)?
        };
        self.threads.insert(child, Thread { process, slots, mappings, directory, came_early });
        Ok(())
    }

    fn count_entries(&mut self, entries: usize) -> Result<(), Fault> {
        self.entries += entries;
        if self.entries > LIMIT_ENTRIES {
            return Err(Fault::Trace(format!(
                "the processes of the log have more than {LIMIT_ENTRIES} open files and mappings at once; \
                 take a part of it"
            ).into()));
        }
        Ok(())
    }

    fn copy_slots(&mut self, number: usize) -> Result<usize, Fault> {
        let content = self.slots.get(number).content.clone();
        self.count_entries(content.len())?;
        for slot in content.values() {
            self.descriptions.get(slot.description.0 as usize).users += 1;
        }
        Ok(self.slots.add(Shared { users: 1, content }))
    }

    /// A thread is gone, and with the last one of a process what that had open.
    pub(super) fn end(&mut self, thread: u32, telling: &mut Telling) -> Result<(), Fault> {
        let Some(gone) = self.threads.remove(&thread) else { return Ok(()) };
        self.leave_slots(gone.slots, telling)?;
        self.leave_mappings(gone.mappings, telling)
    }

    fn leave_slots(&mut self, number: usize, telling: &mut Telling) -> Result<(), Fault> {
        let slots = self.slots.get(number);
        slots.users -= 1;
        if slots.users > 0 {
            return Ok(());
        }
        for slot in self.slots.remove(number).content.into_values() {
            self.leave_description(slot.description, telling)?;
        }
        Ok(())
    }

    fn leave_description(
        &mut self,
        number: DescriptionNumber,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        self.entries -= 1;
        let description = self.descriptions.get(number.0 as usize);
        description.users -= 1;
        if description.users > 0 {
            return Ok(());
        }
        let Description { file, .. } = self.descriptions.remove(number.0 as usize);
        telling.release(file)
    }

    /// The thread runs another program: descriptors that say so are closed, nothing stays mapped.
    pub(super) fn exec(&mut self, thread: u32, telling: &mut Telling) -> Result<(), Fault> {
        let (old_slots, old_mappings) = {
            let thread = &self.threads[&thread];
            (thread.slots, thread.mappings)
        };
        let slots = self.copy_slots(old_slots)?;
        self.leave_slots(old_slots, telling)?;
        self.leave_mappings(old_mappings, telling)?;
        let mappings = self.mappings.add(Shared { users: 1, content: Mappings::new() });
        let closing: Vec<u32> = self
            .slots
            .get(slots)
            .content
            .iter()
            .filter(|(_, slot)| slot.closes_on_exec)
            .map(|(&number, _)| number)
            .collect();
        let known = self.threads.get_mut(&thread).expect("a thread that calls is known");
        (known.slots, known.mappings) = (slots, mappings);
        closing.into_iter().try_for_each(|number| self.close(thread, number, telling))
    }

    pub(super) fn directory(&self, thread: u32) -> Option<&[u8]> {
        self.threads[&thread].directory.as_deref()
    }

    /// The thread works in this directory.
    pub(super) fn set_directory(&mut self, thread: u32, path: Vec<u8>) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.directory = Some(path);
        }
    }

    fn slots_of(&mut self, thread: u32) -> &mut Slots {
        let slots = self.threads[&thread].slots;
        &mut self.slots.get(slots).content
    }

    /// The file behind a descriptor of the thread.
    pub(super) fn description(&mut self, thread: u32, number: u32) -> Option<DescriptionNumber> {
        self.slots_of(thread).get(&number).map(|slot| slot.description)
    }

    pub(super) fn get(&mut self, number: DescriptionNumber) -> &mut Description {
        self.descriptions.get(number.0 as usize)
    }

    /// A descriptor of a new description.
    pub(super) fn open(
        &mut self,
        thread: u32,
        number: u32,
        description: Description,
        closes_on_exec: bool,
        telling: &mut Telling,
    ) -> Result<DescriptionNumber, Fault> {
        telling.files.hold(description.file);
        let place = DescriptionNumber(self.descriptions.add(description) as u32);
        self.duplicate(thread, number, place, closes_on_exec, telling)?;
        Ok(place)
    }

    /// One more descriptor of a description; what the number stood for before is closed.
    pub(super) fn duplicate(
        &mut self,
        thread: u32,
        number: u32,
        description: DescriptionNumber,
        closes_on_exec: bool,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        self.descriptions.get(description.0 as usize).users += 1;
        self.count_entries(1)?;
        let slot = Slot { description, closes_on_exec };
        match self.slots_of(thread).insert(number, slot) {
            Some(before) => self.leave_description(before.description, telling),
            None => Ok(()),
        }
    }

    /// Says whether a descriptor is closed when another program is run.
    pub(super) fn set_closes_on_exec(&mut self, thread: u32, number: u32, closes: bool) {
        if let Some(slot) = self.slots_of(thread).get_mut(&number) {
            slot.closes_on_exec = closes;
        }
    }

    pub(super) fn close(
        &mut self,
        thread: u32,
        number: u32,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        match self.slots_of(thread).remove(&number) {
            Some(slot) => self.leave_description(slot.description, telling),
            None => Ok(()),
        }
    }

    /// Closes all descriptors from the first number to the last.
    pub(super) fn close_range(
        &mut self,
        thread: u32,
        numbers: std::ops::RangeInclusive<u32>,
        telling: &mut Telling,
    ) -> Result<(), Fault> {
        if numbers.is_empty() {
            return Ok(());
        }
        let open: Vec<u32> =
            self.slots_of(thread).range(numbers).map(|(&number, _)| number).collect();
        open.into_iter().try_for_each(|number| self.close(thread, number, telling))
    }
}
