//! The tests of the twins, as one program: what they share is linked once.

mod bounds;
mod golden;
mod mapped;
mod properties;
mod random;
mod references;
mod sensed;
mod specification;
