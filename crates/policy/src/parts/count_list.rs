//! Frames in the order of their reference counts, each step in constant time.

use alloc::vec;
use alloc::vec::Vec;

use super::{FrameList, Links};
use crate::Frame;

const NONE: u32 = u32::MAX;

/// The frames of one count, the one that reached it first at the head.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    frames: FrameList,
    fewer: u32,
    more: u32,
}

/// A list of buckets, one for each count that occurs, from the fewest references to the most.
///
/// Costs 12 bytes per frame and 32 per count that ever occurred at the same time.
#[derive(Clone, Debug)]
pub(crate) struct CountList {
    links: Links,
    bucket_of_frame: Vec<u32>,
    buckets: Vec<Bucket>,
    fewest: u32,
    unused: u32,
}

impl CountList {
    pub(crate) fn new(frames: u32) -> Self {
        CountList {
            links: Links::new(frames),
            bucket_of_frame: vec![NONE; frames as usize],
            buckets: Vec::new(),
            fewest: NONE,
            unused: NONE,
        }
    }

    /// Lists `frame`, which is not listed, with count 1.
    pub(crate) fn insert(&mut self, frame: Frame) {
        let bucket = match self.buckets.get(self.fewest as usize) {
            Some(fewest) if fewest.count == 1 => self.fewest,
            _ => self.insert_bucket(1, NONE, self.fewest),
        };
        self.push(bucket, frame);
    }

    /// Counts one reference to `frame`, which is listed: the last to reach its new count.
    pub(crate) fn increment(&mut self, frame: Frame) {
        let from = self.bucket_of_frame[frame.index()];
        let Bucket { count, frames, more, .. } = self.buckets[from as usize];
        let has_next_count =
            self.buckets.get(more as usize).is_some_and(|next| next.count == count + 1);
        if frames.len() == 1 && !has_next_count {
            self.buckets[from as usize].count += 1;
            return;
        }
        let to = if has_next_count { more } else { self.insert_bucket(count + 1, from, more) };
        self.remove(frame);
        self.push(to, frame);
    }

    /// Takes `frame`, which is listed, off the list.
    pub(crate) fn remove(&mut self, frame: Frame) {
        let index = self.bucket_of_frame[frame.index()];
        self.bucket_of_frame[frame.index()] = NONE;
        let bucket = &mut self.buckets[index as usize];
        bucket.frames.remove(&mut self.links, frame);
        if bucket.frames.len() == 0 {
            self.remove_bucket(index);
        }
    }

    fn push(&mut self, bucket: u32, frame: Frame) {
        self.buckets[bucket as usize].frames.push_tail(&mut self.links, frame);
        self.bucket_of_frame[frame.index()] = bucket;
    }

    fn insert_bucket(&mut self, count: u64, fewer: u32, more: u32) -> u32 {
        let bucket = Bucket { count, frames: FrameList::EMPTY, fewer, more };
        let index = match self.unused {
            NONE => {
                self.buckets.push(bucket);
                self.buckets.len() as u32 - 1
            }
            index => {
                self.unused = self.buckets[index as usize].more;
                self.buckets[index as usize] = bucket;
                index
            }
        };
        self.connect(fewer, index);
        self.connect(index, more);
        index
    }

    fn remove_bucket(&mut self, index: u32) {
        let Bucket { fewer, more, .. } = self.buckets[index as usize];
        self.connect(fewer, more);
        self.buckets[index as usize].more = self.unused;
        self.unused = index;
    }

    /// Makes two buckets neighbours; with none before it, `more` is the first.
    fn connect(&mut self, fewer: u32, more: u32) {
        match self.buckets.get_mut(fewer as usize) {
            Some(bucket) => bucket.more = more,
            None => self.fewest = more,
        }
        if let Some(bucket) = self.buckets.get_mut(more as usize) {
            bucket.fewer = fewer;
        }
    }

    fn buckets(&self) -> impl Iterator<Item = (u32, &Bucket)> {
        let mut index = self.fewest;
        core::iter::from_fn(move || {
            let current = index;
            let bucket = self.buckets.get(current as usize)?;
            index = bucket.more;
            Some((current, bucket))
        })
    }

    /// The frames from the fewest references to the most, among equals the one that got there first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        self.buckets().flat_map(|(_, bucket)| bucket.frames.iter(&self.links))
    }

    /// The frames that are the first of their count, and so mark where a count begins.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = Frame> + '_ {
        self.buckets().map(|(_, bucket)| bucket.frames.head())
    }

    /// Asserts that buckets, their lists and the frames' entries agree.
    pub(crate) fn check_invariants(&self) {
        let (mut previous, mut previous_count, mut listed) = (NONE, 0, 0);
        for (index, bucket) in self.buckets() {
            assert_eq!(bucket.fewer, previous, "a bucket's back link is wrong");
            assert!(bucket.count > previous_count, "the counts do not ascend");
            assert!(bucket.frames.len() > 0, "a bucket is empty");
            bucket.frames.check_invariants(&self.links);
            for frame in bucket.frames.iter(&self.links) {
                assert_eq!(self.bucket_of_frame[frame.index()], index, "a frame's bucket");
                listed += 1;
            }
            (previous, previous_count) = (index, bucket.count);
        }
        let entries = self.bucket_of_frame.iter().filter(|&&bucket| bucket != NONE).count();
        assert_eq!(entries, listed, "a frame has a bucket and is in none");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_a_stable_sort_by_count_and_time() {
        let mut list = CountList::new(8);
        let mut plain: Vec<(u64, u64, Frame)> = Vec::new();
        let mut numbers = crate::parts::SplitMix64::new(1);
        for time in 0..2000 {
            let frame = Frame((numbers.next() % 8) as u32);
            match plain.iter().position(|&(_, _, listed)| listed == frame) {
                None => {
                    list.insert(frame);
                    plain.push((1, time, frame));
                }
                Some(index) if numbers.next().is_multiple_of(5) => {
                    list.remove(frame);
                    plain.swap_remove(index);
                }
                Some(index) => {
                    list.increment(frame);
                    plain[index] = (plain[index].0 + 1, time, frame);
                }
            }
            plain.sort_unstable_by_key(|&(count, time, _)| (count, time));
            let expected: Vec<Frame> = plain.iter().map(|&(_, _, frame)| frame).collect();
            assert_eq!(list.iter().collect::<Vec<_>>(), expected);
            list.check_invariants();
        }
        assert!(list.buckets.len() <= 9, "buckets are used again");
    }
}
