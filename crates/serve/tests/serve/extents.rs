//! BLOCK_STATUS: what is data, and what the buffer has.

use std::io::Read;

use crate::client::{Client, FUA, Folder, GO, Running, TRIM};

const BLOCK_STATUS: u16 = 7;
const REQ_ONE: u16 = 8;
const PAGE: u64 = 4096;
const HOLE_AND_ZERO: u32 = 3;
const IN_DRAM: u32 = 1;
const IN_NVM: u32 = 2;
const NEWER: u32 = 4;

fn named(name: &[u8], rest: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes(), name, rest].concat()
}

/// A client with structured replies and these contexts; their numbers.
fn connected(place: &Folder, contexts: &[&str]) -> (Client, Vec<u32>) {
    let mut client = Client::greeted(&place.socket());
    assert_eq!(client.option(8, b"")[0].0, 1);
    let queries: Vec<u8> = contexts.iter().flat_map(|name| named(name.as_bytes(), b"")).collect();
    let asked = named(b"", &[&(contexts.len() as u32).to_be_bytes()[..], &queries].concat());
    let set = client.option(10, &asked);
    let numbers = set[..contexts.len()]
        .iter()
        .map(|(_, data)| u32::from_be_bytes(data[..4].try_into().unwrap()))
        .collect();
    assert_eq!(client.option(GO, &[0, 0, 0, 0, 0, 0]).last().unwrap().0, 1);
    (client, numbers)
}

type Extents = Vec<(u32, u32)>;

/// The extents of each context, by its number; or an error.
fn status(
    client: &mut Client,
    flags: u16,
    at: u64,
    bytes: u32,
) -> Result<Vec<(u32, Extents)>, u32> {
    client.send(BLOCK_STATUS, flags, at, bytes, b"");
    let mut all = Vec::new();
    loop {
        let mut header = [0; 20];
        client.stream.read_exact(&mut header).unwrap();
        assert_eq!(&header[..4], &0x668e_33ef_u32.to_be_bytes());
        let kind = u16::from_be_bytes([header[6], header[7]]);
        let len = u32::from_be_bytes(header[16..].try_into().unwrap());
        let mut data = vec![0; len as usize];
        client.stream.read_exact(&mut data).unwrap();
        let numbers: Vec<u32> =
            data.chunks_exact(4).map(|four| u32::from_be_bytes(four.try_into().unwrap())).collect();
        if kind == 32_769 {
            return Err(numbers[0]);
        }
        assert_eq!(kind, 5);
        all.push((numbers[0], numbers[1..].chunks(2).map(|pair| (pair[0], pair[1])).collect()));
        if header[5] & 1 == 1 {
            return Ok(all);
        }
    }
}

fn only(client: &mut Client, flags: u16, at: u64, bytes: u32) -> Extents {
    status(client, flags, at, bytes).unwrap().remove(0).1
}

#[test]
fn a_buffered_page_is_data_and_the_rest_is_what_the_disk_says() {
    let place = Folder::new();
    let running = Running::start(&place.options("lru:total=8", 64 * PAGE + 512)).unwrap();
    let (mut client, _) = connected(&place, &["base:allocation"]);
    let whole = 64 * PAGE as u32 + 512;
    assert_eq!(only(&mut client, 0, 0, whole), [(whole, HOLE_AND_ZERO)]);
    assert_eq!(client.write(10 * PAGE, &[1; 4096], 0), 0);
    assert_eq!(client.write(64 * PAGE, &[1; 512], FUA), 0);
    let hole = HOLE_AND_ZERO;
    let expected = [(40_960, hole), (4096, 0), (53 * 4096, hole), (512, 0)];
    assert_eq!(only(&mut client, 0, 0, whole), expected);
    assert_eq!(only(&mut client, 0, 10 * PAGE + 100, 3996), [(3996, 0)], "a part of a page");
    assert_eq!(only(&mut client, REQ_ONE, 0, whole), [(40_960, hole)]);
    assert_eq!(client.flush(), 0);
    assert_eq!(only(&mut client, 0, 0, whole), expected, "it is data on the disk as well");
    assert_eq!(client.request(TRIM, 0, 64 * PAGE, 512), 0);
    let rest = only(&mut client, 0, 11 * PAGE, 53 * 4096 + 512);
    assert_eq!(rest.iter().map(|extent| extent.0).sum::<u32>(), 53 * 4096 + 512);
    for (at, bytes) in [(whole.into(), 1), (0, whole + 1), (0, 0), (u64::MAX, 2)] {
        assert_eq!(status(&mut client, 0, at, bytes), Err(22), "{at} {bytes}");
    }
    assert!(running.finish().failure.is_none());
}

#[test]
fn the_buffers_context_says_where_a_page_is_and_whether_the_disk_is_older() {
    let place = Folder::new();
    let options = place.options("clock-dnv:total=16,dram_share=0.5", 64 * PAGE);
    let running = Running::start(&options).unwrap();
    let names = ["base:allocation", "x-clockhand:buffer"];
    let (mut client, numbers) = connected(&place, &names);
    assert_eq!(client.write(5 * PAGE, &[1; 4096], FUA), 0);
    assert_eq!(client.write(6 * PAGE, &[1; 8192], 0), 0);
    let all = status(&mut client, 0, 4 * PAGE, 5 * 4096).unwrap();
    assert_eq!(all.iter().map(|(number, _)| *number).collect::<Vec<_>>(), numbers);
    assert_eq!(all[0].1, [(4096, HOLE_AND_ZERO), (3 * 4096, 0), (4096, HOLE_AND_ZERO)]);
    let expected = [(4096, 0), (4096, IN_NVM | NEWER), (8192, IN_DRAM | NEWER), (4096, 0)];
    assert_eq!(all[1].1, expected);
    assert_eq!(client.flush(), 0);
    let flushed = status(&mut client, 0, 6 * PAGE, 4096).unwrap().remove(1).1;
    assert_eq!(flushed[0].1 & (IN_NVM | NEWER), IN_NVM | NEWER, "FLUSH migrates to NVM");
    assert!(running.finish().failure.is_none());
}
