//! Events beside reads and writes: as text, as a table, as part of a trace, and what others see of
//! them.

use std::path::Path;

use clockhand_trace::{
    Action, Event, ObjectKind, ObjectNames, Op, OpenOptions, OptionalColumns, ReadReport, Reader,
    SelectedReader, Selection, TraceError, TraceInfo, TraceReader, TraceWriter, WriteOptions,
    find_target,
};
use proptest::prelude::*;

use crate::reading::{file_of, message_of, read_bytes};

fn events_of(reader: &mut dyn Reader) -> Result<(Vec<Event>, ReadReport), TraceError> {
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    while reader.next_events(&mut batch)? {
        assert!(!batch.is_empty());
        events.extend_from_slice(&batch);
    }
    assert!(batch.is_empty() && !reader.next_events(&mut batch)?, "the end stays the end");
    Ok((events, reader.report().clone()))
}

fn read_events(path: &Path) -> (Vec<Event>, ReadReport) {
    events_of(&mut TraceReader::open(path, &OpenOptions::default()).unwrap()).unwrap()
}

fn text_events(text: &str) -> (Vec<Event>, ReadReport) {
    let bytes = text.as_bytes().to_vec();
    let mut reader = TraceReader::from_bytes("events", bytes, &OpenOptions::default()).unwrap();
    events_of(&mut reader).unwrap()
}

#[test]
fn every_word_becomes_its_event() {
    let (events, report) = text_events(
        "# object f9: a name\nlength f9 1p\n@1.5 cr f9 0x10 5 7\ncw f9 0 1\nmr a1 2p 8\nmw f9 1 2\n\
         dr f9 0 4\ndw f9 0 4\nsync f9\nsync *\n@1.25 truncate f9 100\nrelease a1 4096 1p\n\
         release a1\ndiscard f9 0 512\ndelete f9\ncr f9 0 0\nrelease a1 0 0\n",
    );
    let actions: Vec<_> = events.iter().map(|event| (event.object, event.action)).collect();
    assert_eq!(
        actions,
        [
            (0, Action::Length { bytes: 4096 }),
            (0, Action::Call { op: Op::Read, offset: 16, bytes: 5, process: 7 }),
            (0, Action::Call { op: Op::Write, offset: 0, bytes: 1, process: 0 }),
            (1, Action::Memory { op: Op::Read, address: 8192, bytes: 8 }),
            (0, Action::Memory { op: Op::Write, address: 1, bytes: 2 }),
            (0, Action::Direct { op: Op::Read, offset: 0, bytes: 4 }),
            (0, Action::Direct { op: Op::Write, offset: 0, bytes: 4 }),
            (0, Action::Sync),
            (0, Action::SyncAll),
            (0, Action::Truncate { bytes: 100 }),
            (1, Action::Release { address: 4096, bytes: 4096 }),
            (1, Action::ReleaseAll),
            (0, Action::Discard { address: 0, bytes: 512 }),
            (0, Action::Delete),
        ]
    );
    let times: Vec<_> = events.iter().filter_map(|event| event.time_ns).collect();
    assert_eq!(times, [1_500_000_000, 1_250_000_000]);
    assert_eq!(report.stream_names, ["a name", "a1"]);
    assert_eq!(report.object_kinds, [ObjectKind::File, ObjectKind::Anonymous]);
    assert_eq!((report.requests, report.zero_size_requests), (4, 2));
    assert!(report.events.contains(&("syncs", 2)), "{:?}", report.events);
    assert!(report.passed_over.is_empty());
}

#[test]
fn other_commands_get_reads_and_writes_and_hear_what_is_left_out() {
    let text = "length f1 9\ncr f1 0 5\ndw f1 0 4\nsync *\nsync f1\nmw a1 0 8\n";
    let (requests, report) = read_bytes(text.as_bytes(), None).unwrap();
    let seen: Vec<_> =
        requests.iter().map(|request| (request.op, request.stream, request.bytes)).collect();
    assert_eq!(seen, [(Op::Read, 0, 5), (Op::Write, 1, 8)]);
    let note = report.notes.join("; ");
    assert!(note.contains("lengths of files (1), O_DIRECT writes (1), syncs (2)"), "{note}");
}

#[test]
fn a_line_that_is_no_event_is_one_sentence_with_its_place() {
    for (line, reason) in [
        ("cr f1 0", "ends before the size"),
        ("cw f1 0 4x", "has no number for the size"),
        ("cr f1 9223372036854775808 1", "reaches beyond byte 2^63"),
        ("cr f1 18446744073709551616 1", "has no number for the address"),
        ("truncate f1 0x8000000000000001", "reaches beyond byte 2^63"),
        ("mr a1 0 4294967296", "has a size above 4294967295 bytes"),
        ("sync f7", "syncs a file that no event before it names"),
        ("cr a1 0 5", "has anonymous memory where only a file can stand"),
        ("sync * f1", "does not end after the *"),
        ("cr f1 0 5 1 2", "has more fields than the event takes"),
        ("cr f1 0 5 4294967296", "has no decimal process"),
        ("mr b1 0 5", "has no object such as a1 or f1"),
        ("mx a1 0 5", "does not begin with mr, mw"),
        ("@1s mr a1 0 5", "has no decimal number of seconds"),
        ("@1", "ends after the time"),
    ] {
        let text = format!("cr f1 0 100\nmr a1 0 8\nmr a1 0 8\n{line}\nmr a1 8 8\n");
        let message = message_of(text.as_bytes(), None);
        assert!(message.contains(&format!(", line 4: the line {reason}")), "{line}: {message}");
        assert!(message.contains("; correct or remove it"), "{message}");
    }
    let message = message_of(b"cr f1 0 100\nmr a1 0 8\ncr f1 0", None);
    assert!(message.contains("was cut in line 3"), "{message}");
}

fn write_events(target: &str, events: &[Event], objects: ObjectNames) -> tempfile::NamedTempFile {
    let file = file_of(b"");
    let target = find_target(target).unwrap();
    let options = WriteOptions { target, widen: false, labels: Vec::new() };
    let mut writer = TraceWriter::create(file.path(), &options, OptionalColumns::EVENTS).unwrap();
    for batch in events.chunks(5) {
        writer.write_events(batch, objects).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), [""; 0]);
    file
}

#[test]
fn the_excerpt_goes_through_text_and_table_without_loss() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/excerpts/events.txt");
    let (events, report) = read_events(&path);
    let objects = ObjectNames { names: &report.stream_names, kinds: &report.object_kinds };
    for target in ["events", "parquet"] {
        let file = write_events(target, &events, objects);
        let (read, read_report) = read_events(file.path());
        assert_eq!(read, events, "{target}");
        assert_eq!(read_report.stream_names, report.stream_names, "{target}");
        assert_eq!(read_report.object_kinds, report.object_kinds, "{target}");
        assert_eq!(read_report.events, report.events, "{target}");
    }
}

fn action() -> impl Strategy<Value = Action> {
    let op = prop::sample::select(vec![Op::Read, Op::Write]);
    (0..11, op, 0_u64..1 << 62, 1..=u32::MAX, 0..3_u32).prop_map(
        |(kind, op, address, bytes, process)| match kind {
            0 => Action::Memory { op, address, bytes },
            1 => Action::Call { op, offset: address, bytes, process },
            2 => Action::Direct { op, offset: address, bytes },
            3 => Action::Length { bytes: address },
            4 => Action::Sync,
            5 => Action::SyncAll,
            6 => Action::Truncate { bytes: address },
            7 => Action::Delete,
            8 => Action::Release { address, bytes: bytes.into() },
            9 => Action::ReleaseAll,
            _ => Action::Discard { address, bytes: bytes.into() },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(
        drawn in prop::collection::vec((0..3_u32, action(), any::<Option<u32>>()), 1..40),
    ) {
        // Objects 0 and 1 are files, which begin with a reference; object 2 is anonymous.
        let refer = |object| {
            Event::new(object, Action::Memory { op: Op::Read, address: 0, bytes: 1 })
        };
        let mut events = vec![refer(0), refer(1), refer(2)];
        for (object, action, time_ns) in drawn {
            let object = match action {
                Action::SyncAll => 0,
                _ if action.is_of_files() => object % 2,
                _ => object,
            };
            events.push(Event { object, time_ns: time_ns.map(u64::from), action });
        }
        let names = ["f4", "a file: with # and more", ""].map(str::to_owned);
        let kinds = [ObjectKind::File, ObjectKind::File, ObjectKind::Anonymous];
        let objects = ObjectNames { names: &names[..2], kinds: &kinds };
        for target in ["events", "parquet"] {
            let file = write_events(target, &events, objects);
            let (read, report) = read_events(file.path());
            prop_assert_eq!(&read, &events, "{}", target);
            prop_assert_eq!(&report.stream_names[..2], &names[..2], "{}", target);
            prop_assert_eq!(report.object_kinds, kinds, "{}", target);
        }
    }
}

#[test]
fn a_table_of_events_is_a_trace_to_all_who_want_requests() {
    let write = Action::Call { op: Op::Write, offset: 5, bytes: 6, process: 1 };
    let events = [Event::new(0, write), Event::new(0, Action::Sync)];
    let file = write_events("parquet", &events, ObjectNames::default());
    let (requests, report) = read_bytes(&std::fs::read(file.path()).unwrap(), None).unwrap();
    assert_eq!((requests[0].op, requests[0].address, requests[0].bytes), (Op::Write, 5, 6));
    assert_eq!(report.passed_over, [("syncs", 1)]);
    assert!(report.ignored_columns.is_empty(), "{:?}", report.ignored_columns);
}

/// The syncs and discards of a batch once came before all its requests.
#[test]
fn logs_of_requests_keep_their_commands_in_place() {
    for name in ["fio-iolog.log", "etw.csv", "blkparse.txt"] {
        let excerpts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/excerpts");
        let (events, _) = read_events(&excerpts.join(name));
        let times: Vec<_> = events.iter().filter_map(|event| event.time_ns).collect();
        assert!(times.is_sorted() && times.len() == events.len(), "{name}: {times:?}");
        let commands = events.iter().skip(1).filter(|event| event.request().is_none());
        assert!(commands.count() > 0, "{name}");
    }
}

#[test]
fn a_part_keeps_the_events_between_its_requests_and_the_lengths_of_its_files() {
    let text = "length f1 9\ncr f1 0 1\nsync f1\ncr f1 1 1\nlength f2 7\ncr f2 2 1\nsync *\ndelete f1\n\
                cr f1 3 1\ndelete f1\n";
    let part = |selection| {
        let bytes = text.as_bytes().to_vec();
        let reader = TraceReader::from_bytes("events", bytes, &OpenOptions::default()).unwrap();
        let mut reader = SelectedReader::new(reader, "events", selection);
        let (events, report) = events_of(&mut reader).unwrap();
        let words = events.iter().map(|event| event.action.plural());
        (words.collect::<Vec<_>>().join(", "), report.requests)
    };
    let selection = Selection { skip: 1, limit: Some(2), ..Selection::default() };
    assert_eq!(
        part(selection),
        ("lengths of files, syncs, calls, lengths of files, calls".to_owned(), 2)
    );
    let selection = Selection { streams: Some(vec![1..=1]), ..Selection::default() };
    assert_eq!(part(selection), ("lengths of files, calls, syncs".to_owned(), 1));
}

#[test]
fn info_shows_kinds_names_and_lengths() {
    let text = "length f1 9\ncw f1 8 3\nmr a4 0 8\nsync f1\n";
    let bytes = text.as_bytes().to_vec();
    let mut reader = TraceReader::from_bytes("events", bytes, &OpenOptions::default()).unwrap();
    let info = TraceInfo::read(&mut reader, 4096).unwrap();
    let [file, memory] = &info.stream_counts[..] else { panic!("{:?}", info.stream_counts) };
    assert_eq!((file.kind, file.file_bytes), (Some(ObjectKind::File), Some(11)));
    assert_eq!((file.name.as_deref(), file.write_requests), (Some("f1"), 1));
    assert_eq!((memory.kind, memory.file_bytes), (Some(ObjectKind::Anonymous), None));
    assert_eq!(info.report.events, [("lengths of files", 1), ("syncs", 1)]);
}
