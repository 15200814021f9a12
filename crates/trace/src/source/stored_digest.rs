//! The SHA-256 of the stored bytes, computed beside the reading.
//!
//! Hashing takes as long as half of reading a binary trace. So once a file is longer than a few buffers a thread of its
//! own hashes copies of them. A digest that no report shows is not computed.

use std::fs::File;
use std::io::Read;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};

use crate::TraceError;

/// Shorter files are not worth a thread.
const BYTES_WITHOUT_THREAD: u64 = 1024 * 1024;
/// The number of buffers that may wait to be hashed.
const BUFFERS_AHEAD: usize = 4;

/// Bytes that are read at once of a file that is only hashed.
const HASHED_AT_ONCE: usize = 1024 * 1024;

/// The digest of a file's stored bytes, as 64 hexadecimal digits.
///
/// # Errors
///
/// The file cannot be read.
pub fn file_sha256_hex(path: &Path) -> Result<String, TraceError> {
    let failed = |doing, byte, source| {
        let file = path.display().to_string();
        TraceError::Io { file, doing, byte, source }
    };
    let mut file = File::open(path).map_err(|error| failed("opening", 0, error))?;
    let (mut digest, mut buffer) = (StoredDigest::new(), vec![0; HASHED_AT_ONCE]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&digest.finish().expect("it was not stopped"))),
            Ok(length) => digest.update(&buffer[..length]),
            Err(error) => return Err(failed("reading", digest.bytes, error)),
        }
    }
}

/// A digest as 64 hexadecimal digits.
pub(crate) fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes the stored bytes in order and gives their digest.
pub(crate) struct StoredDigest {
    hashing: Hashing,
    bytes: u64,
}

enum Hashing {
    Off,
    Here(Box<Sha256>),
    Beside(Worker),
}

/// A thread that hashes.
struct Worker {
    full: SyncSender<Vec<u8>>,
    /// Buffers that were hashed, to be filled again.
    emptied: Receiver<Vec<u8>>,
    thread: JoinHandle<Sha256>,
}

impl StoredDigest {
    pub(crate) fn new() -> Self {
        Self { hashing: Hashing::Here(Box::default()), bytes: 0 }
    }

    /// Hashes nothing from here on, and gives no digest.
    pub(crate) fn stop(&mut self) {
        self.hashing = Hashing::Off;
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        match &mut self.hashing {
            Hashing::Off => {}
            Hashing::Here(hasher) => {
                hasher.update(bytes);
                if self.bytes > BYTES_WITHOUT_THREAD
                    && let Some(worker) = Worker::start(hasher)
                {
                    self.hashing = Hashing::Beside(worker);
                }
            }
            Hashing::Beside(worker) => worker.hash(bytes),
        }
    }

    /// The digest of all bytes so far, unless it was [stopped](Self::stop).
    pub(crate) fn finish(&mut self) -> Option<[u8; 32]> {
        let hasher = match std::mem::replace(&mut self.hashing, Hashing::Off) {
            Hashing::Off => return None,
            Hashing::Here(hasher) => hasher,
            Hashing::Beside(worker) => Box::new(worker.finish()),
        };
        self.hashing = Hashing::Here(hasher.clone());
        Some(hasher.finalize().into())
    }
}

impl Worker {
    /// A thread that goes on where `hasher` is; none where the system gives no thread.
    fn start(hasher: &Sha256) -> Option<Self> {
        let (full, to_hash) = mpsc::sync_channel::<Vec<u8>>(BUFFERS_AHEAD);
        let (hashed, emptied) = mpsc::channel();
        let mut hasher = hasher.clone();
        let work = move || {
            for buffer in to_hash {
                hasher.update(&buffer);
                // The receiver is gone when the trace is dropped before its end.
                _ = hashed.send(buffer);
            }
            hasher
        };
        let thread = thread::Builder::new().name("digest".to_owned()).spawn(work).ok()?;
        Some(Self { full, emptied, thread })
    }

    fn hash(&self, bytes: &[u8]) {
        let mut buffer = self.emptied.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        // The thread ends before this end of the channel only by a panic, which `finish` passes on.
        _ = self.full.send(buffer);
    }

    fn finish(self) -> Sha256 {
        drop(self.full);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_all_bytes_with_and_without_a_thread() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|index| ((index * 7) >> 3) as u8).collect();
        for length in [0, 1000, 1024 * 1024, 1024 * 1024 + 1, bytes.len()] {
            let mut digest = StoredDigest::new();
            bytes[..length].chunks(100_003).for_each(|part| digest.update(part));
            let expected: [u8; 32] = Sha256::digest(&bytes[..length]).into();
            assert_eq!(digest.finish(), Some(expected));
            assert_eq!(digest.finish(), Some(expected), "asked twice");
            digest.stop();
            assert_eq!(digest.finish(), None);
        }
    }
}
