//! The messages of NBD, fixed newstyle, without I/O: bytes in, values out, and the other way.
//!
//! Names are those of `doc/proto.md` of the NetworkBlockDevice project.

pub mod negotiation;
pub mod reply;
pub mod request;

/// The most bytes that a READ or a WRITE may have.
pub const LIMIT_PAYLOAD_BYTES: u32 = 32 << 20;
/// The most bytes of an option's data.
pub const LIMIT_OPTION_BYTES: u32 = 65_536;
/// The most bytes of a name.
pub const LIMIT_NAME_BYTES: usize = 4096;
/// The most options of a handshake.
pub const LIMIT_OPTIONS: u32 = 256;

/// Takes numbers and strings from the front of bytes.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes(bytes.try_into().expect("two bytes")))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_be_bytes(bytes.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// A string behind its length.
    fn string(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u32()? as usize;
        if bytes > LIMIT_NAME_BYTES { None } else { self.take(bytes) }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
