//! Where calls are carried out: on a stack, and with thread-local storage, that are not the program's. The program's thread pointer
//! means nothing to our C library, of which the interposed functions use `errno` and the thread's number. A place is taken
//! for the time of one call.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clockhand_pager_protocol::PAGE_BYTES;

use crate::sentence::{LOST_MEMORY_EXIT_CODE, Sentence};
use crate::system;

/// As many calls can be carried out at a time; others wait.
const PLACES: usize = 1024;

/// Bytes of a place: the stack, thread-local storage, and the thread's structure, whose address the thread pointer is.
pub(super) const STACK_BYTES: usize = 48 * 1024;
const STORAGE_BYTES: usize = 8 * 1024;
const PLACE_BYTES: usize = 64 * 1024;

/// What the C library has at the beginning of the structure: addresses, and values to check stacks.
const COPIED_BYTES: usize = 0x300;
/// Where the structure has its own address, and has it again.
const OWN_ADDRESSES: [usize; 2] = [0, 0x10];

/// `ARCH_SET_FS` and `ARCH_GET_FS`.
const SET_POINTER: usize = 0x1002;
const GET_POINTER: usize = 0x1003;

static IS_TAKEN: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];

/// Where the places lie, and the thread pointer of the C library's only thread.
static START: AtomicUsize = AtomicUsize::new(0);
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// Makes room for the places. Called while the C library's thread runs.
pub(super) fn prepare() {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    let mapped = unsafe { system::mmap(0, PLACES * PLACE_BYTES, protection, flags, -1, 0) };
    let start = mapped.unwrap_or_else(|error| {
        Sentence::new(format_args!(
            "there is no memory for the calls of the program (error {})",
            error.0
        ))
        .end_program(LOST_MEMORY_EXIT_CODE)
    });
    START.store(start, Ordering::Relaxed);
    ORIGINAL.store(thread_pointer(), Ordering::Relaxed);
}

/// Takes a place for a call of a thread whose stack is here. Called by signal handlers too.
pub(super) fn take(stack: usize) -> usize {
    let first = stack / PAGE_BYTES;
    loop {
        for index in (0..PLACES).map(|offset| first.wrapping_add(offset) % PLACES) {
            let is_free = !IS_TAKEN[index].load(Ordering::Relaxed);
            if is_free && !IS_TAKEN[index].swap(true, Ordering::Acquire) {
                return START.load(Ordering::Relaxed) + index * PLACE_BYTES;
            }
        }
        // SAFETY: takes nothing.
        let _ = unsafe { system::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

fn index_of(place: usize) -> usize {
    (place - START.load(Ordering::Relaxed)) / PLACE_BYTES
}

/// Gives a place back, on the program's stack again.
pub(super) extern "C" fn give_back(place: usize) {
    IS_TAKEN[index_of(place)].store(false, Ordering::Release);
}

/// Gives all places but this one back, in a forked child, which has no other threads.
pub(super) fn give_back_others(place: usize) {
    let kept = index_of(place);
    let others = IS_TAKEN.iter().enumerate().filter(|&(index, _)| index != kept);
    others.for_each(|(_, is_taken)| is_taken.store(false, Ordering::Relaxed));
}

/// Has the C library's functions find their thread in a place.
pub(super) fn enter(place: usize) {
    let own = place + STACK_BYTES + STORAGE_BYTES;
    // SAFETY: the place is the caller's; the original structure is larger than what is copied, and stays.
    unsafe {
        if *(own as *const usize) == 0 {
            let original = ORIGINAL.load(Ordering::Relaxed);
            core::ptr::copy_nonoverlapping(original as *const u8, own as *mut u8, COPIED_BYTES);
            OWN_ADDRESSES.iter().for_each(|&at| *((own + at) as *mut usize) = own);
        }
    }
    set_thread_pointer(own);
}

/// The thread pointer.
pub(super) fn thread_pointer() -> usize {
    let mut pointer = 0_usize;
    let arguments = [GET_POINTER, &raw mut pointer as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes a number.
    let _ = unsafe { system::call(libc::SYS_arch_prctl, arguments) };
    pointer
}

/// Sets the thread pointer.
pub(super) fn set_thread_pointer(pointer: usize) {
    // SAFETY: whoever runs next expects this thread pointer.
    let _ = unsafe { system::call(libc::SYS_arch_prctl, [SET_POINTER, pointer, 0, 0, 0, 0]) };
}
