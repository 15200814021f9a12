//! Which pages of a file are read ahead: a window per process and file that doubles as long as reads go on.

use super::options::FileReadAhead;

/// Stands for no page yet.
const NONE: u64 = u64::MAX;

/// What is known of one process reading one file.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The page behind the last window.
    expected: u64,
    pages: u64,
    last_read: u64,
}

/// The windows of all processes and files.
#[derive(Debug)]
pub(super) struct FileWindows {
    limits: FileReadAhead,
    windows: Vec<Window>,
}

impl FileWindows {
    /// No window yet, for `callers` pairs of process and file.
    pub(super) fn new(limits: FileReadAhead, callers: usize) -> Self {
        let none = Window { expected: NONE, pages: 0, last_read: NONE };
        FileWindows { limits, windows: vec![none; callers] }
    }

    /// A call read this page, which was in memory.
    pub(super) fn hit(&mut self, caller: u32, page: u64) {
        self.windows[caller as usize].last_read = page;
    }

    /// A call read this page, which was not: how many pages behind it are to be read.
    pub(super) fn miss(&mut self, caller: u32, page: u64) -> u64 {
        let window = &mut self.windows[caller as usize];
        let goes_on = window.pages > 0 && page == window.expected;
        let is_next = window.last_read != NONE && page == window.last_read + 1;
        window.pages = if goes_on {
            (2 * window.pages).min(self.limits.most_pages)
        } else if page == 0 || is_next {
            self.limits.first_pages
        } else {
            0
        };
        window.expected = page + window.pages + 1;
        window.last_read = page;
        window.pages
    }
}
