//! Paged memory for C. `include/clockhand_pager.h` is the documentation; here is what stands behind it.
//!
//! No panic crosses the border: it becomes an error.

mod structures;

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use clockhand_pager::store::{CompressedRam, DEFAULT_LEVEL, Store, SwapFile};
use clockhand_pager::{Bits, Counts, Event, PagedRegion, PredictorSet, obstacle};
use clockhand_policy::Ratio;
use clockhand_policy::catalog::PolicySpec;

use crate::structures::{CountsForC, Settings};

/// For how long a store that fails is asked again, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// The write/read ratio that policies assume if none is given.
const WRITE_READ_RATIO: u32 = 8;

/// `struct clockhand_region`.
pub struct Region(PagedRegion);

/// Puts as much of `text` as fits into the caller's buffer, with a NUL; its whole length.
///
/// # Safety
///
/// `buffer` is null or writable for `bytes` bytes.
unsafe fn put(text: &str, buffer: *mut c_char, bytes: usize) -> usize {
    if !buffer.is_null() && bytes > 0 {
        let mut end = text.len().min(bytes - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: the buffer has room for that many bytes and one more.
        unsafe {
            buffer.copy_from_nonoverlapping(text.as_ptr().cast(), end);
            buffer.add(end).write(0);
        }
    }
    text.len()
}

/// What `work` returns, or `failed` with its error in the caller's buffer.
///
/// # Safety
///
/// As for [`put`].
unsafe fn or_error<T>(
    failed: T,
    buffer: *mut c_char,
    bytes: usize,
    work: impl FnOnce() -> Result<T, String>,
) -> T {
    let result = catch_unwind(AssertUnwindSafe(work));
    let error = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => "the library has a bug, and says where on standard error".to_owned(),
    };
    // SAFETY: as the caller promises.
    unsafe { put(&error, buffer, bytes) };
    failed
}

/// The result of `work`; after a panic, which is printed on standard error, the default value.
fn or_nothing<T: Default>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_default()
}

/// The caller's settings, as far as the caller's version of the header has them.
///
/// # Safety
///
/// `settings` is null, or begins with the size of a structure that is readable.
unsafe fn settings_of(settings: *const Settings) -> Result<Settings, String> {
    if settings.is_null() {
        return Err("there are no settings: pass a struct clockhand_settings".to_owned());
    }
    // SAFETY: the caller promises that the structure begins with its size.
    let struct_bytes = unsafe { (&raw const (*settings).struct_bytes).read() };
    if struct_bytes != size_of::<Settings>() {
        return Err(format!(
            "struct_bytes is {struct_bytes}: set it to sizeof(struct clockhand_settings), which this library wants \
             to be {}",
            size_of::<Settings>()
        ));
    }
    // SAFETY: the caller promises that this many bytes are readable.
    Ok(unsafe { settings.read() })
}

/// A C string.
///
/// # Safety
///
/// `text` is null or NUL-terminated, and stays so as long as what is returned.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn store(path: Option<&CStr>, limit_bytes: u64) -> Result<Box<dyn Store>, String> {
    let limit_bytes = (limit_bytes > 0).then_some(limit_bytes);
    let store: Result<Box<dyn Store>, _> = match path {
        Some(path) => {
            let path = Path::new(OsStr::from_bytes(path.to_bytes()));
            let store = SwapFile::open(path, limit_bytes).and_then(|file| file.store());
            store.map(|store| Box::new(store) as _)
        }
        None => {
            let store = CompressedRam::new(DEFAULT_LEVEL, limit_bytes).and_then(|ram| ram.store());
            store.map(|store| Box::new(store) as _)
        }
    };
    store.map_err(|error| error.to_string())
}

fn create(settings: &Settings, policy: &CStr, path: Option<&CStr>) -> Result<Region, String> {
    let policy = policy.to_str().map_err(|_| "the policy is not UTF-8".to_owned())?;
    let Settings { pages, frames, reserve, .. } = *settings;
    if pages == 0 {
        return Err("a region has at least one page; set pages".to_owned());
    }
    let policy = PolicySpec::parse(policy)
        .and_then(|policy| {
            let policy_frames = frames.saturating_sub(reserve).max(1);
            policy.resolve(policy_frames, Ratio::whole(WRITE_READ_RATIO))
        })
        .map_err(|error| error.to_string())?;
    let patience = match settings.patience_ms {
        0 => PATIENCE,
        patience_ms => Duration::from_millis(patience_ms.into()),
    };
    let paging = clockhand_pager::Settings {
        policy,
        frames,
        reserve,
        read_ahead: 0,
        predictors: PredictorSet::ALL,
        bits: Bits::Mapped,
        patience,
    };
    // Checked first, so that no useless swap file is created.
    paging.check()?;
    if let Some(obstacle) = obstacle() {
        return Err(obstacle);
    }
    let store = store(path, settings.swap_limit_bytes)?;
    PagedRegion::new(pages, paging, store, Box::new(|_: Event| {}))
        .map(Region)
        .map_err(|error| error.to_string())
}

/// Writes counts into as much of the caller's structure as there is; what this version does not know becomes 0.
///
/// # Safety
///
/// `into` is null or writable for `bytes` bytes.
unsafe fn put_counts(counts: Counts, into: *mut c_void, bytes: usize) {
    if into.is_null() {
        return;
    }
    let counts = CountsForC::from(counts);
    // SAFETY: the caller promises the room, and no more than the counts are read.
    unsafe {
        into.write_bytes(0, bytes);
        let known_bytes = bytes.min(size_of::<CountsForC>());
        into.copy_from_nonoverlapping((&raw const counts).cast(), known_bytes);
    }
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_pager_obstacle(sentence: *mut c_char, bytes: usize) -> usize {
    let found = or_nothing(obstacle).unwrap_or_default();
    // SAFETY: the caller promises the buffer.
    if found.is_empty() { 0 } else { unsafe { put(&found, sentence, bytes) } }
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_create(
    settings: *const Settings,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Region {
    let work = || {
        // SAFETY: the caller promises the settings and their texts.
        let (settings, policy, path) = unsafe {
            let settings = settings_of(settings)?;
            (settings, text(settings.policy), text(settings.swap_path))
        };
        let policy = policy.ok_or("there is no policy; name one such as craw")?;
        create(&settings, policy, path).map(|region| Box::into_raw(Box::new(region)))
    };
    // SAFETY: the caller promises the buffer.
    unsafe { or_error(std::ptr::null_mut(), error, error_bytes, work) }
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_memory(region: &Region) -> *mut c_void {
    region.0.as_ptr().cast()
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_bytes(region: &Region) -> usize {
    region.0.bytes()
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_discard(
    region: &Region,
    first_page: u32,
    pages: u32,
    error: *mut c_char,
    error_bytes: usize,
) -> c_int {
    let work = || {
        let all = region.0.bytes() / PAGE_BYTES;
        if u64::from(first_page) + u64::from(pages) > all as u64 {
            return Err(format!(
                "{pages} pages from page {first_page} on are not all in a region of {all} pages"
            ));
        }
        region.0.discard(first_page, pages).map(|()| 0).map_err(|error| error.to_string())
    };
    // SAFETY: the caller promises the buffer.
    unsafe { or_error(-1, error, error_bytes, work) }
}

/// Bytes of a page.
const PAGE_BYTES: usize = size_of::<clockhand_pager::store::Page>();

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_counts(
    region: &Region,
    counts: *mut c_void,
    counts_bytes: usize,
) {
    let counted = or_nothing(|| region.0.progress().counts);
    // SAFETY: the caller promises the structure.
    unsafe { put_counts(counted, counts, counts_bytes) };
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_store_error(
    region: &Region,
    sentence: *mut c_char,
    sentence_bytes: usize,
) -> usize {
    let error = or_nothing(|| region.0.progress().store_error).unwrap_or_default();
    // SAFETY: the caller promises the buffer.
    if error.is_empty() { 0 } else { unsafe { put(&error, sentence, sentence_bytes) } }
}

/// See the header.
///
/// # Safety
///
/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clockhand_region_destroy(
    region: *mut Region,
    counts: *mut c_void,
    counts_bytes: usize,
) {
    if region.is_null() {
        return;
    }
    // SAFETY: the caller promises a region that was created here and is not used any more.
    let region = unsafe { Box::from_raw(region) };
    let counted = or_nothing(|| region.0.finish().counts);
    // SAFETY: the caller promises the structure.
    unsafe { put_counts(counted, counts, counts_bytes) };
}
