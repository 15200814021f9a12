//! The policies of the catalog on real memory: a user-space pager.

pub mod store;
