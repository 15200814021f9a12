//! One connection of a program: a memory for as long as the program lives, or one request and its answer.

mod memory;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::channel;

use clockhand_pager_protocol::{
    NO_TOKEN, PAGE_BYTES, Packet, REFUSED, Reply, Request, RequestKind, UNPAGED, VERSION,
};
use clockhand_policy::PageId;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use self::memory::serve_memory;
use crate::control::{Command, Control, ForkCopy};
use crate::inherited_socket::Peer;
use crate::server::Shared;

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
