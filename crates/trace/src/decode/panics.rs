//! Failed assertions of a library, as errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Set while a panic of this thread is caught and reported as an error.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The result of `action`, or the message it panicked with. What panicked must not be used again.
///
/// Nothing is printed for a caught panic: the first call puts a filter before the panic hook of the
/// process. Other threads, and this one outside `action`, panic as before.
pub(crate) fn caught<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    static FILTER: Once = Once::new();
    FILTER.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_CAUGHT.get() {
                hook(info);
            }
        }));
    });
    let was_caught = IS_CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(action));
    IS_CAUGHT.set(was_caught);
    result.map_err(|cause| {
        let text = cause
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(cause.downcast_ref::<&str>().copied());
        text.unwrap_or("an assertion failed").replace('\n', " ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message_in_one_line() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| panic!("at\nbyte {}", 3)), Err::<(), _>("at byte 3".to_owned()));
        assert!(!IS_CAUGHT.get());
    }
}
