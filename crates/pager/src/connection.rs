//! One connection of a program: a memory for as long as the program lives, or one request and its answer.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use clockhand_pager_protocol::{
    Mapped, NO_TOKEN, PAGE_BYTES, Packet, REFUSED, Reply, Request, RequestKind, UNPAGED, VERSION,
};
use clockhand_policy::PageId;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::control::{Command, Control, ForkCopy, channel_of_control};
use crate::driver::Driver;
use crate::given_away::GivenAway;
use crate::inherited_socket::{Peer, random_token};
use crate::memory_file::{MemoryFile, are_pages_single};
use crate::parts::{Event, EventSink, InitialPages, Parts};
use crate::server::{Member, Shared};
use crate::settings::Bits;
use crate::translations::PageMap;
use crate::userfault::{Userfault, explained};
use crate::userfault_memory::{Unmapper, UserfaultMemory};

/// Serves a connection until it ends.
pub(crate) fn serve_connection(shared: &Arc<Shared>, peer: &Peer) {
    let mut request = Request::ZERO;
    // A malformed request gets no answer.
    let Ok(descriptor) = receive(peer.connection.as_fd(), &mut request) else { return };
    let answer = match answer(shared, &request, descriptor, peer) {
        Ok(Some(answer)) => answer,
        Ok(None) => return,
        Err(refusal) => refusal.reply(),
    };
    // A program that has ended needs no answer.
    let _ = send_packet(peer.connection.as_fd(), &answer, None);
}

/// Why a request is refused.
struct Refusal {
    /// [`REFUSED`] or [`UNPAGED`].
    code: u32,
    sentence: String,
}

impl From<String> for Refusal {
    fn from(sentence: String) -> Self {
        Refusal { code: REFUSED, sentence }
    }
}

impl From<&str> for Refusal {
    fn from(sentence: &str) -> Self {
        sentence.to_owned().into()
    }
}

impl Refusal {
    /// A reply with as much of the sentence as fits.
    fn reply(&self) -> Reply {
        let mut reply = Reply { refused: self.code, ..Reply::ZERO };
        let mut length = self.sentence.len().min(reply.sentence.len());
        while !self.sentence.is_char_boundary(length) {
            length -= 1;
        }
        reply.sentence[..length].copy_from_slice(&self.sentence.as_bytes()[..length]);
        reply
    }
}

/// The answer to a request; `None` if the connection has already been answered and has ended.
fn answer(
    shared: &Arc<Shared>,
    request: &Request,
    descriptor: Option<OwnedFd>,
    peer: &Peer,
) -> Result<Option<Reply>, Refusal> {
    if request.version != VERSION {
        return Err(
            "the preloaded library is of another build than the pager; install Clockhand again"
                .into(),
        );
    }
    let control = || {
        let control = shared.control(request.memory, peer.process);
        control.ok_or("this process has no such memory")
    };
    match request.kind {
        kind if kind == RequestKind::Attach as u32 => {
            check_user(shared, request, peer)?;
            serve_memory(shared, request, descriptor, peer)?;
            Ok(None)
        }
        kind if kind == RequestKind::Discard as u32 || kind == RequestKind::GiveAway as u32 => {
            discard(shared, &control()?, request)?;
            Ok(Some(Reply::ZERO))
        }
        kind if kind == RequestKind::Part as u32 => {
            part(&control()?, request.pages != 0)?;
            Ok(Some(Reply::ZERO))
        }
        kind if kind == RequestKind::Unpaged as u32 => {
            control()?;
            shared.note_unpaged(request.memory, request.pages.saturating_mul(PAGE_BYTES as u64));
            Ok(Some(Reply::ZERO))
        }
        kind if kind == RequestKind::BeginFork as u32 => {
            let control = control()?;
            let copies = begin_fork(&control)?;
            serve_fork(shared, &control, copies, peer.connection.as_fd());
            Ok(None)
        }
        kind => Err(format!("no connection begins with a request of kind {kind}").into()),
    }
}

/// Only programs of the pager's own user are paged. A forked child did not choose to be one, and shows its token.
fn check_user(shared: &Shared, request: &Request, peer: &Peer) -> Result<(), Refusal> {
    if peer.user == shared.user || request.fork != NO_TOKEN {
        return Ok(());
    }
    let sentence = format!(
        "the program runs as user {}, and only programs of user {} are paged: it runs without paged memory",
        peer.user, shared.user
    );
    Err(Refusal { code: UNPAGED, sentence })
}

/// Tells a program that its copy is ready, and serves the rest of the fork. However the connection ends, pages may
/// change again afterwards, and a copy that no child has asked for is released.
fn serve_fork(shared: &Shared, control: &Control, copies: ForkCopy, connection: BorrowedFd<'_>) {
    let fork = shared.keep_for_child(copies);
    let begun = send_packet(connection, &Reply { fork, ..Reply::ZERO }, None);
    let mut end = Request::ZERO;
    let ended = begun.and_then(|()| receive(connection, &mut end).map(drop));
    if ended.is_err() || end.fork == fork {
        shared.forget_copy(fork);
    }
    // A program whose memory has ended needs no command.
    let _ = control.command(Command::EndFork);
    if ended.is_ok() && end.kind == RequestKind::EndFork as u32 {
        let _ = send_packet(connection, &Reply::ZERO, None);
        // The child, if there is one, has the connection too, until it has its memory.
        let _ = receive(connection, &mut end);
    }
    shared.forget_copy(fork);
}

fn discard(shared: &Shared, control: &Control, request: &Request) -> Result<(), String> {
    let end = request.first_page.checked_add(request.pages);
    if end.is_none_or(|end| end > u64::from(shared.memory_pages)) {
        return Err("pages outside of the memory cannot be given back".to_owned());
    }
    let (done, is_done) = channel();
    let (first, pages) = (PageId(request.first_page as u32), request.pages as u32);
    let ended = || "the paged memory has ended".to_owned();
    let is_given_away = request.kind == RequestKind::GiveAway as u32;
    let command = Command::Discard { first, pages, is_given_away, done };
    control.command(command).map_err(|_| ended())?;
    is_done.recv().map_err(|_| ended())?.map_err(|error| error.to_string())
}

fn part(control: &Control, for_good: bool) -> Result<(), String> {
    let (done, is_done) = channel();
    let ended = |_| "the paged memory has ended".to_owned();
    control.command(Command::Part { for_good, done }).map_err(|_| ended(()))?;
    is_done.recv().map_err(|_| ended(()))
}

fn begin_fork(control: &Control) -> Result<ForkCopy, String> {
    let (done, is_done) = channel();
    let ended = || "the paged memory has ended".to_owned();
    control.command(Command::BeginFork { done }).map_err(|_| ended())?;
    let copies = is_done.recv().map_err(|_| ended())?;
    copies.map_err(|error| {
        format!("a forked process needs a private copy of the memory, and {error}")
    })
}

const NO_DESCRIPTORS: &str =
    "the pager has no descriptors left for another program: raise `ulimit -n`";

/// Gives a process memory and serves it until the process has ended.
fn serve_memory(
    shared: &Arc<Shared>,
    request: &Request,
    descriptor: Option<OwnedFd>,
    peer: &Peer,
) -> Result<(), Refusal> {
    let connection = &peer.connection;
    let kernel = |error: io::Error| match error.raw_os_error() {
        Some(libc::EMFILE) => NO_DESCRIPTORS.to_owned(),
        _ => format!("the program's memory cannot be paged: {error}"),
    };
    let is_fork = request.fork != NO_TOKEN;
    let no_copy = "there is no copy for this forked process";
    if is_fork && !shared.has_copy(request.fork) {
        return Err(no_copy.into());
    }
    let Some(descriptor) = descriptor else {
        return Err(without_userfaultfd(request.error, peer.process));
    };
    let process = peer.process;
    let map = PageMap::of_process(shared.settings.bits, process);
    let bits = if map.is_some() { Bits::Sensed } else { Bits::Mapped };
    let sees_writes = bits == Bits::Sensed && are_pages_single();
    let userfault = Userfault::from_descriptor(descriptor, sees_writes);
    let userfault = Arc::new(userfault.map_err(|error| explained(&error))?);
    let store = shared.swap.store().map_err(|error| error.to_string())?;
    let file = MemoryFile::new(shared.memory_pages).map_err(kernel)?;
    let (control, channel) = channel_of_control().map_err(kernel)?;
    let started = Instant::now();
    let (name, token) = (name_of(request), random_token());
    let member = Member {
        process,
        token,
        name,
        is_fork,
        bits,
        started,
        lifetime: None,
        control,
        device_reads: Vec::new(),
        unpaged_bytes: 0,
    };
    if request.has_own_heap != 0 {
        shared.unpaged.tell_of_own_heap(process, &member.name);
    }
    let memory = shared.join(member);
    let ends = Ends { shared, memory };
    let memory_bytes = file.bytes() as u64;
    let reply = Reply { memory: token, memory_bytes, ..Reply::ZERO };
    send_packet(connection.as_fd(), &reply, Some(file.as_fd())).map_err(kernel)?;
    let mut mapped = Mapped::ZERO;
    receive(connection.as_fd(), &mut mapped).map_err(kernel)?;
    let base = mapped.address;
    let socket = connection.try_clone().map_err(kernel)?;
    let unmapper = Unmapper::InProgram { socket, unanswered: 0 };
    let events: Box<dyn EventSink> = match &shared.log {
        Some(log) => log.sink(memory as u32, base),
        None => Box::new(|_: Event| {}),
    };
    let ForkCopy { pages: initial, given_away } = match is_fork {
        true => shared.take_copy(request.fork).ok_or(no_copy)?,
        false => ForkCopy { pages: InitialPages::new(), given_away: GivenAway::default() },
    };
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
    send_packet(connection.as_fd(), &Reply { memory: token, ..Reply::ZERO }, None)
        .map_err(kernel)?;
    let program = Some(connection.try_clone().map_err(kernel)?);
    let patience = shared.settings.patience;
    let interrupts = shared.swap.interrupts();
    let seems_deserted = false;
    Driver {
        userfault,
        base,
        pager,
        channel,
        program,
        patience,
        process,
        interrupts,
        seems_deserted,
        given_away,
    }
    .run();
    drop(ends);
    Ok(())
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

fn send_packet(
    socket: BorrowedFd<'_>,
    packet: &impl Packet,
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_slice();
    if !descriptors.is_empty() {
        assert!(
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors)),
            "there is room for one"
        );
    }
    let parts = [IoSlice::new(packet.as_bytes())];
    retry_on_intr(|| sendmsg(socket, &parts, &mut ancillary, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives a whole packet, and the descriptor that came with it, if any.
fn receive(socket: BorrowedFd<'_>, packet: &mut impl Packet) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let bytes = packet.as_bytes_mut();
    let expected = bytes.len();
    let mut parts = [IoSliceMut::new(bytes)];
    let received =
        retry_on_intr(|| recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC))?;
    if received.bytes != expected {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the program has ended"));
    }
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.flatten().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_userfaultfd_for_which_there_was_no_room_is_not_the_kernels_fault() {
        let refusal = without_userfaultfd(0, std::process::id() as i32);
        assert_eq!((refusal.code, &*refusal.sentence), (REFUSED, NO_DESCRIPTORS));
    }
}
