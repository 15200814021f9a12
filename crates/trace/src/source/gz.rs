//! Data in gz, and what may stand behind it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of a member.
const MEMBER: u8 = 0x1f;

/// Decompresses members one after the other, and passes over what follows them and is none, as gzip does: zeros that fill
/// up a block of a tape, or text.
pub(crate) struct GzMembers<R> {
    member: GzDecoder<R>,
    /// Bytes behind the last member that are not zeros.
    trailing_bytes: u64,
    has_ended: bool,
}

impl<R: BufRead + Default> GzMembers<R> {
    pub(crate) fn new(stored: R) -> Self {
        Self { member: GzDecoder::new(stored), trailing_bytes: 0, has_ended: false }
    }

    pub(crate) fn get_ref(&self) -> &R {
        self.member.get_ref()
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        self.member.get_mut()
    }

    /// Bytes behind the data that are neither data nor zeros.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.trailing_bytes
    }

    /// Goes on with the next member; false if there is none.
    fn next_member(&mut self) -> io::Result<bool> {
        if self.get_mut().fill_buf()?.first() == Some(&MEMBER) {
            let member = std::mem::replace(&mut self.member, GzDecoder::new(R::default()));
            self.member = GzDecoder::new(member.into_inner());
            return Ok(true);
        }
        self.has_ended = true;
        loop {
            let stored = self.get_mut();
            let rest = stored.fill_buf()?;
            let (length, others) = (rest.len(), rest.iter().filter(|&&byte| byte != 0).count());
            if length == 0 {
                return Ok(false);
            }
            stored.consume(length);
            self.trailing_bytes += others as u64;
        }
    }
}

impl<R: BufRead + Default> Read for GzMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended && !into.is_empty() {
            let count = self.member.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}
