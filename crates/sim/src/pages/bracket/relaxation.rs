//! The relaxed problem: every page for itself, paying a price for each step that it stays over.

use super::Costs;
use super::spans::{Span, Spans};

/// The prices of all priced steps, as their sums from the start on: those of the steps from `a` up to `b` are worth
/// `sums[b] - sums[a]`.
pub(super) struct Prices(Vec<i64>);

impl Prices {
    /// No price.
    pub(super) fn zero(steps: usize) -> Self {
        Prices(vec![0; steps + 1])
    }

    /// Takes new prices, rounded to whole units; what is below zero is zero.
    pub(super) fn set(&mut self, prices: &[f64], highest: i64) {
        let mut sum = 0;
        for (price, after) in prices.iter().zip(&mut self.0[1..]) {
            sum += (*price as i64).clamp(0, highest);
            *after = sum;
        }
    }

    /// The sum of the prices of the first `steps` steps.
    pub(super) fn sum(&self, steps: u32) -> i64 {
        self.0[steps as usize]
    }

    /// All prices.
    pub(super) fn total(&self) -> i64 {
        self.0[self.0.len() - 1]
    }
}

/// No page can be in this state. Any sum of costs and prices stays below, and twice this fits.
const IMPOSSIBLE: i64 = 1 << 62;

const KEPT: u8 = 1;
/// The page was dirty before.
const FROM_DIRTY: u8 = 2;

/// Solves the relaxed problem for some prices. Keeps its arrays from one solution to the next.
pub(super) struct Relaxation<'a> {
    spans: &'a Spans,
    costs: Costs,
    flush_at_end: bool,
    decisions: Vec<u8>,
    /// The number of pages that stay over each priced step, without the one that is referenced there.
    pub(super) occupancy: Vec<i32>,
}

impl<'a> Relaxation<'a> {
    pub(super) fn new(spans: &'a Spans, costs: Costs, flush_at_end: bool) -> Self {
        let longest = spans.by_page().map(<[Span]>::len).max().unwrap_or(0);
        Relaxation {
            spans,
            costs,
            flush_at_end,
            decisions: vec![0; longest],
            occupancy: vec![0; spans.priced_steps() + 1],
        }
    }

    /// The least cost, prices included, of all pages, and how many stay over each step then.
    pub(super) fn solve(&mut self, prices: &Prices) -> i128 {
        self.occupancy.fill(0);
        let spans = self.spans;
        let cost = spans.by_page().map(|page| i128::from(self.solve_page(page, prices))).sum();
        let mut open = 0;
        for change in &mut self.occupancy {
            open += *change;
            *change = open;
        }
        cost
    }

    /// Goes forward over the least cost to be clean and to be dirty after each span, then back over the decisions.
    fn solve_page(&mut self, spans: &[Span], prices: &Prices) -> i64 {
        let Costs { read, write } = self.costs;
        let Some(first) = spans.first() else { return 0 };
        let load = |span: &Span| if span.is_charged { read } else { 0 };
        let (mut clean, mut dirty) = match first.writes {
            true => (IMPOSSIBLE, load(first)),
            false => (load(first), IMPOSSIBLE),
        };
        for (position, pair) in spans.windows(2).enumerate() {
            let (last, span) = (&pair[0], &pair[1]);
            let rent = prices.sum(span.before) - prices.sum(last.upto);
            let dropped = clean.min(dirty + write) + load(span);
            let dropped_from = if dirty + write < clean { FROM_DIRTY } else { 0 };
            let (kept, kept_from) = match span.writes && dirty < clean {
                true => (dirty + rent, KEPT | FROM_DIRTY),
                false => (clean + rent, KEPT),
            };
            let (least, decision) =
                if kept <= dropped { (kept, kept_from) } else { (dropped, dropped_from) };
            self.decisions[position + 1] = decision;
            (clean, dirty) = if span.writes { (IMPOSSIBLE, least) } else { (least, dirty + rent) };
        }
        let last_upto = spans[spans.len() - 1].upto;
        let to_end = prices.total() - prices.sum(last_upto);
        let stays = !self.flush_at_end && to_end < write && dirty + to_end < clean;
        let dirty_end = dirty + if stays { to_end } else { write };
        if stays {
            self.occupancy[last_upto as usize] += 1;
        }
        self.go_back(spans, dirty_end < clean);
        clean.min(dirty_end)
    }

    fn go_back(&mut self, spans: &[Span], mut is_dirty: bool) {
        for position in (1..spans.len()).rev() {
            let (last, span) = (&spans[position - 1], &spans[position]);
            let decision = self.decisions[position];
            let stays_dirty = is_dirty && !span.writes;
            if stays_dirty || decision & KEPT != 0 {
                self.occupancy[last.upto as usize] += 1;
                self.occupancy[span.before as usize] -= 1;
            }
            is_dirty = stays_dirty || decision & FROM_DIRTY != 0;
        }
    }
}
