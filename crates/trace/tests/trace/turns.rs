//! Programs that share a memory: requests and events of several traces in turns, against a slow twin.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use clockhand_trace::progress::Progress;
use clockhand_trace::{
    Action, Event, JoinOrder, Op, OpenOptions, ReadReport, Request, RequestTable, TraceInput,
};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::reading::file_of;

/// The requests and syncs of a part: a stream and a page, or a sync in place of the page.
type Part = Vec<(u32, Option<u64>)>;

/// What is handed out: the file, its stream and its page, in turns of `turn` requests.
fn in_turns(parts: &[Part], turn: u64) -> Vec<(usize, u32, Option<u64>)> {
    let mut left: Vec<VecDeque<_>> =
        parts.iter().map(|part| part.iter().copied().collect()).collect();
    let mut out = Vec::new();
    while left.iter().any(|part| !part.is_empty()) {
        for (file, part) in left.iter_mut().enumerate() {
            let mut requests = 0;
            while requests < turn
                && let Some((stream, page)) = part.pop_front()
            {
                requests += u64::from(page.is_some());
                out.push((file, stream, page));
            }
        }
    }
    out
}

/// The same with the streams of the joined trace: a number per file and stream, by first appearance.
fn numbered(out: &[(usize, u32, Option<u64>)]) -> Vec<(u32, Option<u64>)> {
    let mut numbers = HashMap::new();
    out.iter()
        .map(|&(file, stream, page)| {
            let next = numbers.len() as u32;
            (*numbers.entry((file, stream)).or_insert(next), page)
        })
        .collect()
}

fn joined(parts: Vec<TraceInput>, order: &str) -> TraceInput {
    TraceInput::joined("mix", parts, JoinOrder::of_name(order).unwrap())
}

fn requests_of(input: &TraceInput) -> (Vec<Request>, ReadReport) {
    let mut requests = Vec::new();
    let report = input.for_each_batch(&Progress::default(), &mut |batch| {
        requests.extend_from_slice(batch);
        Ok(())
    });
    (requests, report.unwrap())
}

/// Requests in memory, one nanosecond apart.
fn table(name: usize, part: &Part) -> TraceInput {
    let pages: Vec<_> = part.iter().filter_map(|&(stream, page)| Some((stream, page?))).collect();
    let table = RequestTable {
        is_write: pages.iter().map(|(_, page)| page % 2 == 1).collect(),
        addresses: pages.iter().map(|(_, page)| page << 12).collect(),
        streams: Some(pages.iter().map(|(stream, _)| *stream).collect()),
        times_ns: Some((0..pages.len() as u64).collect()),
        sizes_bytes: None,
    };
    TraceInput::table(format!("part {name}"), Arc::new(table))
}

/// The same as a file of events; stream 2 is anonymous memory, the others are files.
fn events_file(part: &Part) -> (NamedTempFile, TraceInput) {
    let object = |stream| format!("{}{stream}", if stream == 2 { 'a' } else { 'f' });
    let mut text = String::from("mr f0 0 1\nmr f1 0 1\nmr a2 0 1\n");
    for &(stream, page) in part {
        text += &match page {
            Some(page) => format!("mr {} {} 1\n", object(stream), page << 12),
            None => "sync *\n".to_owned(),
        };
    }
    let file = file_of(text.as_bytes());
    let options = OpenOptions { format: Some("events".to_owned()), ..OpenOptions::default() };
    let input = TraceInput::opened(file.path(), options);
    (file, input)
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let page = prop_oneof![4 => (0_u64..9).prop_map(Some), 1 => Just(None)];
    prop::collection::vec(prop::collection::vec((0_u32..3, page), 1..40), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn requests_come_in_turns_and_no_two_files_share_a_stream(
        parts in parts(), turn in prop_oneof![1_u64..6, Just(1000)],
    ) {
        let mut parts = parts;
        for part in &mut parts {
            part.retain(|(_, page)| page.is_some());
            part.push((0, Some(3)));
        }
        let inputs = parts.iter().enumerate().map(|(name, part)| table(name, part)).collect();
        let (requests, report) = requests_of(&joined(inputs, &format!("turns:{turn}")));
        let expected = numbered(&in_turns(&parts, turn));
        let found: Vec<_> =
            requests.iter().map(|it| (it.stream, Some(it.address >> 12))).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(requests.iter().all(|it| it.time_ns.is_none()));
        let is_odd = |it: &Request| (it.address >> 12) % 2 == 1;
        prop_assert!(requests.iter().all(|it| is_odd(it) == (it.op == Op::Write)));
        prop_assert_eq!(report.requests, requests.len() as u64);
        let note = format!("{} files are one trace in turns of {turn} requests", parts.len());
        prop_assert!(report.notes[0].starts_with(&note), "{:?}", report.notes);
    }

    #[test]
    fn events_beside_requests_do_not_count_as_turns(parts in parts(), turn in 1_u64..6) {
        let (files, inputs): (Vec<_>, Vec<_>) = parts.iter().map(events_file).unzip();
        let mut events = Vec::new();
        let report = joined(inputs, &format!("turns:{turn}"))
            .for_each_event_batch(&Progress::default(), &mut |batch| {
                events.extend_from_slice(batch);
                Ok(())
            })
            .unwrap();
        drop(files);
        let begin = [(0, Some(0)), (1, Some(0)), (2, Some(0))];
        // A sync of everything names no object: it stands for object 0 of its file.
        let whole: Vec<Part> = parts
            .iter()
            .map(|part| {
                let part = part.iter().map(|&(it, page)| (page.map_or(0, |_| it), page));
                begin.into_iter().chain(part).collect()
            })
            .collect();
        let expected: Vec<_> = numbered(&in_turns(&whole, turn))
            .into_iter()
            .map(|(object, page)| match page {
                Some(page) => {
                    Event::new(object, Action::Memory { op: Op::Read, address: page << 12, bytes: 1 })
                }
                None => Event::new(object, Action::SyncAll),
            })
            .collect();
        prop_assert_eq!(events, expected);
        prop_assert_eq!(report.object_kinds.len(), 3 * parts.len());
    }
}

#[test]
fn turns_go_on_over_many_batches() {
    let long: Part = (0..100_000).map(|page| (0, Some(page))).collect();
    let parts = [long.clone(), long[..10].to_vec(), long];
    let inputs = parts.iter().enumerate().map(|(name, part)| table(name, part)).collect();
    let (requests, _) = requests_of(&joined(inputs, "turns:7"));
    let found: Vec<_> = requests.iter().map(|it| (it.stream, Some(it.address >> 12))).collect();
    assert!(found == numbered(&in_turns(&parts, 7)), "the order differs");
}

#[test]
fn other_turns_are_another_trace() {
    let part: Part = (0..10).map(|page| (0, Some(page))).collect();
    let digest =
        |order| requests_of(&joined(vec![table(0, &part), table(1, &part)], order)).1.sha256;
    assert_eq!(digest("turns:2"), digest("turns:2"));
    let all: std::collections::HashSet<_> =
        ["turns:2", "turns:3", "files"].into_iter().map(digest).collect();
    assert_eq!(all.len(), 3);
}

#[test]
fn an_order_has_a_name() {
    for name in ["", "turn", "turns", "turns:", "turns:0", "turns:-1", "turns:2k", "Time"] {
        assert_eq!(JoinOrder::of_name(name), None, "{name}");
    }
}
