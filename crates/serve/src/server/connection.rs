//! One client: the handshake, and then its requests, each served as it comes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::{Core, FileEngine};
use super::durability::Waiting;
use super::outbox::Outbox;
use super::reads::{Asked, Pages, UnderWay, read_beside};
use super::tls::Tls;
use crate::Refused;
use crate::latency::Timed;
use crate::protocol::negotiation::{
    Agreed, Negotiation, OPTION_HEADER_BYTES, Offer, OptionHeader, Then,
};
use crate::protocol::reply::Replies;
use crate::protocol::request::{Command, Export, HEADER_BYTES, Header};
use crate::store::Goal;

/// The time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that takes no answer for so long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
const INPUT_BYTES: usize = 256 << 10;
/// Memory that a connection keeps for its next requests, in bytes.
const LIMIT_KEPT: usize = 2 << 20;
/// Answers that are written together, in bytes.
const LIMIT_TOGETHER: usize = 1 << 20;

/// Serves a client to its end.
pub(super) fn serve(core: &Arc<Core>, socket: UnixStream, offer: &Offer, tls: Option<&Tls>) {
    // A client that breaks off does not make the server fail.
    let _ = try_serve(core, socket, offer, tls);
}

fn try_serve(
    core: &Arc<Core>,
    socket: UnixStream,
    offer: &Offer,
    tls: Option<&Tls>,
) -> io::Result<()> {
    socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let deadline = Instant::now() + HANDSHAKE;
    let Some((socket, agreed)) = negotiate(socket, offer, tls, deadline)? else { return Ok(()) };
    socket.set_read_timeout(None)?;
    let replies = Replies { structured: agreed.structured };
    let outbox = Arc::new(Outbox::new(socket.try_clone()?, replies, Arc::clone(core.payloads())));
    let writer = Arc::clone(&outbox);
    let thread = std::thread::Builder::new()
        .name("serve-answers".to_owned())
        .spawn(move || writer.write_paid())?;
    let export = Export {
        bytes: offer.bytes,
        is_read_only: offer.is_read_only,
        has_contexts: !agreed.contexts.is_empty(),
    };
    let mut client = Client {
        core,
        outbox: Arc::clone(&outbox),
        replies,
        export,
        agreed,
        payload: Vec::new(),
        pages: Pages::default(),
    };
    let result = client.serve_requests(socket);
    outbox.close();
    let _ = thread.join();
    result
}

/// Reads what has to come before the deadline.
fn read_until(socket: &mut UnixStream, deadline: Instant, into: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < into.len() {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(rest))?;
        match socket.read(&mut into[done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The handshake; none if the client ends it.
pub(super) fn negotiate(
    mut socket: UnixStream,
    offer: &Offer,
    tls: Option<&Tls>,
    deadline: Instant,
) -> io::Result<Option<(UnixStream, Agreed)>> {
    let mut negotiation = Negotiation::new(offer.clone());
    socket.write_all(&Negotiation::greeting())?;
    let mut flags = [0; 4];
    read_until(&mut socket, deadline, &mut flags)?;
    if !negotiation.client_flags(flags) {
        return Ok(None);
    }
    loop {
        let mut header = [0; OPTION_HEADER_BYTES];
        read_until(&mut socket, deadline, &mut header)?;
        let Some(header) = OptionHeader::parse(&header) else { return Ok(None) };
        let mut answer = Vec::new();
        let bytes = match negotiation.data_bytes(header) {
            Ok(bytes) => bytes,
            Err(answer) => {
                socket.write_all(&answer)?;
                return Ok(None);
            }
        };
        let mut data = vec![0; bytes];
        read_until(&mut socket, deadline, &mut data)?;
        let then = negotiation.option(header, &data, &mut answer);
        socket.write_all(&answer)?;
        match then {
            Then::Option => {}
            Then::Close => return Ok(None),
            Then::Requests(agreed) => return Ok(Some((socket, agreed))),
            Then::StartTls => {
                let tls = tls.expect("TLS is offered only where there is some");
                socket = tls.accept(socket, deadline)?;
                socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
                negotiation.encrypted();
            }
        }
    }
}

/// A client that sends requests.
struct Client<'a> {
    core: &'a Arc<Core>,
    outbox: Arc<Outbox>,
    replies: Replies,
    export: Export,
    agreed: Agreed,
    payload: Vec<u8>,
    pages: Pages,
}

/// How a request without data ends.
enum Outcome {
    Done,
    WhenDurable(Goal),
}

impl Client<'_> {
    fn serve_requests(&mut self, socket: UnixStream) -> io::Result<()> {
        let mut input = BufReader::with_capacity(INPUT_BYTES, socket);
        loop {
            if input.buffer().len() < HEADER_BYTES {
                self.outbox.flush()?;
                if input.fill_buf()?.is_empty() {
                    return Ok(());
                }
            }
            let mut header = [0; HEADER_BYTES];
            input.read_exact(&mut header)?;
            let Ok(header) = Header::parse(&header) else { return Ok(()) };
            let began = Instant::now();
            let payload_bytes = header.payload_bytes() as usize;
            if payload_bytes > 0 {
                self.take(payload_bytes)?;
                self.payload.resize(self.payload.len().max(payload_bytes), 0);
                let read = input.read_exact(&mut self.payload[..payload_bytes]);
                if read.is_err() {
                    self.core.payloads().give_back(payload_bytes);
                    return read;
                }
            }
            let goes_on = self.request(header, began);
            if payload_bytes > 0 {
                self.core.payloads().give_back(payload_bytes);
                self.shrink();
            }
            if !goes_on? {
                return Ok(());
            }
        }
    }

    /// Memory for the largest requests is not kept.
    fn shrink(&mut self) {
        if self.payload.capacity() > LIMIT_KEPT {
            self.payload = Vec::new();
        }
        if self.pages.capacity() > LIMIT_KEPT {
            self.pages = Pages::default();
        }
    }

    /// Takes room for a payload; answers that hold some are written before it waits.
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        if !self.core.payloads().try_take(bytes) {
            self.outbox.flush()?;
            self.core.payloads().take(bytes);
        }
        Ok(())
    }

    fn added(&mut self, waiting_bytes: usize) -> io::Result<bool> {
        if waiting_bytes > LIMIT_TOGETHER {
            self.outbox.flush()?;
        }
        Ok(true)
    }

    fn refuse(&mut self, header: Header, refused: Refused) -> io::Result<bool> {
        let replies = self.replies;
        let bytes = self.outbox.add(|into| match header.is_read() || header.is_block_status() {
            true => replies.refused(header.cookie, refused, into),
            false => replies.simple(header.cookie, Err(refused), into),
        });
        self.added(bytes)
    }

    fn request(&mut self, header: Header, began: Instant) -> io::Result<bool> {
        let command = match header.command(self.export) {
            Ok(Command::Disconnect) => return Ok(false),
            _ if self.core.is_ending() => return self.refuse(header, Refused::Shutdown),
            Ok(command) => command,
            Err(refused) => return self.refuse(header, refused),
        };
        match command {
            Command::Read { at, bytes } => self.read(header, at, bytes, began),
            Command::BlockStatus { at, bytes, one } => self.block_status(header, at, bytes, one),
            _ => self.change(header, command, began),
        }
    }

    fn read(&mut self, header: Header, at: u64, bytes: u32, began: Instant) -> io::Result<bool> {
        self.outbox.wait_for_room(bytes as usize)?;
        self.take(bytes as usize)?;
        self.outbox.hold(bytes as usize);
        let mut engine = self.core.engine();
        let (len, offset) = engine.extent_of_read(at, bytes);
        self.pages.resize(len);
        let begun = match self.core.is_ending() {
            true => Err(Refused::Shutdown),
            false => engine.begin_read(at, bytes, &mut self.pages),
        };
        self.core.look_after(&engine);
        drop(engine);
        let result = match begun {
            Ok(Some(read)) => {
                let (outbox, cookie) = (Arc::clone(&self.outbox), header.cookie);
                let asked = Asked { outbox, cookie, at, bytes, offset, began };
                let pages = std::mem::take(&mut self.pages);
                let Some((result, pages)) = read_beside(self.core, UnderWay { read, pages, asked })
                else {
                    return Ok(true);
                };
                self.pages = pages;
                result
            }
            Ok(None) => Ok(()),
            Err(refused) => Err(refused),
        };
        self.core.add_time(Timed::Read, began);
        if result.is_err() {
            self.core.tell_notes();
        }
        let data = result.map(|()| &self.pages[offset..offset + bytes as usize]);
        let waiting = self.outbox.add_read(header.cookie, at, bytes, data);
        self.shrink();
        self.added(waiting)
    }

    fn block_status(&mut self, header: Header, at: u64, bytes: u32, one: bool) -> io::Result<bool> {
        let engine = self.core.engine();
        let contexts: Vec<_> = self
            .agreed
            .contexts
            .iter()
            .map(|&(number, kind)| (number, engine.block_status(at, bytes, kind, one)))
            .collect();
        drop(engine);
        let replies = self.replies;
        let waiting = self.outbox.add(|into| replies.block_status(header.cookie, &contexts, into));
        self.added(waiting)
    }

    fn change(&mut self, header: Header, command: Command, began: Instant) -> io::Result<bool> {
        let timed = match command {
            Command::Write { .. } => Timed::Write,
            Command::Flush => Timed::Flush,
            _ => Timed::Trim,
        };
        let mut engine = self.core.engine();
        let result = match self.core.is_ending() {
            true => Err(Refused::Shutdown),
            false => self.carry_out(&mut engine, command),
        };
        if let Ok(Outcome::WhenDurable(goal)) = result {
            // While the engine is held: a server that ends waits for all that have entered.
            self.outbox.owe();
            let front_end = Arc::clone(&self.outbox) as _;
            let waiting = Waiting { goal, front_end, cookie: header.cookie, timed, began };
            self.core.answer_when_durable(waiting, &engine);
        } else {
            self.core.look_after(&engine);
        }
        drop(engine);
        match result {
            Err(refused) => {
                self.core.tell_notes();
                self.refuse(header, refused)
            }
            Ok(Outcome::Done) => {
                self.core.add_time(timed, began);
                let replies = self.replies;
                let waiting = self.outbox.add(|into| replies.simple(header.cookie, Ok(()), into));
                self.added(waiting)
            }
            Ok(Outcome::WhenDurable(_)) => Ok(true),
        }
    }

    fn carry_out(&self, engine: &mut FileEngine, command: Command) -> Result<Outcome, Refused> {
        let goal = match command {
            Command::Write { at, bytes, fua } => {
                engine.write(at, &self.payload[..bytes as usize], fua)?
            }
            Command::Trim { at, bytes, fua } => engine.trim(at, bytes.into(), fua)?,
            Command::WriteZeroes { at, bytes, fua, no_hole } => {
                engine.write_zeroes(at, bytes.into(), fua, no_hole)?
            }
            Command::Flush => Some(engine.flush()?),
            Command::Read { .. } | Command::BlockStatus { .. } | Command::Disconnect => None,
        };
        let goal = goal
            .filter(|&goal| !matches!(engine.store().next(goal), Ok(crate::store::Next::Reached)));
        Ok(goal.map_or(Outcome::Done, Outcome::WhenDurable))
    }
}
