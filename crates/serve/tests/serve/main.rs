//! A server as clients see it, through its socket.

mod client;
mod crashes;
mod files;
mod handshake;
mod requests;
