//! Requests of the transmission phase.

use super::{Input, LIMIT_PAYLOAD_BYTES};
use crate::Refused;

/// Bytes of a request's header.
pub const HEADER_BYTES: usize = 28;
const MAGIC: u32 = 0x2560_9513;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const DF: u16 = 4;
const REQ_ONE: u16 = 8;

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    flags: u16,
    command: u16,
    /// What the answer carries, so that the client knows to what it belongs.
    pub cookie: u64,
    at: u64,
    bytes: u32,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are where, how much, and the flags of NBD")]
pub enum Command {
    /// To read.
    Read { at: u64, bytes: u32 },
    /// To write the payload that follows.
    Write { at: u64, bytes: u32, fua: bool },
    /// To end the connection.
    Disconnect,
    /// To make durable what was answered.
    Flush,
    /// To forget a range.
    Trim { at: u64, bytes: u32, fua: bool },
    /// To make a range read as zeros.
    WriteZeroes { at: u64, bytes: u32, fua: bool, no_hole: bool },
    /// To say what a range is.
    BlockStatus { at: u64, bytes: u32, one: bool },
}

/// Why a connection is closed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The bytes are not a request.
    Magic,
    /// A WRITE has more bytes than are taken.
    Payload,
}

/// What an export allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Bytes.
    pub bytes: u64,
    /// True if it can only be read.
    pub is_read_only: bool,
    /// True if the client negotiated contexts for BLOCK_STATUS.
    pub has_contexts: bool,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    ///
    /// It is none, or its payload is too long to be skipped.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Broken> {
        let mut input = Input(bytes);
        let mut next = || {
            let magic = input.u32()?;
            let (flags, command) = (input.u16()?, input.u16()?);
            let (cookie, at, bytes) = (input.u64()?, input.u64()?, input.u32()?);
            (magic == MAGIC).then_some(Header { flags, command, cookie, at, bytes })
        };
        let header = next().ok_or(Broken::Magic)?;
        match header.payload_bytes() > LIMIT_PAYLOAD_BYTES {
            true => Err(Broken::Payload),
            false => Ok(header),
        }
    }

    /// Bytes that follow the header.
    pub fn payload_bytes(&self) -> u32 {
        if self.command == 1 { self.bytes } else { 0 }
    }

    /// Returns whether it is a READ, which is answered in its own form.
    pub fn is_read(&self) -> bool {
        self.command == 0
    }

    /// Returns whether it is a BLOCK_STATUS, which is answered in its own form.
    pub fn is_block_status(&self) -> bool {
        self.command == 7
    }

    /// The command, if it makes sense.
    ///
    /// # Errors
    ///
    /// The error for the client.
    pub fn command(&self, export: Export) -> Result<Command, Refused> {
        let &Header { flags, at, bytes, .. } = self;
        let fua = flags & FUA != 0;
        let (command, own_flags) = match self.command {
            0 => (Command::Read { at, bytes }, DF),
            1 => (Command::Write { at, bytes, fua }, 0),
            2 => return Ok(Command::Disconnect),
            3 => (Command::Flush, 0),
            4 => (Command::Trim { at, bytes, fua }, 0),
            6 => {
                let no_hole = flags & NO_HOLE != 0;
                (Command::WriteZeroes { at, bytes, fua, no_hole }, NO_HOLE)
            }
            7 if export.has_contexts => {
                let one = flags & REQ_ONE != 0;
                (Command::BlockStatus { at, bytes, one }, REQ_ONE)
            }
            _ => return Err(Refused::Invalid),
        };
        if flags & !(FUA | own_flags) != 0 {
            return Err(Refused::Invalid);
        }
        if command == Command::Flush {
            return Ok(command);
        }
        if bytes == 0 {
            return Err(Refused::Invalid);
        }
        let writes = matches!(
            command,
            Command::Write { .. } | Command::Trim { .. } | Command::WriteZeroes { .. }
        );
        if writes && export.is_read_only {
            return Err(Refused::Permission);
        }
        let is_inside = at.checked_add(bytes.into()).is_some_and(|end| end <= export.bytes);
        match command {
            Command::Read { .. } if bytes > LIMIT_PAYLOAD_BYTES => Err(Refused::Invalid),
            _ if is_inside => Ok(command),
            Command::Write { .. } | Command::WriteZeroes { .. } => Err(Refused::Space),
            _ => Err(Refused::Invalid),
        }
    }
}
