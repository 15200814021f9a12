//! A set of frames, or of pages, that finds its next member in a few steps, however sparse it is.

use alloc::vec;
use alloc::vec::Vec;

use core::marker::PhantomData;

use super::Listed;
use crate::Frame;

/// A bitmap with summaries: each bit of a level says whether a 64-bit word of the level below has a member.
#[derive(Clone, Debug)]
pub(crate) struct FrameSet<T = Frame> {
    levels: Vec<Vec<u64>>,
    members: PhantomData<T>,
}

impl<T: Listed> FrameSet<T> {
    /// An empty set of members below `entries`.
    pub(crate) fn new(entries: u32) -> Self {
        let mut levels = Vec::new();
        let mut bits = entries.max(1) as usize;
        loop {
            bits = bits.div_ceil(64);
            levels.push(vec![0; bits]);
            if bits == 1 {
                return FrameSet { levels, members: PhantomData };
            }
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, entry: T) {
        let mut index = entry.index();
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            let was_empty = *word == 0;
            *word |= 1 << (index % 64);
            if !was_empty {
                return;
            }
            index /= 64;
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, entry: T) {
        let mut index = entry.index();
        for level in &mut self.levels {
            level[index / 64] &= !(1 << (index % 64));
            if level[index / 64] != 0 {
                return;
            }
            index /= 64;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, entry: T) -> bool {
        self.levels[0][entry.index() / 64] & (1 << (entry.index() % 64)) != 0
    }

    /// The smallest member that is not below `start`.
    #[inline]
    pub(crate) fn next_from(&self, start: u32) -> Option<T> {
        let mut index = start as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get(index / 64)? & (u64::MAX << (index % 64));
            if word != 0 {
                return Some(
                    self.descend(height, index / 64 * 64 + word.trailing_zeros() as usize),
                );
            }
            index = index / 64 + 1;
        }
        None
    }

    fn descend(&self, height: usize, mut index: usize) -> T {
        for level in self.levels[..height].iter().rev() {
            index = index * 64 + level[index].trailing_zeros() as usize;
        }
        T::from_index(index as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_member_is_that_of_a_plain_search() {
        for frames in [1u32, 63, 64, 65, 4096, 4097, 300_000] {
            let mut set = FrameSet::<Frame>::new(frames);
            let mut plain = vec![false; frames as usize];
            let mut random = 12345u64;
            for _ in 0..400 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let frame = (random >> 33) as u32 % frames;
                plain[frame as usize] = random & 1 == 0;
                match plain[frame as usize] {
                    true => set.insert(Frame(frame)),
                    false => set.remove(Frame(frame)),
                }
                let start = (random >> 13) as u32 % frames;
                let expected = (start..frames).find(|&member| plain[member as usize]).map(Frame);
                assert_eq!(set.next_from(start), expected);
                assert_eq!(set.contains(Frame(frame)), plain[frame as usize]);
            }
        }
    }
}
