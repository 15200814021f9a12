//! A server as clients see it, through its socket.

mod client;
mod crashes;
mod cuts;
mod drive;
mod extents;
mod files;
mod handshake;
mod misuse;
mod requests;
