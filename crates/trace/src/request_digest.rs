//! The digest of requests that are not in a file.

use sha2::{Digest, Sha256};

use crate::request::{Op, Request};

/// Bytes that are hashed at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// SHA-256 of an encoding of requests, so that equal requests have equal digests everywhere.
///
/// The encoding is the bytes `clockhand requests 1
/// ` and one byte, 1 when requests have times and 0 otherwise. Then follow for each request `R` or
/// `W`, the address (8 bytes), the size (4 bytes), the stream (4 bytes) and the time, if it has one
/// (8 bytes). Numbers are little-endian.
#[derive(Clone, Debug)]
pub(crate) struct RequestDigest {
    hasher: Sha256,
    /// The encoding of requests that are not hashed yet.
    pending: Vec<u8>,
}

impl RequestDigest {
    pub(crate) fn new(has_times: bool) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(b"clockhand requests 1\n");
        hasher.update([u8::from(has_times)]);
        Self { hasher, pending: Vec::with_capacity(CHUNK_BYTES) }
    }

    #[inline]
    pub(crate) fn push(&mut self, request: &Request) {
        let mut encoding = [0; 25];
        encoding[0] = if request.op == Op::Write { b'W' } else { b'R' };
        encoding[1..9].copy_from_slice(&request.address.to_le_bytes());
        encoding[9..13].copy_from_slice(&request.bytes.to_le_bytes());
        encoding[13..17].copy_from_slice(&request.stream.to_le_bytes());
        let mut length = 17;
        if let Some(time_ns) = request.time_ns {
            encoding[17..].copy_from_slice(&time_ns.to_le_bytes());
            length = encoding.len();
        }
        if self.pending.len() + length > CHUNK_BYTES {
            self.hasher.update(&self.pending);
            self.pending.clear();
        }
        self.pending.extend_from_slice(&encoding[..length]);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.hasher.chain_update(&self.pending).finalize().into()
    }
}
