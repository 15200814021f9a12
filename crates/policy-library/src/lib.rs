//! Puts policies into a shared library that Clockhand loads.
//!
//! A crate of type `cdylib` implements [`PagePolicy`](clockhand_policy::page::PagePolicy) and
//! [`Cataloged`](clockhand_policy::catalog::Cataloged) and exports its policies, each with its kind:
//!
//! ```
//! use clockhand_policy::catalog::{Cataloged, Description, Size};
//! use clockhand_policy::page::{BitDriven, Capabilities, Fault, Inspector, PagePolicy};
//! use clockhand_policy::parameters::Settings;
//! use clockhand_policy::{Frame, Frames, HitBits};
//!
//! /// Whatever came first leaves first.
//! struct Queue(Vec<Frame>);
//!
//! impl Cataloged for Queue {
//!     const DESCRIPTION: Description = Description {
//!         name: "queue",
//!         summary: "what came first leaves first",
//!         paper: "an example",
//!         parameters: &[],
//!         source: "//! A queue.\n",
//!     };
//!     fn build(_: &Settings, _: Size) -> Self {
//!         Queue(Vec::new())
//!     }
//! }
//!
//! impl PagePolicy for Queue {
//!     fn choose_victim<F: Frames>(&mut self, frames: &mut F) -> Frame {
//!         let first = self.0.iter().position(|&frame| !frames.is_pinned(frame));
//!         self.0.remove(first.expect("a page is not pinned"))
//!     }
//!     fn loaded<F: Frames>(&mut self, _: Fault, frame: Frame, _: &mut F) {
//!         self.0.push(frame);
//!     }
//!     fn dropped<F: Frames>(&mut self, frame: Frame, _: &F) {
//!         self.0.retain(|other| *other != frame);
//!     }
//!     fn inspect(&self, _: &mut dyn Inspector) {}
//! }
//!
//! impl Capabilities for Queue {}
//!
//! impl BitDriven for Queue {
//!     const HIT_BITS: HitBits = HitBits::Reference;
//! }
//!
//! clockhand_policy_library::export! { bit_driven Queue; }
//! ```
//!
//! A library's policy sees the events of [`abi::Policy`]. One that [reclaims in
//! batches](clockhand_policy::page::Capabilities::RECLAIMS_IN_BATCHES), or wants to see calls or first accesses, does not
//! compile.

pub mod abi;
pub mod exported;
mod panics;
mod seen_frames;

#[cfg(panic = "abort")]
compile_error!(
    "a panic in a library would end Clockhand without a word; build it with panic = \"unwind\""
);

/// Exports policies, once in a library: `export! { bit_driven Mine; access_driven Other; }`.
#[macro_export]
macro_rules! export {
    ($($kind:ident $policy:ty;)+) => {
        /// What Clockhand looks for in the library.
        #[allow(unsafe_code, reason = "the name under which a loader finds it; nothing else has this name")]
        #[unsafe(no_mangle)]
        pub extern "C" fn clockhand_policy_library() -> *const $crate::abi::Library {
            static EXPORTED: $crate::exported::Exported = $crate::exported::Exported::new();
            EXPORTED.table(|| vec![$($crate::exported::$kind::<$policy>(),)+])
        }
    };
}
