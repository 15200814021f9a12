//! The building blocks of policies.

mod address_map;
mod circle;
mod count_list;
mod desired_sizes;
mod frame_queue;
mod frame_set;
mod frequency_sketch;
mod ghost_list;
mod keyed_lists;
mod list;
mod ring;
mod size_buckets;
mod slot_heap;
mod split_mix;
mod two_lists;

pub(crate) use address_map::AddressMap;
pub(crate) use circle::Circle;
pub(crate) use count_list::CountList;
pub(crate) use desired_sizes::DesiredSizes;
pub(crate) use frame_queue::FrameQueue;
pub(crate) use frame_set::FrameSet;
pub(crate) use frequency_sketch::FrequencySketch;
pub(crate) use ghost_list::{GhostLists, has_ghosts};
pub(crate) use keyed_lists::KeyedLists;
pub(crate) use list::{FrameList, Links, List, Listed, PageList};
pub(crate) use ring::{FrameRing, LinkedRing, Ring, Turn, frames_from, next_position};
pub(crate) use size_buckets::SizeBuckets;
pub(crate) use slot_heap::SlotHeap;
pub use split_mix::SplitMix64;
pub(crate) use two_lists::TwoLists;
