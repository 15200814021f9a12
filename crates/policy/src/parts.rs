//! What policies are put together from.

mod frame_list;
mod frame_set;
mod ghost_list;

pub(crate) use frame_list::{FrameList, Links};
pub(crate) use frame_set::FrameSet;
pub(crate) use ghost_list::GhostList;
