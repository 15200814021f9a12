//! One connection of a program: a memory for as long as the program lives, or one request and its answer.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use clockhand_pager_protocol::{Mapped, Packet, Reply, Request, RequestKind, VERSION};
use clockhand_policy::PageId;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::driver::{Command, Control, Driver, channel_of_control};
use crate::memory_file::MemoryFile;
use crate::paging::{Event, EventSink, InitialPages, Parts};
use crate::server::{Member, Shared};
use crate::userfault::{Userfault, explained};
use crate::userfault_memory::{Unmapper, UserfaultMemory};

/// Serves a connection until it ends.
pub(crate) fn serve_connection(shared: &Arc<Shared>, connection: OwnedFd) {
    let mut request = Request::ZERO;
    // Whoever connects and says nothing sensible gets no answer.
    let Ok(descriptor) = receive(connection.as_fd(), &mut request) else { return };
    let answer = match answer(shared, &request, descriptor, &connection) {
        Ok(Some(answer)) => answer,
        Ok(None) => return,
        Err(sentence) => refusal(&sentence),
    };
    // A program that has gone needs no answer.
    let _ = send_packet(connection.as_fd(), &answer, None);
}

/// The answer to a request; `None` if the connection was a memory's and has ended.
fn answer(
    shared: &Arc<Shared>,
    request: &Request,
    descriptor: Option<OwnedFd>,
    connection: &OwnedFd,
) -> Result<Option<Reply>, String> {
    if request.version != VERSION {
        return Err(
            "the preloaded library is of another build than the pager; install Clockhand again"
                .to_owned(),
        );
    }
    let control =
        || shared.control(request.memory).ok_or_else(|| "there is no such memory".to_owned());
    match request.kind {
        kind if kind == RequestKind::Attach as u32 => {
            serve_memory(shared, request, descriptor, connection).map(|()| None)
        }
        kind if kind == RequestKind::Discard as u32 => {
            discard(shared, &control()?, request).map(|()| Some(Reply::ZERO))
        }
        kind if kind == RequestKind::BeginFork as u32 => {
            let copies = begin_fork(&control()?)?;
            Ok(Some(Reply { fork: shared.keep_for_child(copies), ..Reply::ZERO }))
        }
        kind if kind == RequestKind::EndFork as u32 => {
            control()?.command(Command::EndFork).map_err(|error| error.to_string())?;
            Ok(Some(Reply::ZERO))
        }
        kind => Err(format!("there is no request of kind {kind}")),
    }
}

fn discard(shared: &Shared, control: &Control, request: &Request) -> Result<(), String> {
    let end = request.first_page.checked_add(request.pages);
    if end.is_none_or(|end| end > u64::from(shared.memory_pages)) {
        return Err("pages outside of the memory cannot be given back".to_owned());
    }
    let (done, is_done) = channel();
    let (first, pages) = (PageId(request.first_page as u32), request.pages as u32);
    let ended = || "the paged memory has ended".to_owned();
    control.command(Command::Discard { first, pages, done }).map_err(|_| ended())?;
    is_done.recv().map_err(|_| ended())?.map_err(|error| error.to_string())
}

fn begin_fork(control: &Control) -> Result<InitialPages, String> {
    let (done, is_done) = channel();
    let ended = || "the paged memory has ended".to_owned();
    control.command(Command::BeginFork { done }).map_err(|_| ended())?;
    let copies = is_done.recv().map_err(|_| ended())?;
    copies.map_err(|error| {
        format!("a forked process needs a private copy of the memory, and {error}")
    })
}

/// Gives a process memory and serves it until the process has ended.
fn serve_memory(
    shared: &Arc<Shared>,
    request: &Request,
    descriptor: Option<OwnedFd>,
    connection: &OwnedFd,
) -> Result<(), String> {
    let kernel = |error: io::Error| format!("the program's memory cannot be paged: {error}");
    let Some(descriptor) = descriptor else {
        return Err(explained(&io::Error::from_raw_os_error(request.error)));
    };
    let userfault =
        Arc::new(Userfault::from_descriptor(descriptor).map_err(|error| explained(&error))?);
    let initial = match request.fork {
        0 => InitialPages::new(),
        fork => shared.take_copy(fork).ok_or("there is no copy for this forked process")?,
    };
    let store = shared.swap.store().map_err(|error| error.to_string())?;
    let file = MemoryFile::new(shared.memory_pages).map_err(kernel)?;
    let (control, channel) = channel_of_control().map_err(kernel)?;
    let (started, process) = (Instant::now(), request.process);
    let name = name_of(request);
    let is_fork = request.fork != 0;
    let member = Member { process, name, is_fork, started, lifetime: None, control };
    let memory = shared.join(member);
    let ends = Ends { shared, memory };
    let memory_bytes = file.bytes() as u64;
    let reply = Reply { memory, memory_bytes, ..Reply::ZERO };
    send_packet(connection.as_fd(), &reply, Some(file.as_fd())).map_err(kernel)?;
    let mut mapped = Mapped::ZERO;
    receive(connection.as_fd(), &mut mapped).map_err(kernel)?;
    let base = mapped.address;
    let socket = connection.try_clone().map_err(kernel)?;
    let unmapper = Unmapper::InProgram { socket, unanswered: 0 };
    let program = UserfaultMemory::new(file, userfault.clone(), base, unmapper).map_err(kernel)?;
    let events: Box<dyn EventSink> = match &shared.log {
        Some(log) => log.sink(memory as u32 - 1, base),
        None => Box::new(|_: Event| {}),
    };
    let paging =
        shared.settings.build(Parts { program: Box::new(program), store, events, initial });
    send_packet(connection.as_fd(), &Reply { memory, ..Reply::ZERO }, None).map_err(kernel)?;
    let program = Some(connection.try_clone().map_err(kernel)?);
    let patience = shared.settings.patience;
    Driver { userfault, base, paging, channel, program, patience, process }.run();
    drop(ends);
    Ok(())
}

/// Tells the server that a memory has ended, however that came.
struct Ends<'a> {
    shared: &'a Shared,
    memory: u64,
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

/// A reply that says no, with as much of the sentence as it holds.
fn refusal(sentence: &str) -> Reply {
    let mut reply = Reply { refused: 1, ..Reply::ZERO };
    let mut length = sentence.len().min(reply.sentence.len());
    while !sentence.is_char_boundary(length) {
        length -= 1;
    }
    reply.sentence[..length].copy_from_slice(&sentence.as_bytes()[..length]);
    reply
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

/// Receives a whole packet, and the descriptor that came with it if one did.
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
