//! Begins and ends threads. When a thread ends, the kernel marks the robust mutexes that it holds, so that the next
//! owner notices. The kernel does not wait for a page then, and gives up at the first that is missing. So a destructor
//! of thread-specific data touches these pages last of all.

use core::arch::{asm, naked_asm};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use libc::{pthread_attr_t, pthread_key_t, pthread_t};

use super::next::Next;
use crate::system;
use crate::{attach, memory};

/// What a program starts as a thread: a function, and what it gets.
#[derive(Clone, Copy)]
#[repr(C)]
struct Start {
    function: usize,
    argument: usize,
}

/// A thread that has been made and has not begun.
struct Place {
    is_taken: AtomicBool,
    start: UnsafeCell<Start>,
}

// SAFETY: `start` is used by who has taken the place, and then by the thread that was made with it.
unsafe impl Sync for Place {}

/// As many threads can be about to begin. Others begin without thread-specific data of ours.
const PLACES: usize = 256;

static MADE: [Place; PLACES] = [const {
    Place {
        is_taken: AtomicBool::new(false),
        start: UnsafeCell::new(Start { function: 0, argument: 0 }),
    }
}; PLACES];

/// Where to look for a place first.
static NEXT_PLACE: AtomicUsize = AtomicUsize::new(0);

fn take_place() -> Option<&'static Place> {
    let from = NEXT_PLACE.fetch_add(1, Ordering::Relaxed);
    (0..PLACES)
        .map(|index| &MADE[(from.wrapping_add(index)) % PLACES])
        .find(|place| !place.is_taken.swap(true, Ordering::Acquire))
}

/// The key of the thread-specific data, and one more; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// From where the C library knows a thread by to where that has its list of robust mutexes, the same for each thread; 0 if
/// there is none. A sandbox that the program enters later may forbid to ask the kernel.
static TO_ROBUST_MUTEXES: AtomicUsize = AtomicUsize::new(0);

/// Makes the key, and gives the calling thread its data. Called once, by the thread that attaches the program.
pub fn watch_ends() {
    let Some(mutexes) = system::robust_list() else { return };
    // SAFETY: takes no arguments.
    let thread = unsafe { libc::pthread_self() } as usize;
    TO_ROBUST_MUTEXES.store(mutexes.wrapping_sub(thread), Ordering::Relaxed);
    let mut key: pthread_key_t = 0;
    // SAFETY: the C library writes a number; the function lives as long as the program. Without a key nothing is touched.
    if unsafe { libc::pthread_key_create(&mut key, Some(touch_robust_mutexes_again)) } == 0 {
        KEY.store(key + 1, Ordering::Release);
        set_key();
    }
}

/// Has the calling thread's end call the destructor.
fn set_key() {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        // SAFETY: the key exists; the value is never used as an address.
        unsafe { libc::pthread_setspecific(key, (&raw const KEY).cast()) };
    }
}

/// The destructor. As long as there are mutexes it asks to be called again, as often as the C library does so, to be the last.
unsafe extern "C" fn touch_robust_mutexes_again(_: *mut c_void) {
    if touch_robust_mutexes() {
        set_key();
    }
}

/// The beginning of `struct robust_list_head`, which each thread has shown to the kernel.
#[repr(C)]
struct RobustMutexes {
    /// The first one's link; the last one's leads back here. The lowest bit is not part of the address.
    first: usize,
    /// From a link to its mutex's word.
    word_offset: isize,
    /// One that is being locked or unlocked.
    pending: usize,
}

/// The kernel looks at no more.
const MOST_MUTEXES: usize = 2048;

/// Has the robust mutexes that the calling thread holds in memory, writable; whether there are any.
pub(super) fn touch_robust_mutexes() -> bool {
    let to_mutexes = TO_ROBUST_MUTEXES.load(Ordering::Relaxed);
    if to_mutexes == 0 {
        return false;
    }
    // SAFETY: each thread that the C library knows has such a structure there, and keeps it.
    let mutexes = unsafe {
        let thread = libc::pthread_self() as usize;
        &*(thread.wrapping_add(to_mutexes) as *const RobustMutexes)
    };
    let touch = |link: usize| {
        let word = link.wrapping_add_signed(mutexes.word_offset);
        if memory::contains(word) {
            // The compiler would make an access that does not write of an atomic function that changes nothing.
            // SAFETY: a word of the memory, which stays what it is.
            unsafe { asm!("lock or dword ptr [{}], 0", in(reg) word, options(nostack)) };
        }
    };
    let end = &raw const mutexes.first as usize;
    let mut link = mutexes.first & !1;
    for _ in 0..MOST_MUTEXES {
        if link == end || link == 0 {
            break;
        }
        touch(link);
        // SAFETY: the C library keeps a list of mutexes that have not been destroyed.
        link = unsafe { *(link as *const usize) } & !1;
    }
    if mutexes.pending != 0 {
        touch(mutexes.pending & !1);
    }
    mutexes.first & !1 != end || mutexes.pending != 0
}

/// Has a function of the C library make a thread, which begins like threads whose ends are noticed.
///
/// # Safety
/// `make` calls the C library's function of this name, with a function and its argument, and returns 0 if there is a thread.
unsafe fn made(start: Start, make: impl Fn(Start) -> c_int) -> c_int {
    let place = if attach::is_paged() { take_place() } else { None };
    let Some(place) = place else { return make(start) };
    // SAFETY: the place has just been taken.
    unsafe { *place.start.get() = start };
    let function = begin as *const () as usize;
    let result = make(Start { function, argument: &raw const *place as usize });
    if result != 0 {
        place.is_taken.store(false, Ordering::Release);
    }
    result
}

/// `pthread_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: usize,
    argument: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"pthread_create");
    let next = NEXT.address();
    if next == 0 {
        return libc::ENOSYS;
    }
    // SAFETY: the C library's function has this type; the rest is as the program promises.
    unsafe {
        let next: unsafe extern "C" fn(
            *mut pthread_t,
            *const pthread_attr_t,
            usize,
            usize,
        ) -> c_int = transmute(next);
        made(Start { function, argument }, |start| {
            next(thread, attributes, start.function, start.argument)
        })
    }
}

/// `thrd_create` of C11.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    function: usize,
    argument: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"thrd_create");
    const THRD_ERROR: c_int = 2;
    let next = NEXT.address();
    if next == 0 {
        return THRD_ERROR;
    }
    // SAFETY: the C library's function has this type; the rest is as the program promises.
    unsafe {
        let next: unsafe extern "C" fn(*mut pthread_t, usize, usize) -> c_int = transmute(next);
        made(Start { function, argument }, |start| next(thread, start.function, start.argument))
    }
}

/// Where a thread begins: it goes on in the program's function, as if that had been called.
#[unsafe(naked)]
unsafe extern "C" fn begin(place: *mut c_void) -> *mut c_void {
    naked_asm!(
        "sub rsp, 8",
        "call {begun}",
        "add rsp, 8",
        "mov rdi, rdx",
        "jmp rax",
        begun = sym begun,
    )
}

/// Gives the place free, and the thread its data.
///
/// # Safety
/// The place is that of the calling thread.
unsafe extern "C" fn begun(place: *const Place) -> Start {
    // SAFETY: as the caller promises.
    let place = unsafe { &*place };
    // SAFETY: it is this thread's until it is free.
    let start = unsafe { *place.start.get() };
    place.is_taken.store(false, Ordering::Release);
    set_key();
    start
}
