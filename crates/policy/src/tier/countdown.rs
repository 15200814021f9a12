//! When a period ends.

/// Says of each step whether a period ends with it: those with number `length`, `2 length`, …
#[derive(Clone, Copy, Debug)]
pub struct Countdown {
    length: u64,
    left: u64,
}

impl Countdown {
    /// Before the first step.
    ///
    /// # Panics
    ///
    /// If the length is 0.
    pub fn new(length: u64) -> Self {
        assert!(length > 0, "a period has a step");
        Countdown { length, left: length }
    }

    /// Takes a step; whether a period ends with it.
    #[inline]
    pub fn ends(&mut self) -> bool {
        self.left -= 1;
        let ends = self.left == 0;
        if ends {
            self.left = self.length;
        }
        ends
    }
}
