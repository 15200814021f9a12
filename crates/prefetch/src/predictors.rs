//! Chooses pages to read together with one that the program waits for.
//!
//! *Slots* are those that left together: they are likely to be wanted together, and the drive reads neighbouring slots in one
//! operation. The next page of a sequential stream comes from [Streams], a page that a pointer leads to from [Trails], and
//! one at a recurring distance from [Offsets]. A drive reads eight pages from anywhere in hardly twice the time of one. The
//! number grows when prefetched pages are used and shrinks when they are not.

use clockhand_policy::PageId;

use crate::PAGE_BYTES;
use crate::offsets::{Expected, Offsets};
use crate::pointers::Trails;
use crate::streams::{StreamId, Streams};
use crate::window::Window;

/// The most pages that are read together because pointers lead to them.
const MOST_BY_POINTERS: usize = 16;

/// The most pages at distances that recur that are read together.
const MOST_BY_OFFSETS: usize = 8;

/// Pointers and distances choose at most this part of the pages for which there is room: they are wrong more often.
const PART_OF_UNSURE: usize = 4;

/// A program's memory, as far as predictors may look.
pub trait View {
    /// The number of pages.
    fn pages(&self) -> u32;

    /// The address of the program's first page.
    fn first_address(&self) -> u64;

    /// Reads words that the program has in its memory, from the word numbered `first` on. Pages that are not
    /// [in reach](Self::pages_in_reach) are zeros.
    fn peek(&self, first: u64, words: &mut [u64]);

    /// The pages of which words can be read, in ascending order.
    fn pages_in_reach(&self) -> Vec<PageId>;

    /// The slot of a page that could be read now.
    fn slot_to_read(&self, page: PageId) -> Option<u32>;

    /// The page whose content is in this slot, if it is one of this memory.
    fn page_in(&self, slot: u32) -> Option<PageId>;
}

/// A page that is going to be read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The page.
    pub page: PageId,
    /// Where it is in the store.
    pub slot: u32,
    /// The byte of memory for which the program waits, if it does wait for this page.
    pub offset: Option<u64>,
}

/// A page that is likely to be wanted with another one.
#[derive(Clone, Copy, Debug)]
pub struct Likely {
    /// The page.
    pub page: PageId,
    /// Where it is in the store.
    pub slot: u32,
    /// Why it is likely to be wanted.
    pub guess: Guess,
}

/// Why a page is read with another one: if for none of these reasons, a pointer leads to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guess {
    /// Its slot is beside.
    is_beside: bool,
    /// It is the next one of a stream.
    stream: Option<StreamId>,
    /// It is at a distance that recurs.
    expected: Option<Expected>,
}

impl Guess {
    /// Returns whether the program is likely to go on for a while before it wants the page: neighbours and targets of pointers
    /// are wanted at once.
    pub fn is_for_later(&self) -> bool {
        self.expected.is_some()
    }
}

/// One way to choose pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictor {
    /// Neighbours in the store.
    Slots,
    /// The next pages of sequential streams.
    Streams,
    /// Targets of the next pointers in an array or list.
    Pointers,
    /// Pages at distances that recur.
    Offsets,
}

impl Predictor {
    /// All of them, with the names by which options choose them.
    pub const NAMES: [(&'static str, Predictor); 4] = [
        ("slots", Predictor::Slots),
        ("streams", Predictor::Streams),
        ("pointers", Predictor::Pointers),
        ("offsets", Predictor::Offsets),
    ];
}

/// Some of the predictors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictorSet(u8);

impl PredictorSet {
    /// All predictors.
    pub const ALL: PredictorSet = PredictorSet((1 << Predictor::NAMES.len()) - 1);

    /// Returns whether it is one of them.
    pub fn has(self, predictor: Predictor) -> bool {
        self.0 >> predictor as u8 & 1 != 0
    }
}

impl FromIterator<Predictor> for PredictorSet {
    fn from_iter<I: IntoIterator<Item = Predictor>>(predictors: I) -> Self {
        let bits = predictors.into_iter().map(|predictor| 1 << predictor as u8);
        PredictorSet(bits.fold(0, |set, bit| set | bit))
    }
}

/// The predictors of one memory.
#[derive(Debug)]
pub struct Predictors {
    /// Those that are asked.
    asked: PredictorSet,
    /// The most pages that are read ahead and not yet accessed.
    capacity: usize,
    slots: Window,
    streams: Streams,
    trails: Trails,
    offsets: Offsets,
}

impl Predictors {
    /// Predictors without history; only `asked` ones predict. There is room for `capacity` pages.
    pub fn new(asked: PredictorSet, capacity: usize) -> Self {
        Predictors {
            asked,
            capacity,
            slots: Window::default(),
            streams: Streams::default(),
            trails: Trails::default(),
            offsets: Offsets::default(),
        }
    }

    /// There is room for so many pages from now on.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// The pages to read with a wanted one.
    pub fn likely_with(&mut self, wanted: Wanted, view: &dyn View) -> Vec<Likely> {
        let mut others = Vec::new();
        if self.capacity == 0 {
            return others;
        }
        if self.asked.has(Predictor::Slots) {
            self.add_beside(wanted.slot, &mut others, view);
        }
        let is_of_stream = self.asked.has(Predictor::Streams)
            && self.add_next_of_stream(wanted.page, &mut others, view);
        // A page that was discovered has no byte that is known to be accessed.
        let Some(offset) = wanted.offset else { return others };
        if self.asked.has(Predictor::Pointers) {
            // No pointer leads to the next page of a table.
            self.add_next_of_trail(wanted.page, offset, !is_of_stream, &mut others, view);
        }
        if self.asked.has(Predictor::Offsets) {
            self.add_expected(wanted.page, offset, &mut others, view);
        }
        others
    }

    /// A page has come into memory.
    pub fn arrived(&mut self, page: PageId) {
        self.trails.arrived(page);
    }

    /// A page is accessed that was read because of this guess.
    pub fn used(&mut self, guess: Guess) {
        if guess.is_beside {
            self.slots.was_used();
        }
        if let Some(stream) = guess.stream {
            self.streams.used(stream);
        }
        if let Some(expected) = guess.expected {
            self.offsets.used(expected);
        }
    }

    /// Adds the pages whose slots follow this one, or lead up to it, without a gap. A page that is in memory is a gap.
    fn add_beside(&mut self, slot: u32, others: &mut Vec<Likely>, view: &dyn View) {
        let together = self.slots.pages_together(slot, self.capacity);
        self.slots.moves(slot, together);
        let most = together - 1;
        let guess = Guess { is_beside: true, ..Guess::default() };
        let readable = |number: u32| {
            let page = view.page_in(number)?;
            view.slot_to_read(page).map(|slot| Likely { page, slot, guess })
        };
        others.extend((slot + 1..=u32::MAX).map_while(readable).take(most));
        let rest = most - others.len();
        others.extend((0..slot).rev().map_while(readable).take(rest));
    }

    /// Adds the pages that follow in memory, on the way that the program takes. Returns whether it has come that way.
    fn add_next_of_stream(
        &mut self,
        page: PageId,
        others: &mut Vec<Likely>,
        view: &dyn View,
    ) -> bool {
        let room = self.capacity - others.len();
        let (stream, next) = self.streams.follow(page, room);
        let is_of_stream = !next.is_empty();
        for next in next.into_iter().filter(|next| next.0 < view.pages()) {
            if let Some(other) = others.iter_mut().find(|other| other.page == next) {
                other.guess.stream = Some(stream);
            } else if let Some(slot) = view.slot_to_read(next) {
                let guess = Guess { stream: Some(stream), ..Guess::default() };
                others.push(Likely { page: next, slot, guess });
            }
        }
        is_of_stream
    }

    /// Adds the targets of pointers that the program follows.
    fn add_next_of_trail(
        &mut self,
        page: PageId,
        offset: u64,
        may_search: bool,
        others: &mut Vec<Likely>,
        view: &dyn View,
    ) {
        let room = self.capacity - others.len();
        let most = MOST_BY_POINTERS.min(self.capacity / PART_OF_UNSURE).min(room);
        let first = others.len();
        for next in self.trails.follow(offset, view, may_search) {
            if others.len() - first == most {
                break;
            }
            let is_new = next != page && others.iter().all(|other| other.page != next);
            if is_new && let Some(slot) = view.slot_to_read(next) {
                others.push(Likely { page: next, slot, guess: Guess::default() });
            }
        }
    }

    /// Adds the pages at distances from this one that recur, if there is no better reason to read another one: they would drop
    /// pages that are likelier, and leave gaps in rows of neighbours.
    fn add_expected(
        &mut self,
        page: PageId,
        offset: u64,
        others: &mut Vec<Likely>,
        view: &dyn View,
    ) {
        let expected = self.offsets.follow(offset);
        if !others.is_empty() {
            return;
        }
        let most = MOST_BY_OFFSETS.min(self.capacity / PART_OF_UNSURE);
        for expected in expected {
            if others.len() == most {
                break;
            }
            let number = expected.place / PAGE_BYTES;
            if number >= u64::from(view.pages()) {
                continue;
            }
            let next = PageId(number as u32);
            let is_new = next != page && others.iter().all(|other| other.page != next);
            if is_new && let Some(slot) = view.slot_to_read(next) {
                let guess = Guess { expected: Some(expected), ..Guess::default() };
                others.push(Likely { page: next, slot, guess });
                self.offsets.read(expected);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u32 = 1 << 16;

    /// A memory of pages that are all in the store, each in the slot of its own number.
    struct Stored;

    impl View for Stored {
        fn pages(&self) -> u32 {
            PAGES
        }

        fn first_address(&self) -> u64 {
            0
        }

        fn peek(&self, _: u64, words: &mut [u64]) {
            words.fill(0);
        }

        fn pages_in_reach(&self) -> Vec<PageId> {
            Vec::new()
        }

        fn slot_to_read(&self, page: PageId) -> Option<u32> {
            Some(page.0)
        }

        fn page_in(&self, slot: u32) -> Option<PageId> {
            (slot < PAGES).then_some(PageId(slot))
        }
    }

    /// Pages read if only the named predictors are asked and every page that is read is used.
    fn read_with(pages: impl Iterator<Item = u32>, names: &[&str]) -> usize {
        let asked = Predictor::NAMES.into_iter().filter(|(name, _)| names.contains(name));
        let asked = asked.map(|(_, predictor)| predictor).collect();
        let mut predictors = Predictors::new(asked, 64);
        let mut read = 0;
        for page in pages {
            let offset = Some(u64::from(page) * PAGE_BYTES);
            let wanted = Wanted { page: PageId(page), slot: page, offset };
            let others = predictors.likely_with(wanted, &Stored);
            read += others.len();
            others.iter().for_each(|other| predictors.used(other.guess));
        }
        read
    }

    #[test]
    fn a_predictor_that_is_not_asked_chooses_nothing() {
        let neighbours = || 100..200;
        assert!(read_with(neighbours(), &["slots"]) > 0);
        assert!(read_with(neighbours(), &["streams"]) > 0);
        assert_eq!(read_with(neighbours(), &["pointers"]), 0);
        assert_eq!(read_with(neighbours(), &[]), 0);
        let column = || (0..200).map(|row| 37 * row);
        assert!(read_with(column(), &["offsets"]) > 0);
        assert_eq!(read_with(column(), &["slots", "streams", "pointers"]), 0);
    }

    #[test]
    fn every_name_is_of_a_predictor_of_its_own() {
        for (_, predictor) in Predictor::NAMES {
            let alone = PredictorSet::from_iter([predictor]);
            let others = Predictor::NAMES.iter().filter(|(_, other)| alone.has(*other));
            assert_eq!(others.count(), 1);
            assert!(PredictorSet::ALL.has(predictor));
        }
    }
}
