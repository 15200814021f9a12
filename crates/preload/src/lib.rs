//! Preloaded (`LD_PRELOAD`) into an unmodified program, this library gives it heap and large anonymous mappings in
//! the memory that a pager provides. Without [`clockhand_pager_protocol::SOCKET_VARIABLE`] in the environment every
//! call goes to the C library, and nothing else happens.
//!
//! The modules:
//!
//! * `attach`: A program gets its memory, once in its life and once in each forked child.
//! * `helper_thread`: The thread that drops translations for the pager and ends the program when the pager has ended.
//! * `ranges`, `memory`: Used pages of the memory and their use; the heap and the mappings.
//! * `interposed`: The functions that the program calls instead of the C library's.
//! * `hosted`: Programs that are linked statically, in whose place the library is executed.
//! * `fork`, `private_copy`: A forked child gets a private copy, from the pager or, in a sandbox, without it.
//! * `libraries`: Calls of the C library itself, whose own small blocks stay outside the paged memory.
//! * `address_space`: The program's mappings according to the kernel.
//! * `pager`, `system`, `sentence`: Requests to the pager, system calls, and sentences on standard error.
//!
//! Nothing here allocates through the C library or unwinds. The only thread-local storage is `errno` and one key of
//! thread-specific data. The reason: the functions run inside `malloc`, between `fork` and its return, and on a thread
//! that the C library does not know.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![expect(
    clippy::result_large_err,
    reason = "errors are sentences, and there is no heap to box them in"
)]

mod address_space;
mod attach;
mod fork;
mod helper_thread;
mod hosted;
mod interposed;
mod libraries;
mod memory;
mod pager;
mod private_copy;
mod ranges;
mod sentence;
mod system;
