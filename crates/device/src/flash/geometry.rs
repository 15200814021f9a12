//! Where the pages are.

use std::fmt;

use super::error::FlashError;

/// A page as the host numbers it, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalPage(pub u32);

/// A page of the flash memory: block × pages per block + page within the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalPage(pub u32);

/// An erase block, numbered from 0 through all planes, dies and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u32);

/// A page of the map from logical to physical pages, which the drive itself keeps on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TranslationPage(pub u32);

/// No page; one more than the highest number that a page can have.
pub(super) const NO_PAGE: u32 = u32::MAX;

/// The amount of flash and its division.
///
/// Blocks are numbered plane by plane, die by die, channel by channel, so that the blocks of one die are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Buses to the flash chips.
    pub channels: u32,
    /// Dies on each channel; a die works on its own.
    pub dies_per_channel: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Erase blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in an erase block.
    pub pages_per_block: u32,
    /// Bytes in a page.
    pub page_bytes: u32,
}

impl fmt::Display for Geometry {
    /// Its parts, from channels to bytes: `8 channels × 2 dies × 1 plane × 512 blocks × 256 pages × 4096 bytes`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.channels, "channel"),
            (self.dies_per_channel, "die"),
            (self.planes_per_die, "plane"),
            (self.blocks_per_plane, "block"),
            (self.pages_per_block, "page"),
            (self.page_bytes, "byte"),
        ];
        for (place, (number, unit)) in parts.into_iter().enumerate() {
            let times = if place == 0 { "" } else { " × " };
            let plural = if number == 1 { "" } else { "s" };
            write!(out, "{times}{number} {unit}{plural}")?;
        }
        Ok(())
    }
}

impl Geometry {
    /// A single plane of `blocks` blocks.
    pub const fn one_pool(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Geometry {
        Geometry {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_bytes,
        }
    }

    /// Dies of all channels: what pages are striped over.
    pub fn dies(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.dies_per_channel)
    }

    /// Planes of all dies.
    pub fn planes(&self) -> u64 {
        self.dies().saturating_mul(self.planes_per_die.into())
    }

    /// Erase blocks of all planes.
    pub fn blocks(&self) -> u64 {
        self.planes().saturating_mul(self.blocks_per_plane.into())
    }

    /// Pages of all blocks: the raw capacity.
    pub fn raw_pages(&self) -> u64 {
        self.blocks().saturating_mul(self.pages_per_block.into())
    }

    /// Bytes of all pages: the raw capacity.
    pub fn raw_bytes(&self) -> u64 {
        self.raw_pages().saturating_mul(self.page_bytes.into())
    }

    /// The most pages that a block may have: their count is kept in 16 bits.
    pub const PAGES_PER_BLOCK_MAX: u32 = u16::MAX as u32;

    /// The most pages that a drive may have: page numbers are kept in 32 bits, and one of them means "no page".
    pub const RAW_PAGES_MAX: u64 = NO_PAGE as u64;

    /// Checks that every part exists and that page numbers fit.
    pub(super) fn check(&self) -> Result<(), FlashError> {
        let parts = [
            ("channels", self.channels),
            ("dies_per_channel", self.dies_per_channel),
            ("planes_per_die", self.planes_per_die),
            ("blocks_per_plane", self.blocks_per_plane),
            ("pages_per_block", self.pages_per_block),
            ("page_bytes", self.page_bytes),
        ];
        if let Some((part, _)) = parts.into_iter().find(|(_, count)| *count == 0) {
            return Err(FlashError::EmptyGeometry { part });
        }
        if self.pages_per_block > Self::PAGES_PER_BLOCK_MAX {
            return Err(FlashError::LargeBlock { pages_per_block: self.pages_per_block });
        }
        if self.raw_pages() > Self::RAW_PAGES_MAX {
            return Err(FlashError::LargeDrive { raw_pages: self.raw_pages() });
        }
        Ok(())
    }
}

/// Divides by a number that is known only when the program runs, without a division.
///
/// D. Lemire, O. Kaser, N. Kurz: Faster remainder by direct computation. Software: Practice and Experience, 2019: with
/// the inverse rounded up to 64 bits the quotient is exact for every 32-bit dividend and divisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    inverse: u64,
    divisor: u32,
}

impl Divisor {
    /// `divisor` is not 0.
    pub(super) fn new(divisor: u32) -> Divisor {
        assert!(divisor > 0, "nothing can be divided by 0");
        // For 1 the rounded-up inverse is 2^64, one too many for 64 bits: 0 stands for it.
        Divisor { inverse: (u64::MAX / u64::from(divisor)).wrapping_add(1), divisor }
    }

    /// Quotient and remainder.
    #[inline]
    pub(super) fn divide(self, dividend: u32) -> (u32, u32) {
        if self.inverse == 0 {
            return (dividend, 0);
        }
        let quotient = ((u128::from(self.inverse) * u128::from(dividend)) >> 64) as u32;
        (quotient, dividend - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_gives_quotient_and_remainder() {
        let dividends = [0, 1, 2, 63, 64, 65, 1151, 1152, 1153, u32::MAX - 1, u32::MAX];
        for divisor in [1, 2, 3, 7, 64, 1152, 65535, 65536, u32::MAX - 1, u32::MAX] {
            for dividend in dividends.into_iter().flat_map(|dividend: u32| {
                let multiple = dividend.wrapping_mul(divisor);
                [dividend, multiple, multiple.wrapping_sub(1)]
            }) {
                let expected = (dividend / divisor, dividend % divisor);
                assert_eq!(
                    Divisor::new(divisor).divide(dividend),
                    expected,
                    "{dividend}/{divisor}"
                );
            }
        }
    }

    #[test]
    fn parts_are_named_in_the_number_that_they_have() {
        let geometry =
            Geometry { channels: 8, dies_per_channel: 2, ..Geometry::one_pool(512, 1, 4096) };
        let text = "8 channels × 2 dies × 1 plane × 512 blocks × 1 page × 4096 bytes";
        assert_eq!(geometry.to_string(), text);
    }
}
