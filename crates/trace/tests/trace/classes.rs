//! Classes of records and address spaces in Parquet: kept, viewed, and selected from.

use clockhand_trace::{
    AnonymousPages, Classes, Convention, Op, OpenOptions, OptionalColumns, ParquetWriter,
    RecordClass, Request, TraceReader, View,
};

use crate::reading::drain;

/// The columns of a file of records with classes and without times.
const WITH_CLASSES: OptionalColumns =
    OptionalColumns { times: false, classes: true, events: false };

fn classed(class: RecordClass, address: u64) -> Request {
    Request { class: Some(class), ..Request::new(class.bus_op(), address, 32) }
}

/// One record of each class, a page apart.
fn one_of_each() -> Vec<Request> {
    let with_page = |(page, class)| classed(class, 4096 * page);
    (0_u64..).zip(RecordClass::ALL).map(with_page).collect()
}

fn read(path: &std::path::Path, options: &OpenOptions) -> (Vec<Request>, Option<&'static str>) {
    let (requests, report) = drain(&mut TraceReader::open(path, options).unwrap()).unwrap();
    (requests, report.view)
}

#[test]
fn classes_come_back_where_they_are_kept_and_are_viewed_where_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("the.parquet");
    let mut writer = ParquetWriter::create(&path, &[], WITH_CLASSES).unwrap();
    writer.write(&one_of_each()).unwrap();
    writer.finish().unwrap();
    let kept = OpenOptions { classes: Classes::Kept, ..OpenOptions::default() };
    assert_eq!(read(&path, &kept), (one_of_each(), None));
    let (requests, view) = read(&path, &OpenOptions::default());
    assert_eq!((requests.len(), view), (3, Some("paper")));
    let fault = View { convention: Convention::Fault, fetches: false };
    let options = OpenOptions { classes: Classes::Viewed(fault), ..OpenOptions::default() };
    let (requests, view) = read(&path, &options);
    let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
    assert_eq!((ops, view), (vec![Op::Read, Op::Write, Op::Write], Some("fault without fetches")));
}

#[test]
fn requests_with_and_without_classes_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let (with, without) = (classed(RecordClass::LoadMiss, 0), Request::new(Op::Read, 0, 32));
    let path = folder.path().join("x");
    let mut writer = ParquetWriter::create(&path, &[], WITH_CLASSES).unwrap();
    let message = writer.write(&[with, without]).unwrap_err().to_string();
    assert!(message.contains("request 1 has no class although others have"), "{message}");
    let mut writer = ParquetWriter::create(&path, &[], OptionalColumns::default()).unwrap();
    let message = writer.write(&[without, with]).unwrap_err().to_string();
    assert!(message.contains("request 1 has a class although"), "{message}");
}

#[test]
fn anonymous_pages_are_selected_and_no_label_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("the.parquet");
    let mut writer = ParquetWriter::create(&path, &[], WITH_CLASSES).unwrap();
    writer.write(&one_of_each()).unwrap();
    let segments = ["0 1000 4000 rw- heap".to_owned()];
    writer.keep_address_space(&segments, &AnonymousPages::of_pages([(0, 1), (0, 3), (1, 2)]));
    writer.finish().unwrap();
    let options = OpenOptions { only_anonymous: true, ..OpenOptions::default() };
    let (requests, report) = drain(&mut TraceReader::open(&path, &options).unwrap()).unwrap();
    let addresses: Vec<_> = requests.iter().map(|request| request.address).collect();
    assert_eq!(addresses, [4096, 3 * 4096]);
    assert_eq!((report.segments.as_slice(), report.labels.len()), (&segments[..], 0));
    assert_eq!(report.anonymous_pages.unwrap().pages(), 3);
}
