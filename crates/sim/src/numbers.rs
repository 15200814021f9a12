//! The version of the numbers: results with the same version may be put in one table.

/// Raised by every change that alters a simulated number, so that results kept before it are computed again and
/// never mixed with later ones. The golden counts name the version that they were made with.
pub const NUMBERS_VERSION: u32 = 4;
