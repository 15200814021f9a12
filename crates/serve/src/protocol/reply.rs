//! Answers of the transmission phase.

use super::LIMIT_PAYLOAD_BYTES;
use crate::{Extent, Refused};

const SIMPLE_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_MAGIC: u32 = 0x668e_33ef;
const DONE: u16 = 1;
const OFFSET_DATA: u16 = 1;
const BLOCK_STATUS: u16 = 5;
const ERROR: u16 = 32_769;

/// Appends answers in the form that the client negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replies {
    /// True if the client takes structured replies.
    pub structured: bool,
}

impl Replies {
    /// A request without data was carried out, or refused.
    pub fn simple(self, cookie: u64, result: Result<(), Refused>, into: &mut Vec<u8>) {
        let errno = result.map_or_else(|refused| refused as u32, |()| 0);
        into.extend_from_slice(&SIMPLE_MAGIC.to_be_bytes());
        into.extend_from_slice(&errno.to_be_bytes());
        into.extend_from_slice(&cookie.to_be_bytes());
    }

    /// What was read at `at`.
    pub fn data(self, cookie: u64, at: u64, data: &[u8], into: &mut Vec<u8>) {
        debug_assert!(data.len() <= LIMIT_PAYLOAD_BYTES as usize);
        match self.structured {
            false => self.simple(cookie, Ok(()), into),
            true => {
                chunk(DONE, OFFSET_DATA, cookie, data.len() + 8, into);
                into.extend_from_slice(&at.to_be_bytes());
            }
        }
        into.extend_from_slice(data);
    }

    /// A request for data was refused.
    pub fn refused(self, cookie: u64, refused: Refused, into: &mut Vec<u8>) {
        if !self.structured {
            return self.simple(cookie, Err(refused), into);
        }
        chunk(DONE, ERROR, cookie, 6, into);
        into.extend_from_slice(&(refused as u32).to_be_bytes());
        into.extend_from_slice(&0_u16.to_be_bytes());
    }

    /// The status of a range in each negotiated context.
    pub fn block_status(self, cookie: u64, contexts: &[(u32, Vec<Extent>)], into: &mut Vec<u8>) {
        for (index, (context, extents)) in contexts.iter().enumerate() {
            let flags = if index + 1 == contexts.len() { DONE } else { 0 };
            chunk(flags, BLOCK_STATUS, cookie, 4 + 8 * extents.len(), into);
            into.extend_from_slice(&context.to_be_bytes());
            for extent in extents {
                into.extend_from_slice(&extent.bytes.to_be_bytes());
                into.extend_from_slice(&extent.flags.to_be_bytes());
            }
        }
    }
}

fn chunk(flags: u16, kind: u16, cookie: u64, bytes: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(&STRUCTURED_MAGIC.to_be_bytes());
    into.extend_from_slice(&flags.to_be_bytes());
    into.extend_from_slice(&kind.to_be_bytes());
    into.extend_from_slice(&cookie.to_be_bytes());
    into.extend_from_slice(&(bytes as u32).to_be_bytes());
}
