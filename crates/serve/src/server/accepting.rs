//! The thread that accepts clients.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection;
use super::core::Core;
use super::sockets::Listener;
use super::tls::Tls;
use crate::protocol::negotiation::Offer;

/// The sockets of the clients, by number.
pub(super) type Sockets = Arc<Mutex<HashMap<u64, UnixStream>>>;

/// The thread that accepts clients.
pub(super) struct Accepting {
    pub(super) core: Arc<Core>,
    pub(super) listener: Arc<Listener>,
    pub(super) stop: Arc<OwnedFd>,
    pub(super) sockets: Sockets,
    pub(super) most: u32,
    pub(super) offer: Offer,
    pub(super) tls: Option<Tls>,
}

impl Accepting {
    pub(super) fn run(self) {
        let mut number = 0;
        loop {
            let mut polled = [
                PollFd::from_borrowed_fd(self.listener.fd.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
            ];
            let _ = poll(&mut polled, None::<&Timespec>);
            if self.core.is_ending() {
                return;
            }
            match self.listener.accept() {
                Ok(Some(socket)) => {
                    number += 1;
                    self.admit(number, socket);
                }
                // Whoever may not connect is closed without a word.
                Ok(None) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // Out of descriptors: others have to go first.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn admit(&self, number: u64, socket: UnixStream) {
        let core = &self.core;
        if core.open_connections.load(Ordering::SeqCst) >= u64::from(self.most) {
            return;
        }
        let Ok(again) = socket.try_clone() else { return };
        let _ = socket.set_nonblocking(false);
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).insert(number, again);
        core.open_connections.fetch_add(1, Ordering::SeqCst);
        core.connections.fetch_add(1, Ordering::Relaxed);
        let (shared, sockets) = (Arc::clone(core), Arc::clone(&self.sockets));
        let (offer, tls) = (self.offer.clone(), self.tls.clone());
        let open = Arc::clone(&core.open_connections);
        let body = move || {
            connection::serve(&shared, socket, &offer, tls.as_ref());
            sockets.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            // Whoever waits for the last connection wants the files closed.
            drop(shared);
            open.fetch_sub(1, Ordering::SeqCst);
        };
        let spawned = std::thread::Builder::new().name("serve-client".to_owned()).spawn(body);
        if spawned.is_err() {
            self.sockets.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            core.open_connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
