//! The version of the numbers: results with the same version may stand in one table.

/// Raised by every change that moves a simulated number, so that results kept before it are counted anew and
/// never mixed with those after it. The golden counts name the version that they were made with.
pub const NUMBERS_VERSION: u32 = 2;
