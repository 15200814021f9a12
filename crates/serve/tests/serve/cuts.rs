//! Power cuts: the real server on a drive that forgets what was not synced, cut after any change or sync, also while it
//! recovers. Each sector must then read as the last write that an answered FLUSH or FUA covers, or as a later one.

use std::path::Path;
use std::process::Child;

use crate::client::{Client, FUA, Folder, TRIM};
use crate::crashes::{BUFFERS, PAGES, draws, rounds, started};
use crate::drive::Drive;

const SECTORS: usize = PAGES as usize * 8;

/// Of each sector the values that it may have, the one that is covered first.
struct Oracle(Vec<Vec<u64>>);

impl Oracle {
    fn cover(&mut self, sectors: std::ops::Range<usize>) {
        for allowed in &mut self.0[sectors] {
            allowed.drain(..allowed.len() - 1);
        }
    }

    /// What a disk has after a crash is allowed, and stays so from now on.
    fn check(&mut self, content: &[u8], told: &str) {
        for (sector, bytes) in content.chunks(512).enumerate() {
            let found = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            assert!(bytes.chunks(8).all(|part| part == found.to_le_bytes()), "{told}: {sector}");
            let allowed = &mut self.0[sector];
            assert!(allowed.contains(&found), "{told}: sector {sector}: {found} of {allowed:?}");
            *allowed = vec![found];
        }
    }
}

/// Writes until the power fails, or enough is written; whatever is refused may have been carried out.
fn use_it(
    client: &mut Client,
    oracle: &mut Oracle,
    value: &mut u64,
    draw: &mut dyn FnMut(u64) -> u64,
) {
    for _ in 0..40 + draw(160) {
        let first = draw(SECTORS as u64 - 24) as usize;
        let sectors = first..first + [1, 3, 8, 8, 16, 24][draw(6) as usize];
        let (at, bytes) = (sectors.start as u64 * 512, sectors.len() as u32 * 512);
        let done = match draw(20) {
            0 => {
                let done = client.flush() == 0;
                if done {
                    oracle.cover(0..SECTORS);
                }
                done
            }
            1 => {
                let whole = sectors.start.next_multiple_of(8)..sectors.end / 8 * 8;
                oracle.0[whole.start..whole.end.max(whole.start)]
                    .iter_mut()
                    .for_each(|allowed| allowed.push(0));
                client.request(TRIM, 0, at, bytes) == 0
            }
            kind => {
                *value += 1;
                oracle.0[sectors.clone()].iter_mut().for_each(|allowed| allowed.push(*value));
                let payload = value.to_le_bytes().repeat(bytes as usize / 8);
                let forced = kind < 5;
                let done = client.write(at, &payload, FUA * u16::from(forced)) == 0;
                if forced && done {
                    oracle.cover(sectors);
                }
                done
            }
        };
        if !done {
            return;
        }
    }
}

/// Starts until that goes well: each time the power may fail while it recovers.
fn recovered(
    drive: &Drive,
    files: &Path,
    socket: &Path,
    buffer: &str,
    draw: &mut dyn FnMut(u64) -> u64,
) -> Child {
    loop {
        let started = started(files, socket, buffer);
        match started {
            Ok(server) => return server,
            Err(told) => assert!(drive.has_no_power(), "{buffer}: {told}"),
        }
        drive.lose_power(&mut |below| draw(below as u64) as usize);
        let rest = if draw(3) == 0 { Some(1 + draw(60)) } else { None };
        drive.power_on(rest);
    }
}

#[test]
fn what_was_flushed_outlives_power_cuts_at_any_change_of_a_file() {
    for (index, buffer) in BUFFERS.iter().enumerate() {
        let (place, mounted) = (Folder::new(), Folder::new());
        let (drive, _session) = match Drive::mount(mounted.folder.path()) {
            Ok(drive) => drive,
            Err(error) => {
                println!("skipped: no file system can be mounted here through FUSE: {error}");
                return;
            }
        };
        let mut draw = draws(1234 + index as u64);
        let mut oracle = Oracle(vec![vec![0]; SECTORS]);
        let mut value = 0;
        for round in 0..rounds() / BUFFERS.len() as u64 {
            // The power fails soon, after a while, or when the server is idle.
            let rest = [Some(1 + draw(12)), Some(1 + draw(300)), None][draw(3) as usize];
            drive.power_on(rest);
            let files = mounted.folder.path();
            let mut server = recovered(&drive, files, &place.socket(), buffer, &mut draw);
            let mut client = Client::connect(&place.socket());
            // What is read past the failure is no state after a crash.
            if let Ok(content) = client.read(0, SECTORS as u32 * 512)
                && !drive.has_no_power()
            {
                oracle.check(&content, &format!("{buffer}, cut {round}"));
            }
            use_it(&mut client, &mut oracle, &mut value, &mut draw);
            drive.lose_power(&mut |below| draw(below as u64) as usize);
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}
