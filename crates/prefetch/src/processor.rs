//! Has the processor fetch what is read soon.
//!
//! A plain early read does that too, but the processor finishes its instructions in order: what stands behind the read
//! waits until memory has answered. A prefetch is finished at once.

/// Has the processor fetch the start of `value` into its cache. On processors other than x86-64 and AArch64 this does
/// nothing.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = core::ptr::from_ref(value);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes nothing but the cache, and faults at no address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address,
            options(readonly, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
