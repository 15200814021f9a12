//! What the pager learns when the program ends.

use crate::attach;

/// Reports how much memory was not paged; after the program's end it could not be seen any more.
extern "C" fn tell_at_end() {
    attach::tell_unpaged();
}

// SAFETY: the loader calls the functions of this section when the program ends by `exit`.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_END: extern "C" fn() = tell_at_end;
