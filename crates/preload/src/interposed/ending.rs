//! What the pager is told when the program ends.

use crate::attach;

/// Tells the pager how much memory was not paged, which nobody can see afterwards.
extern "C" fn tell_at_end() {
    attach::tell_unpaged();
}

// SAFETY: the loader calls the functions of this section when the program ends by `exit`.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_END: extern "C" fn() = tell_at_end;
