//! Answers on their way to a client. Whoever answers never waits for the client: only the connection's own threads do.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::net::{SendFlags, send};

use super::core::FrontEnd;
use super::payloads::Payloads;
use crate::Refused;
use crate::protocol::reply::Replies;

/// The most bytes of one client's reads that are under way, or answered and not written; one read may have more.
const LIMIT_HELD: usize = 4 << 20;

/// The answers of one connection.
pub(super) struct Outbox {
    socket: UnixStream,
    replies: Replies,
    payloads: Arc<Payloads>,
    /// Held while answers are written, so that they follow each other.
    writing: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// Requests that others will answer.
    outstanding: usize,
    is_closed: bool,
    /// Those who wait for what is owed, or for room.
    waiting: usize,
    /// Bytes of the budget for payloads: of all reads that are not answered, and of those whose answers wait here.
    held: usize,
    ready: usize,
    /// The writing thread is to write.
    is_due: bool,
}

impl Outbox {
    pub(super) fn new(socket: UnixStream, replies: Replies, payloads: Arc<Payloads>) -> Self {
        Outbox {
            socket,
            replies,
            payloads,
            writing: Mutex::new(()),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer, to be written with the next [`flush`](Self::flush); how many bytes wait now.
    pub(super) fn add(&self, answer: impl FnOnce(&mut Vec<u8>)) -> usize {
        let mut state = self.state();
        answer(&mut state.bytes);
        state.bytes.len()
    }

    /// Adds the answer of a read that was [held](Self::hold); how many bytes wait now.
    pub(super) fn add_read(
        &self,
        cookie: u64,
        at: u64,
        bytes: u32,
        data: Result<&[u8], Refused>,
    ) -> usize {
        let mut state = self.state();
        state.ready += bytes as usize;
        match data {
            Ok(data) => self.replies.data(cookie, at, data, &mut state.bytes),
            Err(refused) => self.replies.refused(cookie, refused, &mut state.bytes),
        }
        state.bytes.len()
    }

    /// Waits until the reads that are not answered leave room for `bytes` bytes.
    pub(super) fn wait_for_room(&self, bytes: usize) -> io::Result<()> {
        let is_full = |state: &State| state.held > 0 && state.held + bytes > LIMIT_HELD;
        while is_full(&self.state()) {
            self.flush()?;
            let mut state = self.state();
            // Others read, and write their answers.
            state.waiting += 1;
            while is_full(&state) && state.ready == 0 {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.waiting -= 1;
        }
        Ok(())
    }

    /// A read has room in the budget for payloads, until its answer is written.
    pub(super) fn hold(&self, bytes: usize) {
        self.state().held += bytes;
    }

    /// Answers are written.
    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.payloads.give_back(bytes);
            let mut state = self.state();
            state.held -= bytes;
            if state.waiting > 0 {
                self.changed.notify_all();
            }
        }
    }

    /// Adds the answer of a read that was owed.
    pub(super) fn answer_read(
        &self,
        cookie: u64,
        at: u64,
        bytes: u32,
        data: Result<&[u8], Refused>,
    ) {
        self.add_read(cookie, at, bytes, data);
        self.owe_no_more();
    }

    /// Somebody else will answer a request.
    pub(super) fn owe(&self) {
        self.state().outstanding += 1;
    }

    /// Counts an outstanding answer as sent or cancelled.
    pub(super) fn owe_no_more(&self) {
        let mut state = self.state();
        state.outstanding -= 1;
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Writes what waits.
    pub(super) fn flush(&self) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let (bytes, ready) = (std::mem::take(&mut state.bytes), std::mem::take(&mut state.ready));
        drop(state);
        if bytes.is_empty() {
            return Ok(());
        }
        let written = (&self.socket).write_all(&bytes);
        self.give_back(ready);
        let mut state = self.state();
        if state.bytes.capacity() == 0 && bytes.capacity() <= 1 << 20 {
            // The memory is used again.
            state.bytes = bytes;
            state.bytes.clear();
        }
        written
    }

    /// Writes what the socket takes without waiting; whether that was all. The caller holds `writing`.
    fn write_at_once(&self) -> bool {
        let mut state = self.state();
        let (mut bytes, ready) =
            (std::mem::take(&mut state.bytes), std::mem::take(&mut state.ready));
        drop(state);
        let sent = match bytes.is_empty() {
            true => 0,
            false => {
                send(&self.socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0)
            }
        };
        let mut state = self.state();
        // An error is found again by the thread that waits for the socket.
        bytes.drain(..sent);
        let is_written = bytes.is_empty();
        bytes.append(&mut state.bytes);
        state.bytes = bytes;
        if !is_written {
            state.ready += ready;
            return false;
        }
        let is_empty = state.bytes.is_empty();
        drop(state);
        self.give_back(ready);
        is_empty
    }

    /// Writes what the socket takes at once, and leaves the rest to the connection's thread.
    pub(super) fn deliver_answers(&self) {
        let is_written = match self.writing.try_lock() {
            Ok(_writing) => self.write_at_once(),
            // Whoever writes may have taken what it writes before.
            Err(_) => false,
        };
        if !is_written {
            self.state().is_due = true;
            self.changed.notify_all();
        }
    }
    /// Writes answers that others give, until the connection is closed.
    pub(super) fn write_paid(&self) {
        loop {
            let mut state = self.state();
            while !state.is_due && !state.is_closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.is_due {
                return;
            }
            state.is_due = false;
            drop(state);
            if self.flush().is_err() {
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
            }
        }
    }

    /// Waits for what is owed, writes it, and ends [`write_paid`](Self::write_paid).
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.waiting += 1;
        while state.outstanding > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        state.is_closed = true;
        self.changed.notify_all();
        drop(state);
        let _ = self.flush();
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

impl FrontEnd for Outbox {
    /// Adds an answer that was owed, and has the connection's thread write it.
    fn answer(&self, cookie: u64, result: Result<(), Refused>) {
        let mut state = self.state();
        self.replies.simple(cookie, result, &mut state.bytes);
        drop(state);
        self.owe_no_more();
    }

    fn deliver(&self) {
        self.deliver_answers();
    }
}
