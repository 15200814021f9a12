//! How long pages that are to leave are held before they are written.
//!
//! The frames that are kept for writes, and for pages that are read ahead, are not the policy's. If what a program uses just
//! fits in its memory it does not fit in the policy's part, and pages leave that are wanted again at once. To write them would
//! be in vain. So if many of them come back, the kept frames are given back: they hold pages that are to leave, and a page is
//! written when it has not come back by then.

/// The most pages in one write.
const MOST_TOGETHER: usize = 256;

/// Pages are written in smaller parts while others are held, since those that are written need frames too.
const PARTS: usize = 4;

/// How many pages are held, and how many frames they may have.
pub(super) struct Holding {
    /// Frames that are kept for writes.
    reserve: usize,
    /// Frames that are kept for pages which are read ahead.
    lendable: usize,
    /// The number of pages that wait, the youngest, and are not written.
    held: usize,
    /// The number of frames for pages that are read ahead which have such pages.
    borrowed: usize,
    /// Since the number was chosen: pages that have left, and those of the kept frames that came back.
    left: usize,
    came_back: usize,
}

impl Holding {
    pub(super) fn new(reserve: usize, lendable: usize) -> Self {
        Holding { reserve, lendable, held: 0, borrowed: 0, left: 0, came_back: 0 }
    }

    /// A page leaves, at once or later.
    pub(super) fn leaves(&mut self) {
        self.left += 1;
    }

    /// A page that was to leave, or has just left, is wanted again.
    pub(super) fn came_back(&mut self) {
        self.came_back += 1;
    }

    /// Chooses how many pages are held from now on: more while a quarter of those that were to leave comes back, fewer while
    /// less than an eighth does. So many frames have pages on their way: what is borrowed is given back when it has none.
    pub(super) fn choose(&mut self, under_way: usize) {
        if self.left >= self.most_together() && self.reserve >= PARTS {
            self.choose_held();
        }
        let needed = if self.held == 0 { 0 } else { self.held + 2 * self.together() };
        self.borrowed = needed.max(under_way).saturating_sub(self.reserve).min(self.lendable);
    }

    fn choose_held(&mut self) {
        let step = self.most_together();
        if 4 * self.came_back >= self.left {
            // One part is collected and another is being written.
            let most = (self.reserve + self.lendable).saturating_sub(2 * step.div_ceil(PARTS));
            self.held = (self.held + step).min(most);
        } else if 8 * self.came_back < self.left {
            self.held = self.held.saturating_sub(step);
        }
        (self.left, self.came_back) = (0, 0);
    }

    /// The number of pages that are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// The number of frames for pages on their way to the store.
    pub(super) fn frames(&self) -> usize {
        self.reserve + self.borrowed
    }

    /// The number of them that are kept for pages which are read ahead.
    pub(super) fn borrowed(&self) -> usize {
        self.borrowed
    }

    /// The number of pages that are written together.
    pub(super) fn together(&self) -> usize {
        let parts = if self.held == 0 { 1 } else { PARTS };
        self.most_together().div_ceil(parts)
    }

    fn most_together(&self) -> usize {
        self.reserve.div_ceil(2).clamp(1, MOST_TOGETHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that are to leave, and come back or do not.
    fn leave(holding: &mut Holding, pages: usize, come_back: bool) {
        for _ in 0..pages {
            holding.leaves();
            if come_back {
                holding.came_back();
            }
            holding.choose(0);
        }
    }

    #[test]
    fn kept_frames_hold_pages_that_come_back_and_are_kept_again_when_none_does() {
        let mut holding = Holding::new(64, 64);
        leave(&mut holding, 1000, false);
        assert_eq!((holding.held(), holding.frames(), holding.borrowed()), (0, 64, 0));
        assert_eq!(holding.together(), 32);
        leave(&mut holding, 1000, true);
        assert_eq!((holding.held(), holding.frames(), holding.borrowed()), (112, 128, 64));
        assert_eq!(holding.together(), 8);
        leave(&mut holding, 1000, false);
        assert_eq!((holding.held(), holding.frames(), holding.together()), (0, 64, 32));
    }

    #[test]
    fn borrowed_frames_are_not_given_back_while_they_have_pages() {
        let mut holding = Holding::new(64, 64);
        leave(&mut holding, 1000, true);
        holding.held = 0;
        holding.choose(100);
        assert_eq!((holding.frames(), holding.borrowed()), (100, 36));
        holding.choose(64);
        assert_eq!((holding.frames(), holding.borrowed()), (64, 0));
    }

    #[test]
    fn without_a_reserve_none_is_held() {
        for reserve in 0..PARTS {
            let mut holding = Holding::new(reserve, 64);
            leave(&mut holding, 1000, true);
            assert_eq!((holding.held(), holding.frames()), (0, reserve));
        }
    }

    #[test]
    fn pages_that_are_held_leave_room_for_those_that_are_written() {
        for (reserve, lendable) in [(4, 0), (5, 3), (16, 0), (16, 16), (64, 64), (600, 10)] {
            let mut holding = Holding::new(reserve, lendable);
            leave(&mut holding, 100_000, true);
            let most = reserve + lendable;
            assert!(holding.frames() <= most && holding.borrowed() <= lendable);
            assert!(holding.held() + 2 * holding.together() <= most, "{reserve} {lendable}");
            assert!(holding.held() > 0);
        }
    }
}
