//! Clients that break rules, and files that change under a server: one sentence or one error, and everybody else goes on.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use clockhand_serve::{Options, ServeError};

use crate::client::{Client, FUA, Folder, GO, READ, Running};
use crate::crashes::started;

const TOO_BIG: u32 = 0x8000_0009;

/// What a client sends instead of a handshake.
fn misuses() -> Vec<(&'static str, Vec<u8>)> {
    let fixed = 3_u32.to_be_bytes();
    let option = |option: u32, data: &[u8]| {
        let numbers = [option.to_be_bytes(), (data.len() as u32).to_be_bytes()].concat();
        [b"IHAVEOPT".as_slice(), &numbers, data].concat()
    };
    let after_flags = |bytes: &[u8]| [&fixed, bytes].concat();
    let long_name = vec![b'x'; 4097];
    let mut random = 1_u32;
    let garbage: Vec<u8> = (0..5000)
        .map(|_| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        })
        .collect();
    vec![
        ("unknown client flags", 0x83_u32.to_be_bytes().to_vec()),
        ("not fixed newstyle", 2_u32.to_be_bytes().to_vec()),
        ("another protocol", b"GET / HTTP/1.1\r\nHost: disk\r\n\r\n".to_vec()),
        ("a wrong magic of an option", after_flags(b"IHAVEOPX\0\0\0\x03\0\0\0\0")),
        ("an export's name that is too long", after_flags(&option(1, &long_name))),
        ("ABORT", after_flags(&option(2, b""))),
        ("too many options", after_flags(&option(3, b"").repeat(257))),
        ("noise", garbage.clone()),
        ("noise behind the flags", after_flags(&garbage)),
        ("noise as requests", [after_flags(&option(GO, &[0; 6])), garbage].concat()),
        ("a message that is broken off", after_flags(b"IHAVEO")),
        ("nothing", Vec::new()),
    ]
}

fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

#[test]
fn what_breaks_the_protocol_ends_its_connection_and_leaves_nothing_open() {
    let place = Folder::new();
    let mut server = started(place.folder.path(), &place.socket(), "fab:total=16").unwrap();
    let mut well = Client::connect(&place.socket());
    assert_eq!(well.write(0, &[1; 4096], FUA), 0);
    let before = descriptors(server.id());
    for (name, bytes) in misuses() {
        let mut client = Client::raw(&place.socket());
        // The server may close before all is sent.
        let _ = client.stream.write_all(&bytes);
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        client.stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        let mut told = Vec::new();
        let ended = client.stream.read_to_end(&mut told);
        let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.map_or_else(is_reset, |_| true), "{name}: it is closed");
        if name == "too many options" {
            let last = told.rchunks(20).next().unwrap();
            assert_eq!(&last[12..16], &TOO_BIG.to_be_bytes(), "{name}");
        }
        assert_eq!(well.read(0, 4096).unwrap(), [1; 4096], "{name}");
    }
    let began = Instant::now();
    while descriptors(server.id()) > before {
        assert!(began.elapsed() < Duration::from_secs(5), "a descriptor is left open");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_name_that_is_too_long_is_invalid() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut client = Client::greeted(&place.socket());
    let name = [&4097_u32.to_be_bytes()[..], &[b'x'; 4097], &[0, 0]].concat();
    assert_eq!(client.option(GO, &name)[0].0, 0x8000_0003);
    assert_eq!(client.option(GO, &[0; 6]).last().unwrap().0, 1, "the next option is served");
    assert!(running.finish().failure.is_none());
}

#[test]
fn a_client_that_takes_no_answers_holds_nobody_up() {
    let place = Folder::new();
    let running = Running::start(&place.options("lru:total=64", 8 << 20)).unwrap();
    let mut greedy = Client::connect(&place.socket());
    greedy.stream.set_nonblocking(true).unwrap();
    for cookie in 0..100_000_u64 {
        let mut request = 0x2560_9513_0000_0000_u64.to_be_bytes().to_vec();
        request.extend_from_slice(&cookie.to_be_bytes());
        request.extend_from_slice(&0_u64.to_be_bytes());
        request.extend_from_slice(&(4_u32 << 20).to_be_bytes());
        if greedy.stream.write(&request).is_ok_and(|bytes| bytes == request.len()) {
            continue;
        }
        break;
    }
    let mut well = Client::connect(&place.socket());
    for page in 0..256 {
        assert_eq!(well.write(page * 4096, &[page as u8; 4096], 0), 0);
        assert_eq!(well.read(page * 4096, 4096).unwrap(), [page as u8; 4096]);
    }
    assert_eq!(well.flush(), 0);
    let began = Instant::now();
    assert!(running.finish().failure.is_none());
    assert!(began.elapsed() < Duration::from_secs(6), "it is closed at the end");
}

#[test]
fn what_comes_after_the_end_has_begun_is_refused_and_what_was_answered_is_on_the_disk() {
    const ESHUTDOWN: u32 = 108;
    let place = Folder::new();
    let running = Running::start(&place.options("clock-dnv:total=64", 1 << 20)).unwrap();
    let socket = place.socket();
    let (told, hears) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut client = Client::connect(&socket);
        let mut answered = 0;
        for page in 0.. {
            client.send(1, 0, page % 256 * 4096, 4096, &[(page / 256) as u8 + 1; 4096]);
            let mut reply = [0; 16];
            if client.stream.read_exact(&mut reply).is_err() {
                break;
            }
            match u32::from_be_bytes(reply[4..8].try_into().unwrap()) {
                0 => answered = page + 1,
                error => {
                    assert_eq!(error, ESHUTDOWN);
                    break;
                }
            }
            if page == 300 {
                told.send(()).unwrap();
            }
        }
        answered
    });
    hears.recv().unwrap();
    assert!(running.finish().failure.is_none());
    let answered = thread.join().unwrap();
    let disk = fs::read(place.path("disk.img")).unwrap();
    for page in answered.saturating_sub(256)..answered {
        let found = disk[page as usize % 256 * 4096];
        assert!(found > (page / 256) as u8, "page {page} of {answered}: {found}");
    }
}

#[test]
fn a_disk_that_shrinks_gives_errors_where_it_ends_and_nowhere_else() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(0, &[5; 4096], FUA), 0);
    let disk = fs::OpenOptions::new().write(true).open(place.path("disk.img")).unwrap();
    disk.set_len(64 << 10).unwrap();
    assert_eq!(client.read(512 << 10, 4096), Err(5));
    assert_eq!(client.write((512 << 10) + 100, &[1; 100], 0), 5, "the rest of the page is gone");
    assert_eq!(client.read(0, 4096).unwrap(), [5; 4096]);
    assert_eq!(client.write(512 << 10, &[6; 4096], FUA), 0, "a whole page makes it grow again");
    assert_eq!(client.request(READ, 0, 0, 512 << 10), 0);
    let mut content = vec![0; 512 << 10];
    client.stream.read_exact(&mut content).unwrap();
    let ended = running.finish();
    assert!(ended.failure.is_none());
    assert_eq!(ended.report.counts.errors, 2);
}

fn refused(options: &Options) -> String {
    match Running::start(options) {
        Ok(_) => panic!("it is refused"),
        Err(ServeError::Usage(sentence) | ServeError::Failed(sentence)) => sentence.to_string(),
    }
}

/// Changes an NVM file with pages; what is said of it then.
fn said_of(change: impl FnOnce(&mut Vec<u8>, &Path)) -> String {
    let place = Folder::new();
    let mut options = place.options("clock-dnv:total=64", 1 << 20);
    options.keep = true;
    let running = Running::start(&options).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(4096, &[9; 4096], FUA), 0);
    assert!(running.finish().failure.is_none());
    let nvm = place.path("nvm.img");
    let mut bytes = fs::read(&nvm).unwrap();
    change(&mut bytes, &nvm);
    if nvm.is_file() {
        fs::write(&nvm, &bytes).unwrap();
    }
    options.size = None;
    let disk = fs::read(&options.disk).unwrap();
    let sentence = refused(&options);
    assert!(!nvm.is_file() || fs::read(&nvm).unwrap() == bytes, "the file is not touched");
    assert!(fs::read(&options.disk).unwrap() == disk, "the disk is not touched");
    sentence
}

type Change = Box<dyn FnOnce(&mut Vec<u8>, &Path)>;

#[test]
fn each_damage_of_an_nvm_file_is_a_sentence_and_changes_nothing() {
    let cases: [(&str, Change); 6] = [
        (
            "both copies of its header",
            Box::new(|bytes, _| {
                bytes[100] ^= 1;
                bytes[4196] ^= 1;
            }),
        ),
        (
            "--salvage",
            Box::new(|bytes, _| {
                // The entry of the one page that is there.
                let slot = (0..20).find(|slot| bytes[8192 + slot * 64 + 32] == 1).unwrap();
                bytes[8192 + slot * 64 + 3] ^= 1;
            }),
        ),
        ("shorter than", Box::new(|bytes, _| bytes.truncate(20_000))),
        ("no NVM file", Box::new(|bytes, _| bytes[..8192].fill(b'x'))),
        (
            "cannot be opened",
            Box::new(|_, path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
            }),
        ),
        ("give --nvm", Box::new(|_, path| fs::rename(path, path.with_extension("old")).unwrap())),
    ];
    for (expected, change) in cases {
        let sentence = said_of(change);
        assert!(sentence.contains(expected), "{expected}: {sentence}");
        assert!(!sentence.contains('\n') && sentence.len() < 300, "{sentence}");
    }
}

#[test]
fn without_a_valid_header_salvage_gives_up_all_that_was_in_nvm() {
    let place = Folder::new();
    let mut options = place.options("clock-dnv:total=64", 1 << 20);
    options.keep = true;
    let running = Running::start(&options).unwrap();
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.write(4096, &[9; 4096], FUA), 0);
    assert!(running.finish().failure.is_none());
    let mut bytes = fs::read(place.path("nvm.img")).unwrap();
    bytes[100] ^= 1;
    bytes[4196] ^= 1;
    fs::write(place.path("nvm.img"), &bytes).unwrap();
    options.salvage = true;
    let running = Running::start(&options).unwrap();
    assert!(running.notes.lock().unwrap()[0].contains("is lost"));
    let mut client = Client::connect(&place.socket());
    assert_eq!(client.read(4096, 4096).unwrap(), [0; 4096], "as it was on the disk");
    assert_eq!(client.write(4096, &[8; 4096], FUA), 0);
    assert!(running.finish().failure.is_none());
    options.salvage = false;
    let running = Running::start(&options).unwrap();
    assert_eq!(running.server.report().recovered.pages, 1);
    assert!(running.finish().failure.is_none());
}

#[test]
fn what_can_be_no_disk_is_a_sentence() {
    let place = Folder::new();
    let mut options = place.options("fab:total=16", 1 << 20);
    options.disk = place.folder.path().to_owned();
    options.size = None;
    let sentence = refused(&options);
    assert!(sentence.contains("directory"), "{sentence}");
    for (bytes, expected) in [(0, "no bytes"), (1000, "multiple of 512")] {
        options.disk = place.path("small.img");
        fs::write(&options.disk, vec![0; bytes]).unwrap();
        let sentence = refused(&options);
        assert!(sentence.contains(expected), "{sentence}");
    }
    options.disk = place.path("missing.img");
    assert!(refused(&options).contains("--size"));
    options.read_only = true;
    assert!(refused(&options).contains("missing.img"));
    options.disk = place.path("small.img");
    fs::write(&options.disk, vec![0; 8192]).unwrap();
    options.size = Some(4096);
    let sentence = refused(&options);
    assert!(sentence.contains("leave --size out"), "{sentence}");
}

#[test]
fn several_may_read_a_disk_that_nobody_writes() {
    let place = Folder::new();
    fs::write(place.path("disk.img"), vec![3; 1 << 20]).unwrap();
    let mut options = place.options("fab:total=16", 1 << 20);
    options.read_only = true;
    let first = Running::start(&options).unwrap();
    options.place = clockhand_serve::Place::Socket(place.path("second.sock"));
    let second = Running::start(&options).unwrap();
    let mut client = Client::connect(&place.path("second.sock"));
    assert_eq!(client.read(0, 512).unwrap(), [3; 512]);
    options.read_only = false;
    options.place = clockhand_serve::Place::Socket(place.path("third.sock"));
    assert!(refused(&options).contains("another server"));
    drop((first.finish(), second.finish()));
}
