//! What the connections of a server share: the processes, and copies of memories for forked ones.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use clockhand_pager_protocol::Token;

use super::{EventLog, Swap};
use crate::anonymous::anonymous_bytes;
use crate::control::{Control, ForkCopy, Progress};
use crate::device_reads::{DeviceReads, Means, sentence};
use crate::inherited_socket::random_token;
use crate::pace::Watchdog;
use crate::settings::{Bits, Settings};
use crate::unpaged::Unpaged;

/// A process that has, or had, paged memory.
#[derive(Clone, Debug)]
pub struct PagedProcess {
    /// Its process id.
    pub process: i32,
    /// The name of its program.
    pub name: String,
    /// True if it began as a private copy of another.
    pub is_fork: bool,
    /// The origin of its read and write bits: mapped, if the kernel does not let its page map be read.
    pub bits: Bits,
    /// The time for which it has had its memory.
    pub lifetime: Duration,
    /// Its pager's counts.
    pub progress: Progress,
    /// A sentence without its subject: how devices may have written into its memory unseen, so that pages may have been
    /// lost. `None` if nothing was noticed.
    pub device_reads: Option<String>,
    /// The most anonymous, unpaged memory that was seen at a time: stacks, data, small and fixed mappings, and all memory
    /// of programs that it has started, or become, and that are not paged.
    pub unpaged_bytes: u64,
}

/// A process with paged memory, as the server knows it.
pub(crate) struct Member {
    /// The only process whose requests for the memory are accepted, by the process id that the kernel reports.
    pub(crate) process: i32,
    /// The token by which the process names the memory.
    pub(crate) token: Token,
    pub(crate) name: String,
    pub(crate) is_fork: bool,
    pub(crate) bits: Bits,
    pub(crate) started: Instant,
    /// `None` while it lives.
    pub(crate) lifetime: Option<Duration>,
    pub(crate) control: Control,
    pub(crate) device_reads: Vec<Means>,
    pub(crate) unpaged_bytes: u64,
    /// What unpaged programs that it has started, or become, have at the moment.
    pub(crate) beside_bytes: u64,
}

impl Member {
    /// The process, while it has its memory.
    fn living(&self) -> Option<i32> {
        self.lifetime.is_none().then_some(self.process)
    }
}

impl From<&Member> for PagedProcess {
    fn from(member: &Member) -> Self {
        PagedProcess {
            process: member.process,
            name: member.name.clone(),
            is_fork: member.is_fork,
            bits: member.bits,
            lifetime: member.lifetime.unwrap_or_else(|| member.started.elapsed()),
            progress: member.control.progress(),
            device_reads: (!member.device_reads.is_empty()).then(|| sentence(&member.device_reads)),
            unpaged_bytes: member.unpaged_bytes,
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) memory_pages: u32,
    pub(crate) swap: Swap,
    pub(crate) log: Option<Box<dyn EventLog>>,
    /// The user whose programs are paged: the pager's own.
    pub(crate) user: u32,
    pub(crate) unpaged: Unpaged,
    pub(super) members: Mutex<Vec<Member>>,
    pub(super) forks: Mutex<HashMap<Token, ForkCopy>>,
}

impl Shared {
    pub(super) fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().expect("the lock is never poisoned")
    }

    fn forks(&self) -> MutexGuard<'_, HashMap<Token, ForkCopy>> {
        self.forks.lock().expect("the lock is never poisoned")
    }

    /// Adds a process; returns its memory's number, counted from 0 in the order of joining.
    pub(crate) fn join(&self, member: Member) -> usize {
        let mut members = self.members();
        members.push(member);
        members.len() - 1
    }

    /// The memory with this number has ended.
    pub(crate) fn leave(&self, memory: usize) {
        if let Some(member) = self.members().get_mut(memory) {
            member.lifetime = Some(member.started.elapsed());
            self.unpaged.suspect(member.process, memory);
        }
    }

    /// The control of a memory's pager, if the memory is this process's own.
    pub(crate) fn control(&self, memory: Token, process: i32) -> Option<Control> {
        let members = self.members();
        let is_meant = |member: &&Member| member.token == memory && member.process == process;
        members.iter().find(is_meant).map(|member| member.control.clone())
    }

    /// Reports on standard error which of the living processes have waited for long, and for what.
    pub(super) fn tell_of_long_waits(&self, watchdog: &mut Watchdog) {
        let members = self.members();
        let living = members.iter().enumerate().filter(|(_, member)| member.lifetime.is_none());
        for (memory, member) in living {
            let activity = member.control.activity();
            if let Some(said) = watchdog.look(memory, activity, member.process, &member.name) {
                eprintln!("clockhand: {said}");
            }
        }
    }

    /// Reports on standard error into which of the living processes' memory a device may write unseen.
    pub(super) fn tell_of_device_reads(&self, device_reads: &mut DeviceReads) {
        let what_to_look_at = |(memory, member): (usize, &Member)| {
            let (evictions, known) = (member.control.evictions(), member.device_reads.clone());
            member.lifetime.is_none().then_some((memory, evictions, member.process, known))
        };
        // Looking takes long if a process has many descriptors, and the lock is needed for others to join.
        let living: Vec<_> =
            self.members().iter().enumerate().filter_map(what_to_look_at).collect();
        for (memory, evictions, process, known) in living {
            let seen = device_reads.look(memory, evictions, process, &known);
            if !seen.is_empty() {
                let member = &mut self.members()[memory];
                eprintln!("clockhand: {} (process {process}) {}", member.name, sentence(&seen));
                member.device_reads.extend(seen);
            }
        }
    }

    /// Looks how much memory of the living processes, and of programs that they have started or become, is not paged.
    /// Reports on standard error which programs these are.
    pub(super) fn look_for_unpaged(&self) {
        let living = |(memory, member): (usize, &Member)| Some((memory, member.living()?));
        let living: Vec<_> = self.members().iter().enumerate().filter_map(living).collect();
        for &(memory, process) in &living {
            let is_paged = |child| living.iter().any(|&(_, living)| living == child);
            self.unpaged.suspect_children_of(process, memory, is_paged);
        }
        // Some may have become members since.
        let unpaged = self.unpaged.look(|process| {
            self.members().iter().filter_map(Member::living).any(|living| living == process)
        });
        let own: Vec<_> = living
            .into_iter()
            .filter_map(|(memory, process)| Some((memory, anonymous_bytes(process)?)))
            .collect();
        let mut members = self.members();
        members.iter_mut().for_each(|member| member.beside_bytes = 0);
        unpaged.into_iter().for_each(|(memory, bytes)| members[memory].beside_bytes += bytes);
        for member in members.iter_mut() {
            member.unpaged_bytes = member.unpaged_bytes.max(member.beside_bytes);
        }
        for (memory, bytes) in own {
            let member = &mut members[memory];
            // Another program may run in the process by now.
            if member.lifetime.is_none() {
                member.unpaged_bytes = member.unpaged_bytes.max(bytes + member.beside_bytes);
            }
        }
    }

    /// Keeps in mind how much memory of a process is not paged.
    pub(crate) fn note_unpaged(&self, memory: Token, bytes: u64) {
        for member in self.members().iter_mut().filter(|member| member.token == memory) {
            member.unpaged_bytes = member.unpaged_bytes.max(bytes + member.beside_bytes);
        }
    }

    /// Keeps the copy of a memory until the forked child asks for it with the token that this returns.
    pub(crate) fn keep_for_child(&self, copies: ForkCopy) -> Token {
        let fork = random_token();
        self.forks().insert(fork, copies);
        fork
    }

    /// Returns whether a copy is kept under this token.
    pub(crate) fn has_copy(&self, fork: Token) -> bool {
        self.forks().contains_key(&fork)
    }

    /// The copy of a memory that was kept under this token.
    pub(crate) fn take_copy(&self, fork: Token) -> Option<ForkCopy> {
        self.forks().remove(&fork)
    }

    /// Releases the copy of a memory that no child has asked for.
    pub(crate) fn forget_copy(&self, fork: Token) {
        let Some(copies) = self.take_copy(fork) else { return };
        // Without a store the slots stay in use until the end.
        let Ok(mut store) = self.swap.store() else { return };
        copies.pages.into_iter().for_each(|(_, slot)| store.release(slot));
    }
}
