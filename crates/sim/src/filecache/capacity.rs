//! How large a file cache is: in blocks, in bytes, or as a share of what the trace touches.

use crate::error::SimError;
use crate::memory_size::MemorySize;
use clockhand_quantity::option;

/// A capacity as the user gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// No block: nothing is admitted.
    Nothing,
    /// A size of at least one block.
    Size(MemorySize),
}

impl Capacity {
    /// Reads `--capacity`: blocks (`64`, also `0`), shares of the footprint (`5%`, `5%..100%`) and sizes (`64MiB`),
    /// separated by commas.
    ///
    /// # Errors
    ///
    /// A sentence that names the item and what is allowed.
    pub fn parse(text: &str) -> Result<Vec<Capacity>, SimError> {
        let mut capacities = Vec::new();
        for item in text.split(',').map(str::trim) {
            if item == "0" {
                capacities.push(Capacity::Nothing);
                continue;
            }
            let is_number = !item.is_empty() && item.bytes().all(|byte| byte.is_ascii_digit());
            let sizes = match is_number {
                true => MemorySize::parse_frames(item),
                false => MemorySize::parse_memory(item),
            };
            let sizes = sizes.map_err(|_| {
                SimError::usage(
                    option("capacity") + format!(" {item:?} is not a capacity"),
                    format!(
                        "give blocks (64, up to {}), shares of the footprint (5%, or every \
                             whole percent of 5%..100%) or sizes (64MiB), separated by commas",
                        u32::MAX - 1
                    ),
                )
            })?;
            capacities.extend(sizes.into_iter().map(Capacity::Size));
        }
        Ok(capacities)
    }

    /// The capacity as text that is read as this capacity.
    pub fn written(self) -> String {
        match self {
            Capacity::Nothing => "0".to_owned(),
            Capacity::Size(size) => size.written(),
        }
    }

    /// The number of blocks, as [`MemorySize::frames`] counts.
    pub fn blocks(self, footprint_blocks: u32, block_bytes: u64) -> u32 {
        match self {
            Capacity::Nothing => 0,
            Capacity::Size(size) => size.frames(footprint_blocks, block_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_blocks_shares_and_sizes() {
        let blocks = |text: &str| -> Vec<u32> {
            let capacities = Capacity::parse(text).unwrap();
            capacities.iter().map(|capacity| capacity.blocks(1000, 4096)).collect()
        };
        assert_eq!(blocks("0,64,5%,0.01%,64MiB"), [0, 64, 50, 1, 16384]);
        assert_eq!(blocks("98%..100%"), [980, 990, 1000]);
    }

    #[test]
    fn what_is_no_capacity_is_refused_with_the_item() {
        for text in ["", "-1", "0%", "1.5", "5%,x", "4294967295", "0MiB", "9%..5%"] {
            let error = Capacity::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("--capacity"), "{text}: {error}");
        }
    }
}
