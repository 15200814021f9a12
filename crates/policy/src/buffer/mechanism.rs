//! Common parts of write buffers: the table of blocks, the pending step, and two whole mechanisms, one that groups
//! pages by block and one that drives a page policy.

pub(crate) mod block;
pub(crate) mod grouped;
pub(crate) mod page_list;
pub(crate) mod paged;
pub(crate) mod proposal;
