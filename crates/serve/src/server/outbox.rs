//! Answers on their way to a client. Whoever answers never waits for the client: only the connection's own threads do.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::net::{SendFlags, send};

use super::core::FrontEnd;
use crate::Refused;
use crate::protocol::reply::Replies;

/// The answers of one connection.
pub(super) struct Outbox {
    socket: UnixStream,
    replies: Replies,
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
    /// The writing thread is to write.
    is_due: bool,
}

impl Outbox {
    pub(super) fn new(socket: UnixStream, replies: Replies) -> Self {
        Outbox {
            socket,
            replies,
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

    /// Somebody else will answer a request.
    pub(super) fn owe(&self) {
        self.state().outstanding += 1;
    }

    /// Writes what waits.
    pub(super) fn flush(&self) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = std::mem::take(&mut self.state().bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        let written = (&self.socket).write_all(&bytes);
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
        let mut bytes = std::mem::take(&mut self.state().bytes);
        let sent = match bytes.is_empty() {
            true => 0,
            false => {
                send(&self.socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0)
            }
        };
        let mut state = self.state();
        // An error is found again by the thread that waits for the socket.
        bytes.drain(..sent);
        bytes.append(&mut state.bytes);
        state.bytes = bytes;
        state.bytes.is_empty()
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
        while state.outstanding > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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
        state.outstanding -= 1;
        if state.outstanding == 0 {
            self.changed.notify_all();
        }
    }

    /// Writes what the socket takes at once, and leaves the rest to the connection's thread.
    fn deliver(&self) {
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
}
