//! The functions that a program calls instead of the C library's, with the same names and meaning.

/// Declares a function that has another name where offsets have 64 bits, which all have here.
macro_rules! with_64_bits {
    ($alias:ident = $name:ident($($argument:ident: $kind:ty),+) -> $result:ty) => {
        #[doc = concat!("`", stringify!($name), "` where offsets have 64 bits, which all have here.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $alias($($argument: $kind),+) -> $result {
            // SAFETY: as the program promises.
            unsafe { $name($($argument),+) }
        }
    };
}

mod advice;
mod asynchronous_reads;
mod blocks;
mod debugging;
mod descriptors;
mod direct_reads;
mod ending;
mod executions;
mod forks;
mod libraries;
mod mappings;
mod moves;
mod next;
mod processors;
mod system_calls;
mod threads;

use crate::attach;

pub use self::direct_reads::{direct_parts, is_direct};
pub use self::system_calls::by_number;
pub use self::threads::watch_ends;

/// Attaches a program that has not called any of these functions before its `main`.
extern "C" fn attach_at_start() {
    attach::is_paged();
}

// SAFETY: the loader calls the functions of this section once, when the C library has been initialised.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = attach_at_start;
