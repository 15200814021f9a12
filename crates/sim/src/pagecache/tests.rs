//! The driver from inside, event by event: golden vectors and the slow twin.

mod golden;
mod kernels;
mod recorder;
mod requests;
mod twin;
