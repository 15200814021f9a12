//! `brk`: the end of the program's data, here that of a mapping in the paged memory, which C libraries begin their heap with.

use core::sync::atomic::{AtomicUsize, Ordering};

use clockhand_pager_protocol::PAGE_BYTES;

use crate::memory::{self, Memory};

/// The mapping has room behind it to grow to eight times this.
const USUAL_BYTES: usize = 64 << 20;

/// Where the data begin, 0 if nobody has asked yet, and where they end. Used under the memory's lock.
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// The number of bytes mapped for data that end there: at least a page.
fn mapped_bytes(start: usize, end: usize) -> usize {
    (end - start).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES)
}

/// Moves the end, if it can be there, and returns where it is.
pub(super) fn set(wanted: usize) -> usize {
    memory::with(|memory| {
        if START.load(Ordering::Relaxed) == 0 && !begin(memory) {
            return 0;
        }
        let (start, end) = (START.load(Ordering::Relaxed), END.load(Ordering::Relaxed));
        if wanted < start || wanted - start > memory::total_bytes() {
            return end;
        }
        // SAFETY: the mapping is the program's data; what lies behind their end is no longer used.
        let moved = unsafe {
            let (old, new) = (mapped_bytes(start, end), mapped_bytes(start, wanted));
            old == new || memory.resize_in_place(start, old, new)
        };
        if moved {
            END.store(wanted, Ordering::Relaxed);
        }
        END.load(Ordering::Relaxed)
    })
}

/// Makes the mapping, where it can grow.
fn begin(memory: &mut Memory) -> bool {
    let Some(start) = memory.map_to_grow(USUAL_BYTES) else { return false };
    // SAFETY: nothing is in use yet.
    unsafe { memory.resize_in_place(start, USUAL_BYTES, mapped_bytes(start, start)) };
    START.store(start, Ordering::Relaxed);
    END.store(start, Ordering::Relaxed);
    true
}
