//! How the prices climb: the volume algorithm of Barahona and Anbil.
//!
//! The average of the solutions so far, newer ones weighed more, tells where too many pages stay; prices rise there and
//! fall where places are left. Each step starts from the best prices so far.

use super::relaxation::{Prices, Relaxation};

/// Solutions that look for one price for all steps, with which the climb begins.
const UNIFORM_SOLUTIONS: u32 = 12;
/// The weight of the newest solution in the average.
const NEWEST_SHARE: f64 = 0.1;
/// Solutions without gain until steps become shorter.
const PATIENCE: u32 = 6;
const SHORTER: f64 = 0.5;

/// Prices that climb.
pub(super) struct Ascent<'a> {
    relaxation: Relaxation<'a>,
    /// Pages other than the referenced one that can stay over a step.
    places: u32,
    /// No place is worth more: a read and a write.
    highest: i64,
    /// The prices of the best bound, or new ones from there.
    centre: Vec<f64>,
    trial: Vec<f64>,
    average: Vec<f64>,
    prices: Prices,
    best: i128,
    /// The length of a step towards the target cost.
    stride: f64,
    without_gain: u32,
}

impl<'a> Ascent<'a> {
    pub(super) fn new(relaxation: Relaxation<'a>, places: u32, highest: i64) -> Self {
        let steps = relaxation.occupancy.len() - 1;
        let mut ascent = Ascent {
            relaxation,
            places,
            highest,
            centre: vec![0.0; steps],
            trial: vec![0.0; steps],
            average: vec![0.0; steps],
            prices: Prices::zero(steps),
            best: 0,
            stride: 0.3,
            without_gain: 0,
        };
        ascent.begin();
        ascent
    }

    /// The best bound so far, in units of cost.
    pub(super) fn best(&self) -> i128 {
        self.best
    }

    /// The prices of the best bound.
    pub(super) fn best_prices(&mut self) -> &Prices {
        self.prices.set(&self.centre, self.highest);
        &self.prices
    }

    /// The bound under the trial prices.
    fn solve(&mut self) -> i128 {
        self.prices.set(&self.trial, self.highest);
        let cost = self.relaxation.solve(&self.prices);
        cost - i128::from(self.prices.total()) * i128::from(self.places)
    }

    /// One price for all steps: the highest that still lets more pages stay than there are places.
    fn begin(&mut self) {
        let steps = self.trial.len();
        let places = i128::from(self.places) * steps as i128;
        let (mut low, mut high) = (0, self.highest);
        let mut price = 0;
        for _ in 0..UNIFORM_SOLUTIONS {
            self.trial.fill(price as f64);
            let bound = self.solve();
            if bound > self.best || price == 0 {
                self.best = bound;
                self.centre.copy_from_slice(&self.trial);
                self.take_average(1.0);
            }
            let occupied: i128 =
                self.relaxation.occupancy[..steps].iter().map(|&pages| i128::from(pages)).sum();
            if occupied > places {
                low = price
            } else {
                high = price
            }
            price = low + (high - low) / 2;
        }
    }

    fn take_average(&mut self, newest_share: f64) {
        for (average, &pages) in self.average.iter_mut().zip(&self.relaxation.occupancy) {
            *average += newest_share * (f64::from(pages) - *average);
        }
    }

    /// Takes a step towards `target`, a cost that a schedule is known for.
    pub(super) fn climb(&mut self, target: i128) {
        let places = f64::from(self.places);
        let slope = |price: f64, average: f64| {
            let slope = average - places;
            if price <= 0.0 && slope < 0.0 { 0.0 } else { slope }
        };
        let squares: f64 = self
            .centre
            .iter()
            .zip(&self.average)
            .map(|(&price, &average)| slope(price, average).powi(2))
            .sum();
        if squares == 0.0 {
            self.start_again();
            return;
        }
        let length = self.stride * (target - self.best).max(0) as f64 / squares;
        for ((trial, &centre), &average) in
            self.trial.iter_mut().zip(&self.centre).zip(&self.average)
        {
            *trial = (centre + length * slope(centre, average)).clamp(0.0, self.highest as f64);
        }
        let bound = self.solve();
        self.take_average(NEWEST_SHARE);
        if bound > self.best {
            self.best = bound;
            self.centre.copy_from_slice(&self.trial);
            self.without_gain = 0;
            self.stride = (self.stride * 1.1).min(2.0);
        } else {
            self.without_gain += 1;
            if self.without_gain == PATIENCE {
                self.start_again();
            }
        }
    }

    /// Forgets the average, which has led nowhere, and takes shorter steps from the best prices.
    fn start_again(&mut self) {
        self.without_gain = 0;
        self.stride *= SHORTER;
        self.trial.copy_from_slice(&self.centre);
        self.solve();
        self.take_average(1.0);
    }
}
