//! A set of frames, or of pages, that finds its next member in a few steps, however sparse it is.

use alloc::vec;
use alloc::vec::Vec;

use core::marker::PhantomData;

use super::Listed;
use crate::Frame;

/// A bitmap with summaries: each bit of a summary says whether a 64-bit word of the level below has a member.
#[derive(Clone, Debug)]
pub(crate) struct FrameSet<T = Frame> {
    words: Vec<u64>,
    summaries: Vec<Vec<u64>>,
    members: PhantomData<T>,
}

impl<T: Listed> FrameSet<T> {
    /// An empty set of members below `entries`.
    pub(crate) fn new(entries: u32) -> Self {
        let words = vec![0; entries.max(1).div_ceil(64) as usize];
        let mut summaries = Vec::new();
        let mut bits = words.len();
        while bits > 1 {
            bits = bits.div_ceil(64);
            summaries.push(vec![0; bits]);
        }
        FrameSet { words, summaries, members: PhantomData }
    }

    #[inline]
    pub(crate) fn insert(&mut self, entry: T) {
        self.set(entry, true);
    }

    #[inline]
    pub(crate) fn remove(&mut self, entry: T) {
        self.set(entry, false);
    }

    /// Makes `entry` a member or not, without a branch on which.
    #[inline(always)]
    pub(crate) fn set(&mut self, entry: T, is_member: bool) {
        let index = entry.index();
        let word = &mut self.words[index / 64];
        let was_empty = *word == 0;
        *word = *word & !(1 << (index % 64)) | u64::from(is_member) << (index % 64);
        if (*word == 0) != was_empty {
            self.set_in_summaries(index / 64, was_empty);
        }
    }

    #[inline(never)]
    fn set_in_summaries(&mut self, mut index: usize, has_members: bool) {
        for summary in &mut self.summaries {
            let word = &mut summary[index / 64];
            let was_empty = *word == 0;
            *word = *word & !(1 << (index % 64)) | u64::from(has_members) << (index % 64);
            if (*word == 0) == was_empty {
                return;
            }
            index /= 64;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, entry: T) -> bool {
        self.words[entry.index() / 64] & (1 << (entry.index() % 64)) != 0
    }

    /// The smallest member that is not below `start`.
    #[inline(always)]
    pub(crate) fn next_from(&self, start: u32) -> Option<T> {
        let index = start as usize;
        let word = *self.words.get(index / 64)? & (u64::MAX << (index % 64));
        if word == 0 {
            return self.next_from_word(index / 64 + 1);
        }
        Some(T::from_index((start & !63) + word.trailing_zeros()))
    }

    #[inline(never)]
    fn next_from_word(&self, mut index: usize) -> Option<T> {
        for (height, summary) in self.summaries.iter().enumerate() {
            let word = *summary.get(index / 64)? & (u64::MAX << (index % 64));
            if word != 0 {
                let index = index / 64 * 64 + word.trailing_zeros() as usize;
                return Some(self.descend(height, index));
            }
            index = index / 64 + 1;
        }
        None
    }

    fn descend(&self, height: usize, mut index: usize) -> T {
        for summary in self.summaries[..height].iter().rev() {
            index = index * 64 + summary[index].trailing_zeros() as usize;
        }
        T::from_index((index * 64 + self.words[index].trailing_zeros() as usize) as u32)
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
