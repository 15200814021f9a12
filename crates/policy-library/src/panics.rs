//! Panics of policies, which must not leave the library: they become texts with their place.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the place of panics for [`caught`], instead of printing them; others are printed as before.
pub(crate) fn keep_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CALLED.get() {
                return before(panic);
            }
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            PLACE.replace(place);
        }));
    });
}

/// What `act` returns, or what it panicked with and where.
pub(crate) fn caught<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    IS_CALLED.set(true);
    let result = catch_unwind(AssertUnwindSafe(act));
    IS_CALLED.set(false);
    result.map_err(|panic| {
        let said = said(&*panic);
        // Dropping the thrown value may panic too.
        std::mem::forget(panic);
        let place = PLACE.take();
        if place.is_empty() { said } else { format!("{said} ({place})") }
    })
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.map_or_else(|| "panicked".to_owned(), |text| format!("panicked: {text}"))
}
