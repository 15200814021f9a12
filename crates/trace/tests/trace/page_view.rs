//! Page views against a naive twin.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use clockhand_trace::{Folding, Numbering, Op, PageView, PageViewBuilder, Request};
use proptest::prelude::*;

type Reference = ((u32, u64), Op);

fn view_of(requests: &[Request], page_bytes: u64, folding: Folding) -> PageView {
    let mut builder = PageViewBuilder::new(page_bytes, folding).unwrap();
    builder.extend(requests);
    builder.finish().unwrap()
}

/// Every reference of the requests, byte by byte: the slow and obvious way.
fn references_of(requests: &[Request], page_bytes: u64) -> Vec<Reference> {
    let mut references = Vec::new();
    for request in requests {
        let mut last = None;
        for byte in 0..u64::from(request.bytes) {
            let page = (request.address + byte) / page_bytes;
            if last != Some(page) {
                references.push(((request.stream, page), request.op));
                last = Some(page);
            }
        }
    }
    references
}

/// The runs of the references: page, operations.
fn runs_of(references: &[Reference], folding: Folding) -> Vec<((u32, u64), Vec<Op>)> {
    let mut runs: Vec<((u32, u64), Vec<Op>)> = Vec::new();
    for (index, &(key, op)) in references.iter().enumerate() {
        let is_at_border = match folding {
            Folding::Runs => false,
            Folding::RunsWithin(period) => (index as u64).is_multiple_of(period.get()),
            Folding::None => true,
        };
        match runs.last_mut() {
            Some((last, ops)) if *last == key && !is_at_border => ops.push(op),
            _ => runs.push((key, vec![op])),
        }
    }
    runs
}

fn check_against_twin(requests: &[Request], page_bytes: u64, folding: Folding) {
    let references = references_of(requests, page_bytes);
    let view = view_of(requests, page_bytes, folding);
    let pages: BTreeSet<_> = references.iter().map(|&(key, _)| key).collect();
    let ids: BTreeMap<_, _> = pages.iter().enumerate().map(|(id, &key)| (key, id as u32)).collect();
    assert!(view.page_keys().iter().eq(&pages), "ids ascend with (stream, page)");
    assert_eq!(view.footprint_pages() as usize, pages.len());

    let is_write = |&(_, op): &Reference| op == Op::Write;
    let dirty: BTreeSet<_> =
        references.iter().copied().filter(is_write).map(|(key, _)| key).collect();
    assert_eq!(view.dirty_footprint_pages() as usize, dirty.len());
    assert_eq!(view.references(), references.len() as u64);
    assert_eq!(
        view.write_references(),
        references.iter().filter(|&reference| is_write(reference)).count() as u64
    );
    assert_eq!(view.read_references() + view.write_references(), view.references());

    let runs = runs_of(&references, folding);
    assert_eq!(view.records().len(), runs.len());
    for (record, (key, ops)) in view.records().iter().zip(&runs) {
        assert_eq!(record.page(), ids[key]);
        assert_eq!(record.first_is_write(), ops[0] == Op::Write);
        assert_eq!(record.rest_reads(), ops[1..].contains(&Op::Read));
        assert_eq!(record.rest_writes(), ops[1..].contains(&Op::Write));
        let [first, reads, writes] =
            [record.first_is_write(), record.rest_reads(), record.rest_writes()];
        assert_eq!(
            record.flags(),
            usize::from(first) | usize::from(reads) << 1 | usize::from(writes) << 2
        );
        assert_eq!(record.rest_flags(), usize::from(reads) | usize::from(writes) << 1);
    }
    let lengths: Vec<_> = runs.iter().map(|(_, ops)| ops.len() as u32).collect();
    match view.run_lengths() {
        Some(run_lengths) => assert!(run_lengths.iter().eq(lengths.iter().copied())),
        None => assert!(lengths.iter().all(|&length| length == 1)),
    }
    assert_eq!(view.run_lengths().is_some(), lengths.iter().any(|&length| length > 1));
    check_by_first_touch(requests, page_bytes, &view);
}

/// A view of the same requests whose pages are numbered by first touch differs in these numbers alone.
fn check_by_first_touch(requests: &[Request], page_bytes: u64, by_address: &PageView) {
    let builder = PageViewBuilder::new(page_bytes, by_address.folding()).unwrap();
    let mut builder = builder.numbered(Numbering::ByFirstTouch);
    builder.extend(requests);
    let view = builder.finish().unwrap();
    let places = view.places_by_address().unwrap();
    let mut touched = 0;
    for (record, expected) in view.records().iter().zip(by_address.records()) {
        assert!(record.page() <= touched, "a new page has the next number");
        touched += u32::from(record.page() == touched);
        assert_eq!(record.of_page(places[record.page() as usize]), *expected);
    }
    assert_eq!(touched, view.footprint_pages());
    assert_eq!(view.records().len(), by_address.records().len());
    assert_eq!(view.page_keys(), by_address.page_keys());
    let lengths = |view: &PageView| view.run_lengths().map(|all| all.iter().collect::<Vec<u32>>());
    assert_eq!(lengths(&view), lengths(by_address));
    assert_eq!(by_address.places_by_address(), None);
}

prop_compose! {
    fn a_request()(is_write: bool, address in 0_u64..600, bytes in 0_u32..120, stream in 0_u32..3) -> Request {
        let op = if is_write { Op::Write } else { Op::Read };
        Request { op, address, bytes, stream, time_ns: None, class: None }
    }
}

fn a_folding() -> impl Strategy<Value = Folding> {
    prop_oneof![
        Just(Folding::Runs),
        Just(Folding::None),
        (1_u64..9).prop_map(|period| Folding::RunsWithin(NonZeroU64::new(period).unwrap())),
    ]
}

proptest! {
    #[test]
    fn views_are_those_of_the_naive_twin(
        requests in prop::collection::vec(a_request(), 1..60),
        page_shift in 4_u32..10,
        folding in a_folding(),
    ) {
        prop_assume!(requests.iter().any(|request| request.bytes > 0));
        check_against_twin(&requests, 1 << page_shift, folding);
    }
}

#[test]
fn a_request_refers_to_every_page_it_touches_ascending() {
    let view = view_of(&[Request::new(Op::Write, 4095, 4098)], 4096, Folding::Runs);
    let pages: Vec<_> = view.records().iter().map(|record| record.page()).collect();
    assert_eq!((pages, view.page_keys()), (vec![0, 1, 2], &[(0, 0), (0, 1), (0, 2)][..]));
    assert!(view.run_lengths().is_none());
}

#[test]
fn equal_addresses_of_two_streams_are_different_pages() {
    let first = Request::new(Op::Read, 0, 1);
    let view = view_of(&[Request { stream: 1, ..first }, first], 4096, Folding::Runs);
    assert_eq!(view.page_keys(), [(0, 0), (1, 0)]);
    assert_eq!(view.records()[0].page(), 1);
}

#[test]
fn the_last_page_of_the_address_space_can_be_touched() {
    let view = view_of(&[Request::new(Op::Read, u64::MAX - 1, 100)], 1, Folding::None);
    assert_eq!(view.page_keys(), [(0, u64::MAX - 1), (0, u64::MAX)]);
}

#[test]
fn a_view_of_nothing_is_an_error() {
    let builder = PageViewBuilder::new(4096, Folding::Runs).unwrap();
    assert!(builder.finish().unwrap_err().to_string().contains("at least one reference"));
}

#[test]
fn a_page_size_that_is_no_power_of_two_is_refused() {
    let message = PageViewBuilder::new(5000, Folding::Runs).err().unwrap().to_string();
    assert!(message.contains("page size 5000 bytes"), "{message}");
}
