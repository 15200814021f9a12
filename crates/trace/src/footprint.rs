//! The pages a trace touches, numbered as they appear.

use rustc_hash::FxHashMap;

/// A page: its stream and its number in the stream.
pub(crate) type PageKey = (u32, u64);

/// Numbers pages in the order of their first touch and remembers which were written.
#[derive(Default)]
pub(crate) struct Footprint {
    ids: FxHashMap<PageKey, u32>,
    keys: Vec<PageKey>,
    dirty: Vec<bool>,
    dirty_pages: u32,
}

impl Footprint {
    /// The number of a page, given now if it is new; `None` when it would be number `limit_pages`.
    #[inline]
    pub(crate) fn number(&mut self, key: PageKey, limit_pages: u32) -> Option<u32> {
        if let Some(&id) = self.ids.get(&key) {
            return Some(id);
        }
        let id = self.keys.len() as u32;
        if id >= limit_pages {
            return None;
        }
        self.ids.insert(key, id);
        self.keys.push(key);
        self.dirty.push(false);
        Some(id)
    }

    /// Remembers that the page was written.
    #[inline]
    pub(crate) fn write(&mut self, id: u32) {
        let dirty = &mut self.dirty[id as usize];
        self.dirty_pages += u32::from(!*dirty);
        *dirty = true;
    }

    pub(crate) fn pages(&self) -> u32 {
        self.keys.len() as u32
    }

    pub(crate) fn dirty_pages(&self) -> u32 {
        self.dirty_pages
    }

    pub(crate) fn into_keys(self) -> Vec<PageKey> {
        self.keys
    }
}
