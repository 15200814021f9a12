//! The structures of the header. A test has a C program compare sizes and offsets.

use std::ffi::c_char;

use clockhand_pager::Counts;

/// `struct clockhand_settings`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Settings {
    /// The size of the caller's structure.
    pub struct_bytes: usize,
    /// NUL-terminated.
    pub policy: *const c_char,
    /// NUL-terminated, or null for compressed RAM.
    pub swap_path: *const c_char,
    /// 0: no limit.
    pub swap_limit_bytes: u64,
    /// Of the region.
    pub pages: u32,
    /// Pages that may be resident.
    pub frames: u32,
    /// Of the frames, those for writes under way.
    pub reserve: u32,
    /// 0: the default.
    pub patience_ms: u32,
}

/// A structure of `u64` with the members of [`Counts`] that it names, in its order.
macro_rules! counts {
    ($($name:ident),* $(,)?) => {
        /// `struct clockhand_counts`.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct CountsForC { $(pub $name: u64),* }

        impl From<Counts> for CountsForC {
            fn from(counts: Counts) -> Self {
                // Without `..`: a new count is missed by the compiler.
                let Counts { $($name),* } = counts;
                CountsForC { $($name),* }
            }
        }
    };
}

counts! {
    references, read_references, write_references, misses, read_misses, write_misses, minor_faults,
    write_protect_faults, clean_evictions, dirty_evictions, write_backs, pages_read, pages_zero_filled,
    pages_rescued, pages_written, pages_not_written, pages_copied_for_forks, discarded_pages,
    write_operations, write_errors, bytes_read, bytes_written, resident_pages, peak_resident_pages,
    footprint_pages, pages_read_ahead, pages_read_in_vain, zero_pages_not_written, read_operations,
    sensed_references,
}
