//! Limits that take too long, or too much memory, to be met from outside.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::connection::negotiate;
use super::payloads::Payloads;
use crate::protocol::negotiation::Offer;

fn offer() -> Offer {
    let export = "disk".to_owned();
    Offer { export, bytes: 1 << 20, page_bytes: 4096, is_read_only: false, needs_tls: false }
}

#[test]
fn a_handshake_that_takes_too_long_is_ended_whatever_trickles_in() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let trickles = std::thread::spawn(move || {
        let bytes = [&3_u32.to_be_bytes()[..], b"IHAVEOPT\0\0\0\x03\0\0\0\0"].concat();
        for byte in bytes.iter().cycle() {
            if over.load(Ordering::SeqCst) || theirs.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let began = Instant::now();
    let ended = negotiate(ours, &offer(), None, began + Duration::from_millis(60));
    let kind = ended.map(drop).unwrap_err().kind();
    assert!([io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&kind), "{kind}");
    assert!(began.elapsed() < Duration::from_secs(5));
    is_over.store(true, Ordering::SeqCst);
    trickles.join().unwrap();
}

#[test]
fn payloads_beyond_128_mib_wait_until_others_are_written() {
    let payloads = Arc::new(Payloads::default());
    for _ in 0..4 {
        assert!(payloads.try_take(32 << 20));
    }
    assert!(!payloads.try_take(1));
    let (shared, entered) = (Arc::clone(&payloads), Arc::new(AtomicBool::new(false)));
    let has_entered = Arc::clone(&entered);
    let waits = std::thread::spawn(move || {
        shared.take(32 << 20);
        has_entered.store(true, Ordering::SeqCst);
    });
    std::thread::sleep(Duration::from_millis(20));
    assert!(!entered.load(Ordering::SeqCst), "its socket is not read");
    payloads.give_back(32 << 20);
    waits.join().unwrap();
    assert!(entered.load(Ordering::SeqCst));
}
