//! What a request of several pages costs.

use crate::Cost;

/// What a device charges in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCosts {
    /// s, once a request.
    pub setup: Cost,
    /// x, for each page.
    pub transfer: Cost,
    /// e, for each page written.
    pub erase: Cost,
}

impl RequestCosts {
    /// One request of pages at these places: s + k·(x + e), and min(s, g·x) for each gap of g places between neighbours.
    pub fn request(&self, places: &[u64]) -> Cost {
        let mut places = places.to_vec();
        places.sort_unstable();
        if places.is_empty() {
            return Cost::from(0);
        }
        let mut time = self.setup;
        for (position, place) in places.iter().enumerate() {
            time += self.transfer + self.erase;
            if position > 0 {
                let gap = place - places[position - 1] - 1;
                time += self.setup.min(self.transfer * i128::from(gap));
            }
        }
        time
    }
}
