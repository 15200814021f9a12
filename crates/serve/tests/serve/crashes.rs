//! `kill -9` at any moment: this test runs servers in processes of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use clockhand_serve::Place;

use crate::client::{Client, FUA, Folder, Running};

pub const BUFFERS: [&str; 4] = [
    "clock-dnv:total=24,dram_share=0.3",
    "clock-dnv:total=24,dram_share=0.5,nvm_write_hit=promote",
    "cbm:total=24",
    "fab:total=16",
];
pub const PAGES: u64 = 128;

/// Not a test: the server that is killed.
#[test]
#[ignore = "it is run by the tests of crashes, in a process of its own"]
fn a_server_to_be_killed() {
    let Ok(folder) = std::env::var("CLOCKHAND_SERVE_FOLDER") else { return };
    let buffer = std::env::var("CLOCKHAND_SERVE_BUFFER").unwrap();
    let place = Folder { folder: tempfile::tempdir().unwrap() };
    let mut options = place.options(&buffer, PAGES * 4096);
    let folder = std::path::Path::new(&folder);
    options.disk = folder.join("disk.img");
    options.nvm = options.nvm.map(|_| folder.join("nvm.img"));
    options.place = Place::Socket(std::env::var_os("CLOCKHAND_SERVE_SOCKET").unwrap().into());
    match Running::start(&options) {
        Ok(_running) => {
            println!("\nready");
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        Err(error) => println!("\nrefused: {error}"),
    }
}

/// A server on the files of a folder, in a process of its own.
///
/// # Errors
///
/// Why it does not start.
pub fn started(files: &Path, socket: &Path, buffer: &str) -> Result<Child, String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "crashes::a_server_to_be_killed"])
        .env("CLOCKHAND_SERVE_FOLDER", files)
        .env("CLOCKHAND_SERVE_SOCKET", socket)
        .env("CLOCKHAND_SERVE_BUFFER", buffer)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let answer = lines.find(|line| line == "ready" || line.starts_with("refused"));
    match answer.as_deref() {
        Some("ready") => Ok(child),
        answer => {
            child.wait().unwrap();
            Err(answer.unwrap_or("it ended without a word").to_owned())
        }
    }
}

/// Numbers that look drawn, the same each time.
pub fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    }
}

/// The number of crashes: few in `make test`, more in `make torture`.
pub fn rounds() -> u64 {
    std::env::var("CLOCKHAND_KILLS").map_or(24, |text| text.parse().expect("a number"))
}

/// Of each page the values that it may have: the last one that was made durable, and all later ones.
#[test]
fn what_was_flushed_outlives_kills_at_any_moment() {
    for (index, buffer) in BUFFERS.iter().enumerate() {
        let place = Folder::new();
        let mut history: Vec<Vec<u32>> = vec![vec![0]; PAGES as usize];
        let mut draw = draws(77 + index as u64);
        let mut value = 0;
        for _ in 0..rounds() / BUFFERS.len() as u64 {
            let mut child = started(place.folder.path(), &place.socket(), buffer).unwrap();
            let mut client = Client::connect(&place.socket());
            for page in 0..PAGES {
                let content = client.read(page * 4096, 4096).unwrap();
                let found = u32::from_le_bytes(content[..4].try_into().unwrap());
                assert!(content.chunks(4).all(|part| part == found.to_le_bytes()), "whole");
                let allowed = &mut history[page as usize];
                assert!(allowed.contains(&found), "{buffer}: page {page}: {found} of {allowed:?}");
                *allowed = vec![found];
            }
            for _ in 0..draw(120) {
                let page = draw(PAGES);
                value += 1;
                history[page as usize].push(value);
                let is_forced = draw(8) == 0;
                let payload = value.to_le_bytes().repeat(1024);
                assert_eq!(client.write(page * 4096, &payload, FUA * u16::from(is_forced)), 0);
                if is_forced {
                    history[page as usize] = vec![value];
                }
                if draw(30) == 0 {
                    assert_eq!(client.flush(), 0);
                    for allowed in &mut history {
                        *allowed = vec![*allowed.last().unwrap()];
                    }
                }
            }
            // Requests under way when the server dies may have happened or not.
            for _ in 0..draw(6) {
                let page = draw(PAGES);
                value += 1;
                history[page as usize].push(value);
                client.send(1, 0, page * 4096, 4096, &value.to_le_bytes().repeat(1024));
            }
            client.send(3, 0, 0, 0, b"");
            if draw(2) == 0 {
                std::thread::sleep(std::time::Duration::from_micros(draw(3000)));
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
