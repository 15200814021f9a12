//! Every buffer against its slow, literal twin: the same requests give the same steps, hits and state.

use clockhand_policy::buffer::catalog::BUFFERS;
use clockhand_policy::buffer::{Action, Medium, Request, Source};
use clockhand_twins::{
    BufferEvent, BufferPages, BufferRequest, BufferStep, Flushed, Place, build_buffer,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::driver::{self, Event};
use crate::requests::{PAGES_PER_BLOCK, cases, requests, writes_of};
use crate::variants;

fn twin_request(request: Request) -> BufferRequest {
    match request {
        Request::Read(page) => BufferRequest::Read(page.0),
        Request::Write(page) => BufferRequest::Write(page.0),
        Request::ForceUnitAccess(page) => BufferRequest::ForceUnitAccess(page.0),
        Request::Flush => BufferRequest::Flush,
        Request::Trim(page) => BufferRequest::Trim(page.0),
        Request::Drain => BufferRequest::Drain,
    }
}

/// An event in the twins' words.
fn in_their_words(event: Event) -> BufferEvent {
    let place = |source| match source {
        Source::Dram => Place::Dram,
        Source::Nvm => Place::Nvm,
        Source::Flash => Place::Flash,
        Source::Request => Place::Request,
    };
    let steps = event.steps.into_iter().map(|(action, pages)| match action {
        Action::Flush => BufferStep::Flush(
            pages
                .iter()
                .map(|entry| Flushed {
                    page: entry.page.0,
                    dirty: entry.dirty,
                    from: place(entry.source),
                    stays: entry.stays,
                })
                .collect(),
        ),
        Action::Migrate => BufferStep::Migrate(pages[0].page.0),
        Action::Drop => BufferStep::Drop(pages.iter().map(|entry| entry.page.0).collect()),
    });
    let medium = |medium| if medium == Medium::Dram { Place::Dram } else { Place::Nvm };
    BufferEvent {
        steps: steps.collect(),
        hit: event.served.hit.map(medium),
        nvm_writes: event.served.nvm_writes.into(),
    }
}

/// An event whose first batches, if they stay in the buffer, are in the order of their pages: a page policy asks
/// for several write-backs at once, in no order.
fn in_page_order(mut event: BufferEvent) -> BufferEvent {
    let write_back = |step: &BufferStep| match step {
        BufferStep::Flush(batch) => {
            batch.iter().all(|flushed| flushed.stays).then(|| batch[0].page)
        }
        _ => None,
    };
    let count = event.steps.iter().take_while(|step| write_back(step).is_some()).count();
    event.steps[..count].sort_by_key(write_back);
    event
}

/// The pages of those lists of a page policy's state that both show, without bits and flags, which the page
/// policy's own test compares.
fn pages_in_lists(state: &Value, other: &Value) -> Vec<(String, Vec<Value>)> {
    let parts = state.as_object().expect("a state has named parts").iter();
    let lists = parts.filter_map(|(name, part)| Some((name, part.as_array()?)));
    let shared = lists.filter(|(name, _)| other.get(name).is_some());
    let page = |entry: &Value| entry.get(0).unwrap_or(entry).clone();
    shared.map(|(name, list)| (name.clone(), list.iter().map(page).collect())).collect()
}

/// Page-level buffers have the page policies' twins, which know reads and writes alone.
const PAGE_LEVEL: [&str; 6] = ["lru", "clock", "cflru", "lru-wsr", "craw", "credit-clock"];

fn has_twin(variant: &str) -> bool {
    let is_page_level = PAGE_LEVEL.contains(&variants::buffer_name(variant));
    !(is_page_level && (variant.contains("=safe") || variant.contains("=block")))
}

fn assert_same(variant: &str, total: u32, requests: &[Request], pages: u64) {
    let state_every = if total < 20 { 1 } else { 25 };
    let name = variants::buffer_name(variant);
    let is_page_level = PAGE_LEVEL.contains(&name);
    let settings = variant.split_once(':').map_or("", |(_, settings)| settings);
    let pairs = settings.split(',').filter(|pair| !pair.is_empty());
    let parameters: Vec<(&str, &str)> =
        pairs.map(|pair| pair.split_once('=').expect("a pair")).collect();
    let size = BufferPages { total: total as usize, per_block: PAGES_PER_BLOCK };
    let mut twin = build_buffer(name, size, &parameters);
    let mut driven = driver::build(variant, total, PAGES_PER_BLOCK as u32, pages as u32);
    let writes = writes_of(requests);
    driven.foresee(&writes);
    twin.foresee(&writes);
    for (position, &request) in requests.iter().enumerate() {
        if is_page_level && matches!(request, Request::Trim(_) | Request::Drain) {
            continue;
        }
        let at = format_args!("{variant}, {total} pages, request {position} of {requests:?}");
        let expected = twin.request(twin_request(request));
        let mut events = [in_their_words(driven.request(request)), expected];
        if is_page_level {
            events = events.map(in_page_order);
        }
        assert_eq!(events[0], events[1], "{at}");
        if position % state_every != 0 {
            continue;
        }
        let dirty: Vec<u64> = (0..pages).filter(|&page| driven.is_dirty(page)).collect();
        assert_eq!(dirty, twin.dirty(), "dirty pages: {at}");
        assert_eq!(driven.occupancy().dirty_pages as usize, dirty.len(), "their count: {at}");
        let expected = serde_json::from_str(&twin.state().to_string()).expect("a state is JSON");
        let state = driven.state();
        if is_page_level {
            let lists = pages_in_lists(&state, &expected);
            assert!(!lists.is_empty(), "a list: {at}");
            assert_eq!(lists, pages_in_lists(&expected, &state), "state: {at}");
        } else {
            assert_eq!(state, expected, "state: {at}");
        }
    }
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn small_buffers_follow_their_twins(requests in requests(40, 60, 25), total in 5..14u32) {
        for variant in variants::all().iter().filter(|variant| has_twin(variant)) {
            assert_same(variant, total, &requests, 40);
        }
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn larger_buffers_follow_their_twins(requests in requests(900, 400, 8), total in 60..200u32) {
        for variant in variants::all().iter().filter(|variant| has_twin(variant)) {
            assert_same(variant, total, &requests, 900);
        }
    }
}

#[test]
fn every_buffer_of_the_catalog_has_a_twin() {
    let names: Vec<&str> = BUFFERS.iter().map(|entry| entry.description.name).collect();
    assert_eq!(names, clockhand_twins::BUFFERS);
}
