//! From the units of block traces to bytes and stream numbers.

use crate::decode::output::{Fault, Output};
use crate::request::{Op, Request};
use crate::write::target::Entry;

/// The unit in which block traces count, whatever the sectors of the device are.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// First byte and number of bytes of a request given in sectors of 512 bytes.
#[inline]
pub(crate) fn sector_range(first_sector: u64, sectors: u64) -> Result<(u64, u64), Fault> {
    let address = first_sector
        .checked_mul(SECTOR_BYTES)
        .ok_or("begins past the end of the 64-bit address space")?;
    Ok((address, sectors.saturating_mul(SECTOR_BYTES)))
}

/// The same of a range that is not transferred, which may be longer than any request.
pub(crate) fn long_sector_range(first_sector: u64, sectors: u64) -> Result<(u64, u64), Fault> {
    let past_the_end = "runs past the end of the 64-bit address space";
    let end = first_sector.checked_add(sectors).and_then(|end| end.checked_mul(SECTOR_BYTES));
    end.ok_or(past_the_end)?;
    Ok((first_sector * SECTOR_BYTES, sectors * SECTOR_BYTES))
}

/// First sector and number of sectors of an entry that consists of whole ones.
pub(crate) fn sectors(entry: &Entry) -> (u64, u64) {
    (entry.address / SECTOR_BYTES, u64::from(entry.bytes) / SECTOR_BYTES)
}

/// The stream of a device or volume that has a number.
#[inline]
pub(crate) fn stream(device: u64) -> Result<u32, Fault> {
    Ok(u32::try_from(device).map_err(|_| "has a device number above 4294967295")?)
}

/// Takes a request of a numbered device: its first sector of 512 bytes, and how many.
#[inline]
pub(crate) fn request(
    output: &mut Output,
    op: Op,
    device: u64,
    [first_sector, sectors]: [u64; 2],
    time_ns: u64,
) -> Result<(), Fault> {
    let (address, size_bytes) = sector_range(first_sector, sectors)?;
    let request = Request::new(op, address, 0).in_stream(stream(device)?).at(time_ns);
    output.request_of(size_bytes, request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_become_bytes_and_never_wrap() {
        assert_eq!(sector_range(3, 8).unwrap(), (1536, 4096));
        assert!(sector_range(u64::MAX / 512 + 1, 1).is_err());
        assert_eq!(sector_range(0, u64::MAX).unwrap(), (0, u64::MAX));
        assert_eq!(long_sector_range(3, 1 << 24).unwrap(), (1536, 1 << 33));
        assert!(long_sector_range(u64::MAX / 512, 1).is_err());
        assert!(long_sector_range(u64::MAX, 1).is_err());
    }
}
