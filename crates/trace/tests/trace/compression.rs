//! Compressed traces: found by content, in several members, cut at every byte, damaged.

use std::io::Write;

use crate::reading::{excerpts, message_of, needed_name, read_bytes};

const TEXT: &[u8] = b"0041f7a0 R\n31348900 W\n0041f7e0 R\n05e78940 R\n";

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lzma(bytes: &[u8]) -> Vec<u8> {
    let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
    let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Compress = fn(&[u8]) -> Vec<u8>;
const COMPRESSIONS: [(&str, Compress); 4] = [("bz2", bz2), ("gz", gz), ("xz", xz), ("zstd", zstd)];

#[test]
fn every_format_reads_alike_from_every_compression() {
    for (format, path) in excerpts() {
        let bytes = std::fs::read(&path).unwrap();
        let name = needed_name(&format);
        let (expected, plain) = read_bytes(&bytes, name).unwrap();
        assert_eq!(plain.compression, None);
        for (compression, compress) in COMPRESSIONS {
            let (requests, report) = read_bytes(&compress(&bytes), name).unwrap();
            assert_eq!(requests, expected, "{format} in {compression}");
            assert_eq!((report.format, report.compression), (format.as_str(), Some(compression)));
        }
    }
}

#[test]
fn members_that_follow_one_another_are_one_trace() {
    for (compression, compress) in COMPRESSIONS {
        let parts = [compress(&TEXT[..15]), compress(b""), compress(&TEXT[15..])].concat();
        let (requests, _) = read_bytes(&parts, None).unwrap();
        assert_eq!(requests.len(), 4, "{compression}");
    }
}

#[test]
fn a_compressed_trace_cut_at_any_byte_is_an_error() {
    for (compression, compress) in COMPRESSIONS {
        let whole = compress(TEXT);
        for cut in 0..whole.len() {
            let message = message_of(&whole[..cut], None);
            assert!(!message.contains('\n'), "{message}");
            if cut >= 10 {
                let words = format!("the {compression} data ends in the middle");
                assert!(message.contains(&words), "cut at {cut}: {message}");
            }
        }
    }
}

#[test]
fn formats_in_a_cut_compressed_file_give_an_error() {
    for (format, path) in excerpts() {
        let bytes = std::fs::read(&path).unwrap();
        for (_, compress) in COMPRESSIONS {
            let whole = compress(&bytes);
            for cut in (0..whole.len()).step_by(7) {
                message_of(&whole[..cut], Some(&format));
            }
        }
    }
}

#[test]
fn damage_never_gives_other_requests() {
    for (compression, compress) in COMPRESSIONS {
        let text: Vec<u8> = (0..5000_u32)
            .flat_map(|line| format!("{:08x} R\n", line * 7919).into_bytes())
            .collect();
        let mut bytes = compress(&text);
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 40] {
            *byte ^= 0x55;
        }
        let message = message_of(&bytes, None);
        assert!(message.contains(&format!("{compression} data")), "{message}");
    }
}

#[test]
fn the_digest_is_that_of_the_stored_bytes() {
    // printf '0041f7a0 R\n31348900 W\n' | sha256sum
    let (_, report) = read_bytes(b"0041f7a0 R\n31348900 W\n", None).unwrap();
    assert_eq!(report.stored_bytes, Some(22));
    assert_eq!(report.sha256_hex().unwrap(), DIGEST_OF_TWO_LINES);
    let (_, of_gz) = read_bytes(&gz(b"0041f7a0 R\n31348900 W\n"), None).unwrap();
    assert_ne!(of_gz.sha256, report.sha256);
}

const DIGEST_OF_TWO_LINES: &str =
    "59bb920f078571ec7f01bb694c030b38d0df26aec1e804816bce58d3376db173";

#[test]
fn what_stands_behind_gz_data_is_passed_over_as_gzip_does() {
    let zeros = [gz(TEXT), vec![0; 512]].concat();
    let (requests, report) = read_bytes(&zeros, None).unwrap();
    assert_eq!((requests.len(), report.notes.len()), (4, 0));
    let text = [gz(TEXT), b"uploaded by hand\n".to_vec()].concat();
    let (requests, report) = read_bytes(&text, None).unwrap();
    assert_eq!(requests.len(), 4);
    assert!(report.notes[0].contains("17 bytes behind the gz data"), "{:?}", report.notes);
    assert_eq!(report.stored_bytes, Some(text.len() as u64), "all of the file is hashed");
}

#[test]
fn lzma_from_before_xz_is_read() {
    let (requests, report) = read_bytes(&lzma(TEXT), None).unwrap();
    assert_eq!((requests.len(), report.compression), (4, Some("lzma")));
}

#[test]
fn compressions_that_are_not_read_are_named() {
    for (bytes, words) in [
        (&b"\x04\x22\x4d\x18\x64\x40\xa7rest"[..], "lz4 data; decompress it first with lz4 -d"),
        (b"LZIP\x01rest", "lzip"),
        (b"\xff\x06\0\0sNaPpYrest", "snappy"),
    ] {
        let message = message_of(bytes, None);
        assert!(message.contains(words), "{message}");
    }
}
