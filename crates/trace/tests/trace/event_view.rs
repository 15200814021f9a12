//! Events as a page cache replays them.

use clockhand_trace::{EventView, EventViewBuilder, MarkKind, OpenOptions, Reader, TraceReader};

fn view(text: &str, ahead_pages: u64) -> EventView {
    let bytes = text.as_bytes().to_vec();
    let options = OpenOptions { format: Some("events".to_owned()), ..OpenOptions::default() };
    let mut reader = TraceReader::from_bytes("events", bytes, &options).unwrap();
    let mut builder = EventViewBuilder::new(4096, ahead_pages).unwrap();
    let mut batch = Vec::new();
    while reader.next_events(&mut batch).unwrap() {
        builder.extend(&batch);
    }
    builder.finish(&reader.report().object_kinds).unwrap()
}

/// `5w` and letters: call, covered, fresh, unwritten; a bar before each event.
fn shown(view: &EventView) -> String {
    let mut text = String::new();
    for reference in view.references() {
        let bar = if reference.begins_event() { "|" } else { "" };
        let op = if reference.is_write() { 'w' } else { 'r' };
        let letters = [
            (reference.is_call(), 'c'),
            (reference.is_covered(), 'v'),
            (reference.is_fresh(), 'f'),
            (reference.is_unwritten(), 'u'),
        ];
        let letters: String =
            letters.iter().filter(|(is_so, _)| *is_so).map(|(_, letter)| letter).collect();
        text += &format!("{bar}{}{op}{letters} ", reference.page());
    }
    text.trim_end().to_owned()
}

#[test]
fn a_write_is_covered_if_nothing_of_the_page_is_left() {
    let view = view("length f1 10000\ncw f1 0 100\ncw f1 4000 8192\ncw f1 3p 5\ncw f2 1 5000\n", 0);
    assert_eq!(shown(&view), "|0wc |0wc 1wcv 2wcv |3wcv |4wc 5wc");
    let unknown_and_longer =
        "length f1 10000\ncw f1 2p 1808\ncw f1 12p 9\ncw f1 14p 9\ncw f1 12p 9\n";
    assert_eq!(shown(&self::view(unknown_and_longer, 0)), "|0wcv |1wcv |2wcv |1wc");
}

#[test]
fn anonymous_memory_is_fresh_until_its_first_reference_and_after_a_release() {
    let view = view("mr a1 0 1\nmr a1 0 1\nmw a1 0 1\nmr a1 0 1\nrelease a1 0 1p\nmw a1 0 1\n", 0);
    assert_eq!(shown(&view), "|0rfu |0ru |0wu |0r |0wfu");
    let [mark] = view.marks() else { panic!("{:?}", view.marks()) };
    assert_eq!(
        (mark.before, &mark.pages, mark.kind),
        (4, &(0..1), MarkKind::Drop { partial: None })
    );
}

#[test]
fn marks_name_pages_by_dense_id_and_only_whole_ones() {
    let view = view(
        "length f1 5p\ncr f1 0 5p\ntruncate f1 5000\ntruncate f1 9p\ntruncate f1 1p\nmr a1 0 3p\n\
         release a1 1 12287\nrelease a1 1 12286\ndelete f1\nsync f1\nsync *\nrelease f1\ndw f1 4000 200\n",
        0,
    );
    let marks: Vec<_> = view.marks().iter().map(|mark| (mark.pages.clone(), mark.kind)).collect();
    let drop = |partial| MarkKind::Drop { partial };
    assert_eq!(
        marks,
        [
            (0..0, MarkKind::Look),
            (2..5, drop(Some(1))),
            (0..0, MarkKind::Look),
            (1..5, drop(None)),
            (6..8, drop(None)),
            (6..7, drop(None)),
            (0..5, drop(None)),
            (0..5, MarkKind::Sync),
            (0..8, MarkKind::Sync),
            (0..5, MarkKind::Unmap),
            (0..2, MarkKind::Direct { op: clockhand_trace::Op::Write, pages: 2 }),
        ]
    );
    assert_eq!(view.page_keys()[5], (1, 0));
    assert_eq!(view.file_pages(), [true, true, true, true, true, false, false, false]);
}

#[test]
fn pages_that_can_be_read_ahead_have_ids_and_are_not_of_the_footprint() {
    let text = "length f1 6p\ncr f1 0 1 3\ncr f1 4p 1 3\ncr f1 1p 1 4\ncw f1 9p 1\n";
    assert_eq!(view(text, 0).page_keys().len(), 4);
    let view = view(text, 2);
    let pages: Vec<_> = view.page_keys().iter().map(|(_, page)| *page).collect();
    assert_eq!(pages, [0, 1, 2, 3, 4, 5, 9]);
    assert_eq!(view.footprint_pages(), 4);
    assert_eq!(view.callers(), [0, 0, 1, 2]);
    let lengths: Vec<_> = view.marks().iter().map(|mark| (mark.before, mark.kind)).collect();
    assert_eq!(lengths[2], (4, MarkKind::Length { object: 0, bytes: 9 * 4096 + 1 }));
}

#[test]
fn times_begin_at_0_and_never_go_back() {
    let view =
        view("mr a1 0 1\n@5 cr f1 0 1\ncr f1 0 1\n@4 cr f1 0 1\n@7.5 cr f1 0 1\n@7 sync *\n", 0);
    assert_eq!(view.times_ns(), Some(&[0, 0, 0, 0, 2_500_000_000][..]));
    assert_eq!(view.marks()[0].time_ns, 2_500_000_000);
    assert_eq!(view.back_steps(), Some((2, 4)));
    assert_eq!(self::view("@1 mr a1 0 1\n", 0).times_ns(), None, "no file asks for times");
}
