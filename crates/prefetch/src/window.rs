//! The number of pages that are read together.

/// The most pages that are read together because they are neighbours.
const MOST_TOGETHER: u32 = 16;

/// The number of pages that are read together: the more of those are used that were read ahead, the more, and half as
/// many at least as the last time. This is Linux's rule for its swap (`__swapin_nr_pages` in mm/swap_state.c).
#[derive(Debug)]
pub struct Window {
    /// Pages that were accessed since the last time pages were read ahead.
    used: u32,
    /// The number of pages that were read together the last time.
    pub(crate) last_together: u32,
    /// The place of the last page that the program waited for.
    pub(crate) last_place: u32,
}

impl Default for Window {
    fn default() -> Self {
        Window { used: 0, last_together: 1, last_place: u32::MAX }
    }
}

impl Window {
    /// How many pages to read together, the one at `place` included: a power of two, and no more than there is room for.
    pub fn pages_together(&self, place: u32, capacity: usize) -> usize {
        self.pages_if(place.abs_diff(self.last_place) == 1, capacity)
    }

    /// The same when it is known whether the page is a neighbour of the last one.
    pub(crate) fn pages_if(&self, is_neighbour: bool, capacity: usize) -> usize {
        let by_use = match self.used {
            0 if !is_neighbour => 1,
            used => (used + 2).next_power_of_two(),
        };
        let most = MOST_TOGETHER.min(capacity as u32 + 1);
        by_use.max(self.last_together / 2).min(1 << most.ilog2()) as usize
    }

    /// So many pages are read together.
    pub fn moves(&mut self, place: u32, together: usize) {
        *self = Window { used: 0, last_together: together as u32, last_place: place };
    }

    /// A page that was read because of this window has been used.
    pub fn was_used(&mut self) {
        self.used += 1;
    }
}
