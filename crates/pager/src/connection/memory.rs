//! Gives a process memory, and serves it until the process has ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use clockhand_pager_protocol::{Mapped, NO_TOKEN, Packet, Reply, Request, Token, UNPAGED};

use super::{Refusal, receive, send_packet};
use crate::control::{Channel, Control, ForkCopy, channel_of_control};
use crate::driver::Driver;
use crate::inherited_socket::{Peer, random_token};
use crate::memory_file::{MemoryFile, are_pages_single};
use crate::parts::{Event, EventSink, Parts};
use crate::server::{Member, Shared};
use crate::settings::Bits;
use crate::store::Store;
use crate::translations::PageMap;
use crate::userfault::{Userfault, explained};
use crate::userfault_memory::{Unmapper, UserfaultMemory};

const NO_DESCRIPTORS: &str =
    "the pager has no descriptors left for another program: raise `ulimit -n`";
const NO_COPY: &str = "there is no copy for this forked process";

/// Why the kernel has not given what a memory takes.
fn kernel(error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EMFILE) => NO_DESCRIPTORS.to_owned(),
        _ => format!("the program's memory cannot be paged: {error}"),
    }
}

/// What a memory is made of.
struct Prepared {
    userfault: Arc<Userfault>,
    map: Option<PageMap>,
    bits: Bits,
    store: Box<dyn Store>,
    file: MemoryFile,
}

/// Gives a process memory and serves it until the process has ended.
pub(super) fn serve_memory(
    shared: &Arc<Shared>,
    request: &Request,
    descriptor: Option<OwnedFd>,
    peer: &Peer,
) -> Result<(), Refusal> {
    let prepared = prepare(shared, request, descriptor, peer)?;
    let (control, channel) = channel_of_control().map_err(kernel)?;
    let token = random_token();
    let ends = join(shared, request, peer, prepared.bits, token, control);
    let base = hand_over(&prepared.file, token, peer)?;
    let driver = driver(shared, request, peer, prepared, base, ends.memory, channel)?;
    send_packet(peer.connection.as_fd(), &Reply { memory: token, ..Reply::ZERO }, None)
        .map_err(kernel)?;
    driver.run();
    drop(ends);
    Ok(())
}

fn prepare(
    shared: &Shared,
    request: &Request,
    descriptor: Option<OwnedFd>,
    peer: &Peer,
) -> Result<Prepared, Refusal> {
    if request.fork != NO_TOKEN && !shared.has_copy(request.fork) {
        return Err(NO_COPY.into());
    }
    let Some(descriptor) = descriptor else {
        return Err(without_userfaultfd(request.error, peer.process));
    };
    let map = PageMap::of_process(shared.settings.bits, peer.process);
    let bits = if map.is_some() { Bits::Sensed } else { Bits::Mapped };
    let sees_writes = bits == Bits::Sensed && are_pages_single();
    let userfault = Userfault::from_descriptor(descriptor, sees_writes);
    let userfault = Arc::new(userfault.map_err(|error| explained(&error))?);
    let store = shared.swap.store().map_err(|error| error.to_string())?;
    let file = MemoryFile::new(shared.memory_pages).map_err(kernel)?;
    Ok(Prepared { userfault, map, bits, store, file })
}

/// The process becomes one of the server's, until what this returns is dropped.
fn join<'a>(
    shared: &'a Shared,
    request: &Request,
    peer: &Peer,
    bits: Bits,
    token: Token,
    control: Control,
) -> Ends<'a> {
    let member = Member {
        process: peer.process,
        token,
        name: name_of(request),
        is_fork: request.fork != NO_TOKEN,
        bits,
        started: Instant::now(),
        lifetime: None,
        control,
        device_reads: Vec::new(),
        unpaged_bytes: 0,
        beside_bytes: 0,
    };
    if request.has_own_heap != 0 {
        shared.unpaged.tell_of_own_heap(peer.process, &member.name);
    }
    Ends { shared, memory: shared.join(member) }
}

/// Gives the memory file to the process; returns where it has mapped that.
fn hand_over(file: &MemoryFile, token: Token, peer: &Peer) -> Result<u64, String> {
    let memory_bytes = file.bytes() as u64;
    let reply = Reply { memory: token, memory_bytes, ..Reply::ZERO };
    send_packet(peer.connection.as_fd(), &reply, Some(file.as_fd())).map_err(kernel)?;
    let mut mapped = Mapped::ZERO;
    receive(peer.connection.as_fd(), &mut mapped).map_err(kernel)?;
    Ok(mapped.address)
}

/// What serves a memory, which the process has mapped at `base`.
fn driver(
    shared: &Shared,
    request: &Request,
    peer: &Peer,
    prepared: Prepared,
    base: u64,
    memory: usize,
    channel: Channel,
) -> Result<Driver, Refusal> {
    let Prepared { userfault, map, bits, store, file } = prepared;
    let (connection, process) = (&peer.connection, peer.process);
    let events: Box<dyn EventSink> = match &shared.log {
        Some(log) => log.sink(memory as u32, base),
        None => Box::new(|_: Event| {}),
    };
    let ForkCopy { pages: initial, given_away } = match request.fork {
        NO_TOKEN => ForkCopy::default(),
        fork => shared.take_copy(fork).ok_or(NO_COPY)?,
    };
    let socket = connection.try_clone().map_err(kernel)?;
    let unmapper = Unmapper::InProgram { socket, unanswered: 0 };
    let program = UserfaultMemory::new(
        file,
        userfault.clone(),
        base,
        process,
        unmapper,
        bits,
        given_away.clone(),
    );
    let program = Box::new(program.map_err(kernel)?);
    let translations =
        map.map(|map| map.at(base, userfault.lets_writes_go_on(), given_away.clone()));
    let pager = shared.settings.build(Parts { program, translations, store, events, initial });
    Ok(Driver {
        userfault,
        base,
        pager,
        channel,
        program: Some(connection.try_clone().map_err(kernel)?),
        patience: shared.settings.patience,
        process,
        interrupts: shared.swap.interrupts(),
        seems_deserted: false,
        given_away,
    })
}

/// Why a program that has no userfaultfd is not paged: it runs unpaged if a sandbox of its own has refused that.
fn without_userfaultfd(error: i32, process: i32) -> Refusal {
    // The program has sent one, for which the kernel found no room here.
    if error == 0 {
        return NO_DESCRIPTORS.into();
    }
    let filters = |whose: &str| {
        let status = std::fs::read_to_string(format!("/proc/{whose}/status")).ok()?;
        let filters = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"))?;
        filters.trim().parse::<u32>().ok()
    };
    let has_more = filters(&process.to_string()).zip(filters("self"));
    if has_more.is_some_and(|(program, own)| program > own) {
        let sentence = format!(
            "a sandbox refuses the userfaultfd by which the program would be paged (error {error}): it runs without paged \
             memory"
        );
        return Refusal { code: UNPAGED, sentence };
    }
    explained(&io::Error::from_raw_os_error(error)).into()
}

/// Tells the server that a memory has ended, however it ended.
struct Ends<'a> {
    shared: &'a Shared,
    memory: usize,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.shared.leave(self.memory);
    }
}

fn name_of(request: &Request) -> String {
    let name = request.name.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use clockhand_pager_protocol::REFUSED;

    use super::*;

    #[test]
    fn a_userfaultfd_for_which_there_was_no_room_is_not_the_kernels_fault() {
        let refusal = without_userfaultfd(0, std::process::id() as i32);
        assert_eq!((refusal.code, &*refusal.sentence), (REFUSED, NO_DESCRIPTORS));
    }
}
