use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use clockhand_serve::Recorded;
use proptest::prelude::*;

use crate::client::{
    Client, DISCONNECT, FLUSH, FUA, Folder, GO, READ, Running, TRIM, WRITE, WRITE_ZEROES,
};

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

#[test]
fn what_a_request_may_not_is_refused_and_the_next_one_is_served() {
    let place = Folder::new();
    let size = (1 << 20) + 512;
    let running = Running::start(&place.options("lru:total=16", size)).unwrap();
    let mut client = Client::connect(&place.socket());
    for command in [READ, TRIM, WRITE_ZEROES] {
        assert_eq!(client.request(command, 0, 0, 0), EINVAL, "no bytes: {command}");
    }
    assert_eq!(client.request(9, 0, 0, 512), EINVAL, "unknown command");
    for (command, flags) in [(FLUSH, FUA), (TRIM, FUA), (WRITE_ZEROES, FUA | 2)] {
        assert_eq!(client.request(command, flags, 0, 4096), 0, "FUA goes with all");
    }
    for (command, flag) in [(WRITE_ZEROES, 4), (TRIM, 2), (TRIM, 8), (FLUSH, 16), (READ, 8)] {
        assert_eq!(client.request(command, flag, 0, 512), EINVAL, "{command} has no flag {flag}");
    }
    assert_eq!(client.request(READ, 2, 0, 512), EINVAL, "NO_HOLE with READ");
    assert_eq!(client.request(7, 0, 0, 512), EINVAL, "BLOCK_STATUS without a context");
    assert_eq!(client.request(READ, 0, size - 10, 11), EINVAL);
    assert_eq!(client.request(READ, 0, u64::MAX - 10, 11), EINVAL);
    assert_eq!(client.request(READ, 0, 0, (32 << 20) + 1), EINVAL);
    assert_eq!(client.request(TRIM, 0, size, 1), EINVAL);
    assert_eq!(client.request(WRITE_ZEROES, 0, size, 1), ENOSPC);
    assert_eq!(client.write(size - 3, &[1; 4], 0), ENOSPC, "the payload is consumed");
    assert_eq!(client.write(size - 4, &[1; 4], FUA), 0);
    assert_eq!(client.read(size - 4, 4).unwrap(), [1; 4]);
    client.send(DISCONNECT, 0, 0, 0, b"");
    assert!(client.is_closed());
    assert!(running.finish().failure.is_none());
    assert_eq!(std::fs::read(place.path("disk.img")).unwrap()[size as usize - 4..], [1; 4]);
}

#[test]
fn a_read_only_server_changes_no_byte() {
    let place = Folder::new();
    let mut options = place.options("clock-dnv:total=64", 1 << 20);
    let mut kept = options.clone();
    kept.keep = true;
    let running = Running::start(&kept).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(8192, &[7; 4096], FUA), 0);
    assert!(running.finish().failure.is_none());
    let before = [std::fs::read(place.path("disk.img")), std::fs::read(place.path("nvm.img"))]
        .map(Result::unwrap);
    options.read_only = true;
    let running = Running::start(&options).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.read(8192, 4096).unwrap(), [7; 4096], "it is in NVM only");
    let told = Client::greeted(&place.socket()).option(GO, &[0, 0, 0, 0, 0, 0]);
    let flags = 1 | 2 | 4 | 8 | 32 | 64 | 256_u16;
    let export = [&[0, 0][..], &(1_u64 << 20).to_be_bytes(), &flags.to_be_bytes()].concat();
    assert!(told.contains(&(3, export)), "READ_ONLY is among the flags: {told:?}");
    assert_eq!(client.write(0, &[1; 512], 0), EPERM);
    assert_eq!(client.request(TRIM, 0, 0, 4096), EPERM);
    assert_eq!(client.flush(), 0);
    assert!(running.finish().failure.is_none());
    let after = [std::fs::read(place.path("disk.img")), std::fs::read(place.path("nvm.img"))]
        .map(Result::unwrap);
    assert!(before == after);
    assert_ne!(&before[0][8192..8196], [7; 4]);
}

#[test]
fn trimmed_pages_are_holes_and_ends_are_written() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=1024", 1 << 20)).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(0, &vec![9; 1 << 20], FUA), 0);
    let blocks = std::fs::metadata(place.path("disk.img")).unwrap().blocks();
    assert_eq!(client.request(TRIM, 0, 100, 4096 * 10), 0);
    assert_eq!(client.read(4096, 9 * 4096).unwrap(), vec![0; 9 * 4096]);
    assert_eq!(client.read(0, 4096).unwrap(), [9; 4096], "a page in part stays");
    assert_eq!(client.request(WRITE_ZEROES, FUA, 65_536 + 100, 8192), 0);
    let mut expected = vec![9; 12_288];
    expected[100..8292].fill(0);
    assert_eq!(client.read(65_536, 12_288).unwrap(), expected);
    let events = running.recorded.lock().unwrap().clone();
    assert_eq!(
        events[1..],
        [
            Recorded::Discard(4096, 9 * 4096),
            Recorded::Read(4096, 9 * 4096),
            Recorded::Read(0, 4096),
            Recorded::Write(65_636, 3996),
            Recorded::Discard(69_632, 4096),
            Recorded::Write(73_728, 100),
            Recorded::Sync,
            Recorded::Read(65_536, 12_288),
        ]
    );
    assert!(running.finish().failure.is_none());
    assert!(std::fs::metadata(place.path("disk.img")).unwrap().blocks() < blocks);
}

/// A request of one of several clients.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Read(u64, u32),
    Write(u64, u32, bool),
    Trim(u64, u32),
    Zeroes(u64, u32),
    Flush,
}

fn asked(size: u64) -> impl Strategy<Value = Asked> {
    let range = (0..size - 40_000, 1..40_000_u32);
    prop_oneof![
        3 => range.clone().prop_map(|(at, bytes)| Asked::Read(at, bytes)),
        6 => (range.clone(), any::<bool>())
            .prop_map(|((at, bytes), fua)| Asked::Write(at, bytes, fua)),
        1 => range.clone().prop_map(|(at, bytes)| Asked::Trim(at, bytes)),
        1 => range.prop_map(|(at, bytes)| Asked::Zeroes(at, bytes)),
        1 => Just(Asked::Flush),
    ]
}

const BUFFERS: [&str; 8] = [
    "clock-dnv:total=20,dram_share=0.2",
    "clock-dnv:total=20,dram_share=0.5,nvm_write_hit=promote,padding=keep_clean",
    "clock-dnv:total=20,dram_share=0.5,nvm_write_hit=dram_copy,padding=off",
    "cbm:total=20",
    "fab:total=12",
    "bplru:total=70",
    "lru:total=9,cluster=block",
    "craw:total=8",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every byte reads as it was last written, whatever the buffer, over two connections, and the disk is a plain image
    /// at the end.
    #[test]
    fn a_disk_behind_any_buffer_is_a_disk(
        buffer in prop::sample::select(&BUFFERS[..]),
        list in prop::collection::vec(asked(1 << 20), 1..60),
        direct in any::<bool>(),
    ) {
        let place = Folder::new();
        let mut options = place.options(buffer, 1 << 20);
        options.direct = direct;
        let running = Running::start(&options).or_else(|_| {
            // The file system has no reads past the cache.
            options.direct = false;
            Running::start(&options)
        });
        let running = running.unwrap();
        let mut clients = [Client::connect(&place.socket()), Client::connect(&place.socket())];
        let mut model = vec![0_u8; 1 << 20];
        for (number, asked) in list.iter().enumerate() {
            let client = &mut clients[number % 2];
            match *asked {
                Asked::Read(at, bytes) => {
                    let expected = &model[at as usize..at as usize + bytes as usize];
                    prop_assert!(client.read(at, bytes).unwrap() == expected);
                }
                Asked::Write(at, bytes, fua) => {
                    let payload = vec![number as u8 + 1; bytes as usize];
                    model[at as usize..at as usize + bytes as usize].copy_from_slice(&payload);
                    prop_assert_eq!(client.write(at, &payload, u16::from(fua)), 0);
                }
                Asked::Trim(at, bytes) => {
                    let first = at.next_multiple_of(4096) as usize;
                    let end = ((at + u64::from(bytes)) / 4096 * 4096) as usize;
                    if first < end {
                        model[first..end].fill(0);
                    }
                    prop_assert_eq!(client.request(TRIM, 0, at, bytes), 0);
                }
                Asked::Zeroes(at, bytes) => {
                    model[at as usize..at as usize + bytes as usize].fill(0);
                    prop_assert_eq!(client.request(WRITE_ZEROES, 0, at, bytes), 0);
                }
                Asked::Flush => prop_assert_eq!(client.request(FLUSH, 0, 0, 0), 0),
            }
        }
        let ended = running.finish();
        prop_assert!(ended.failure.is_none(), "{:?}", ended.failure);
        let counts = ended.report.counts;
        let host_writes = counts.dirty_pages_flushed + counts.clean_pages_flushed;
        prop_assert_eq!(ended.report.store.disk_pages_written, host_writes);
        prop_assert_eq!(ended.report.occupancy.dirty_pages, 0);
        prop_assert!(std::fs::read(place.path("disk.img")).unwrap() == model);
    }
}

#[test]
fn many_clients_at_once_write_what_they_write() {
    let place = Folder::new();
    let options = place.options("clock-dnv:total=64,dram_share=0.3", 8 << 20);
    let running = Running::start(&options).unwrap();
    let threads: Vec<_> = (0..4_u64)
        .map(|number| {
            let socket = place.socket();
            std::thread::spawn(move || {
                let mut client = Client::connect(&socket);
                let mut contents = BTreeMap::new();
                for turn in 0..400_u64 {
                    let page = number * 512 + (turn * 37 + number) % 200;
                    let payload = vec![(turn % 251) as u8 + 1; 4096];
                    assert_eq!(client.write(page * 4096, &payload, u16::from(turn % 64 == 0)), 0);
                    contents.insert(page, payload);
                    if turn % 50 == 0 {
                        assert_eq!(client.flush(), 0);
                    }
                }
                for (page, content) in contents {
                    assert!(client.read(page * 4096, 4096).unwrap() == content);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(running.finish().failure.is_none());
}

/// The answer of a page's first READ, its WRITE, or its READ after that.
fn check_answer(client: &mut Client, turn: u8) {
    let (errno, cookie) = client.receive();
    assert_eq!(errno, 0);
    let expected = match cookie % 3 {
        1 => turn - 1,
        2 => return,
        _ => turn,
    };
    let mut data = [0; 4096];
    client.stream.read_exact(&mut data).unwrap();
    assert!(data == [expected; 4096], "{cookie}: {} and not {expected}", data[0]);
}

#[test]
fn reads_that_wait_for_the_disk_have_the_content_of_their_turn() {
    const PAGES: u64 = 300;
    for direct in [true, false] {
        let place = Folder::new();
        let mut options = place.options("lru:total=4", PAGES * 4096);
        options.direct = direct;
        let running = match Running::start(&options) {
            Err(_) if direct => {
                println!("skipped: this file system has no reads past the cache");
                continue;
            }
            running => running.unwrap(),
        };
        for turn in 1..=3_u8 {
            let mut client = Client::connect(&place.socket());
            for wave in 0..PAGES / 10 {
                // Nobody waits for an answer: reads are under way while their pages are written and leave the buffer.
                for page in wave * 10..wave * 10 + 10 {
                    client.send(READ, 0, page * 4096, 4096, b"");
                    client.send(WRITE, 0, page * 4096, 4096, &[turn; 4096]);
                    client.send(READ, 0, page * 4096, 4096, b"");
                }
                (0..30).for_each(|_| check_answer(&mut client, turn));
            }
        }
        let ended = running.finish();
        assert!(ended.failure.is_none());
        let counts = ended.report.counts;
        assert_eq!(counts.read_references, 6 * PAGES);
        assert_eq!(ended.report.store.disk_pages_written, counts.dirty_pages_flushed);
        assert!(std::fs::read(place.path("disk.img")).unwrap() == [3; PAGES as usize * 4096]);
    }
}
