//! The next pages of sequential streams.

use std::collections::VecDeque;

use clockhand_policy::PageId;

use crate::window::Window;

/// The number of streams that are followed.
const MOST_STREAMS: usize = 8;

/// The reach of a stream whose prefetched pages were not used. In small memories, random pages are often nearer than
/// [`REACH`].
const NEIGHBOUR: u32 = 2;

/// A page belongs to a stream if it is at most this number of pages behind those read last, or before the last one.
const REACH: u32 = 16;

/// The sequential streams of a program, each with its direction and window. A program has several, as it scans a table
/// and looks things up elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Those that were followed last are at the end.
    streams: VecDeque<Stream>,
    begun: u64,
}

/// The number of a stream; the next one to begin has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId(u64);

#[derive(Debug)]
struct Stream {
    id: StreamId,
    window: Window,
    is_downwards: bool,
}

impl Stream {
    /// The distance from the last page of this stream, if the wanted page belongs to it.
    fn distance(&self, page: PageId) -> Option<u32> {
        let distance = page.0.abs_diff(self.window.last_place);
        (distance <= self.window.last_together + REACH).then_some(distance)
    }
}

impl Streams {
    /// Called when the program waits for a page. Returns its stream and the pages that are likely to be wanted next,
    /// nearest first. There must be room for them.
    pub(crate) fn follow(&mut self, page: PageId, capacity: usize) -> (StreamId, Vec<PageId>) {
        let distances = self.streams.iter().enumerate();
        let near = distances.filter_map(|(at, stream)| Some((stream.distance(page)?, at)));
        let nearest = near.min();
        let followed = nearest.and_then(|(_, at)| self.streams.remove(at));
        let mut stream = followed.unwrap_or_else(|| self.begin());
        if nearest.is_some() && page.0 != stream.window.last_place {
            stream.is_downwards = page.0 < stream.window.last_place;
        }
        let is_neighbour = nearest.is_some_and(|(distance, _)| distance <= NEIGHBOUR);
        let together = stream.window.pages_if(is_neighbour, capacity);
        stream.window.moves(page.0, together);
        let (id, is_downwards) = (stream.id, stream.is_downwards);
        self.streams.push_back(stream);
        let next = |distance| match is_downwards {
            true => page.0.checked_sub(distance),
            false => page.0.checked_add(distance),
        };
        (id, (1..together as u32).map_while(next).map(PageId).collect())
    }

    /// A new stream, in place of the one that has not been followed for longest.
    fn begin(&mut self) -> Stream {
        if self.streams.len() == MOST_STREAMS {
            self.streams.pop_front();
        }
        self.begun += 1;
        Stream { id: StreamId(self.begun), window: Window::default(), is_downwards: false }
    }

    /// A page has been accessed that was read ahead because of this stream, which may have been given up.
    pub(crate) fn used(&mut self, id: StreamId) {
        let mut streams = self.streams.iter_mut();
        if let Some(stream) = streams.find(|stream| stream.id == id) {
            stream.window.was_used();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages read with each page when all prefetched ones are used.
    fn read_with(pages: &[u32]) -> Vec<Vec<u32>> {
        let mut streams = Streams::default();
        let read = |&page: &u32| {
            let (id, next) = streams.follow(PageId(page), 64);
            next.iter().for_each(|_| streams.used(id));
            next.iter().map(|page| page.0).collect()
        };
        pages.iter().map(read).collect()
    }

    #[test]
    fn a_way_upwards_is_read_ahead_further_and_further() {
        let read = read_with(&[100, 101, 103, 107]);
        assert_eq!(read, [vec![], vec![102], vec![104, 105, 106], (108..115).collect()]);
    }

    #[test]
    fn a_way_downwards_ends_at_the_first_page() {
        assert_eq!(read_with(&[4, 3, 1]), [vec![], vec![2], vec![0]]);
    }

    #[test]
    fn ways_that_alternate_are_told_apart() {
        let read = read_with(&[100, 5000, 101, 4999, 103, 4997]);
        let expected =
            [vec![], vec![], vec![102], vec![4998], vec![104, 105, 106], vec![4996, 4995, 4994]];
        assert_eq!(read, expected);
    }

    #[test]
    fn pages_far_from_each_other_are_read_alone() {
        let scattered: Vec<u32> = (0..100).map(|number| number * 7919 % 100_003).collect();
        assert!(read_with(&scattered).iter().all(Vec::is_empty));
    }

    #[test]
    fn what_is_not_used_is_read_no_further() {
        let mut streams = Streams::default();
        let mut read = |page| streams.follow(PageId(page), 64);
        let (id, _) = read(0);
        assert_eq!(read(1).1.len(), 1);
        (0..14).for_each(|_| streams.used(id));
        let mut read = |page| streams.follow(PageId(page), 64).1.len();
        assert_eq!([3, 19, 27, 31, 33].map(&mut read), [15, 7, 3, 1, 1]);
    }

    #[test]
    fn use_of_a_stream_that_was_given_up_changes_nothing() {
        let mut streams = Streams::default();
        let (first, _) = streams.follow(PageId(0), 64);
        for page in 1..=MOST_STREAMS as u32 {
            streams.follow(PageId(1000 * page), 64);
        }
        streams.used(first);
        assert_eq!(streams.follow(PageId(0), 64).1, []);
    }
}
