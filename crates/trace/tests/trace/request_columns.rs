//! Requests from columns in memory.

use clockhand_trace::{ColumnReader, Op, Request, RequestColumns};

use crate::reading::drain;

const COLUMNS: RequestColumns = RequestColumns {
    is_write: &[false, true, true],
    addresses: &[4096, 0, 8192],
    sizes_bytes: None,
    streams: None,
    times_ns: None,
};

#[test]
fn missing_columns_have_their_documented_values() {
    let (requests, report) = drain(&mut ColumnReader::new(COLUMNS).unwrap()).unwrap();
    assert_eq!(
        requests[0],
        Request { op: Op::Read, address: 4096, bytes: 1, stream: 0, time_ns: None, class: None }
    );
    assert_eq!((requests.len(), report.format, report.records), (3, "columns", 3));
}

#[test]
fn all_columns_are_used_and_rows_without_bytes_counted() {
    let columns = RequestColumns {
        sizes_bytes: Some(&[512, 0, 1024]),
        streams: Some(&[1, 1, 2]),
        times_ns: Some(&[5, 6, 7]),
        ..COLUMNS
    };
    let (requests, report) = drain(&mut ColumnReader::new(columns).unwrap()).unwrap();
    let last = Request {
        op: Op::Write,
        address: 8192,
        bytes: 1024,
        stream: 2,
        time_ns: Some(7),
        class: None,
    };
    assert_eq!((requests.len(), requests[1], report.zero_size_requests), (2, last, 1));
}

#[test]
fn the_digest_is_that_of_the_documented_encoding() {
    use sha2::{Digest, Sha256};
    let mut bytes = b"clockhand requests 1\n\0".to_vec();
    for (op, address) in [(b'R', 4096_u64), (b'W', 0), (b'W', 8192)] {
        bytes.push(op);
        bytes.extend(address.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    }
    let (_, report) = drain(&mut ColumnReader::new(COLUMNS).unwrap()).unwrap();
    assert_eq!(report.sha256.unwrap(), <[u8; 32]>::from(Sha256::digest(bytes)));
}

#[test]
fn many_rows_come_in_several_batches() {
    let addresses: Vec<u64> = (0..100_000).collect();
    let is_write: Vec<bool> = addresses.iter().map(|address| address % 3 == 0).collect();
    let columns = RequestColumns { is_write: &is_write, addresses: &addresses, ..COLUMNS };
    let (requests, _) = drain(&mut ColumnReader::new(columns).unwrap()).unwrap();
    assert!(requests.iter().map(|request| request.address).eq(addresses));
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let columns = RequestColumns { streams: Some(&[0]), ..COLUMNS };
    let message = ColumnReader::new(columns).err().unwrap().to_string();
    assert_eq!(
        message,
        "column streams has 1 rows and the addresses have 3; give columns of one length"
    );
}

#[test]
fn no_rows_and_impossible_rows_are_errors() {
    let none = RequestColumns { is_write: &[], addresses: &[], ..COLUMNS };
    assert!(
        drain(&mut ColumnReader::new(none).unwrap())
            .unwrap_err()
            .to_string()
            .contains("no request")
    );
    let past_the_end =
        RequestColumns { addresses: &[0, u64::MAX, 0], sizes_bytes: Some(&[2, 2, 2]), ..COLUMNS };
    let message = drain(&mut ColumnReader::new(past_the_end).unwrap()).unwrap_err().to_string();
    assert!(message.contains("row 1 (the first is row 0)"), "{message}");
}
