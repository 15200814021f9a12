//! Power cuts: the real server on a drive that forgets what was not synced, cut after any change or sync, also while it
//! recovers. Each sector must then read as the last write that an answered FLUSH or FUA covers, or as a later one.

use std::ops::Range;
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::{Client, FUA, Folder, TRIM};
use crate::crashes::{BUFFERS, PAGES, draws, rounds, started};
use crate::drive::Drive;

const SECTORS: usize = PAGES as usize * 8;

/// What each sector may read as.
struct Oracle {
    /// The values that it was given, since it was last read after a crash.
    values: Vec<Vec<u64>>,
    /// The position of the newest one whose request was answered.
    answered: Vec<usize>,
    /// The position of the newest one that was promised to stay.
    covered: Vec<usize>,
}

impl Oracle {
    fn new() -> Self {
        Oracle {
            values: vec![vec![0]; SECTORS],
            answered: vec![0; SECTORS],
            covered: vec![0; SECTORS],
        }
    }

    fn give(&mut self, sectors: Range<usize>, value: u64) {
        self.values[sectors].iter_mut().for_each(|values| values.push(value));
    }

    /// A request that only this client makes to these sectors was answered.
    fn answer(&mut self, sectors: Range<usize>, is_promised: bool) {
        for sector in sectors {
            self.answered[sector] = self.values[sector].len() - 1;
            if is_promised {
                self.covered[sector] = self.answered[sector];
            }
        }
    }

    fn promise(&mut self, answered: &[usize]) {
        for (covered, answered) in self.covered.iter_mut().zip(answered) {
            *covered = (*covered).max(*answered);
        }
    }

    /// What a disk has after a crash is allowed, and stays so from now on.
    fn check(&mut self, content: &[u8], told: &str) {
        for (sector, bytes) in content.chunks(512).enumerate() {
            let found = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            assert!(bytes.chunks(8).all(|part| part == found.to_le_bytes()), "{told}: {sector}");
            let allowed = &self.values[sector][self.covered[sector]..];
            assert!(allowed.contains(&found), "{told}: sector {sector}: {found} of {allowed:?}");
            self.values[sector] = vec![found];
        }
        self.answered.fill(0);
        self.covered.fill(0);
    }
}

/// One of two clients: it writes to its own half of the disk until the power fails, or enough is written. What is
/// refused may have been carried out; a FLUSH covers what was answered to both.
fn use_half(
    client: &mut Client,
    half: Range<usize>,
    oracle: &Mutex<Oracle>,
    value: &AtomicU64,
    mut draw: impl FnMut(u64) -> u64,
) {
    let oracle = || oracle.lock().unwrap();
    for _ in 0..20 + draw(80) {
        let first = half.start + draw(half.len() as u64 - 24) as usize;
        let sectors = first..first + [1, 3, 8, 8, 16, 24][draw(6) as usize];
        let (at, bytes) = (sectors.start as u64 * 512, sectors.len() as u32 * 512);
        let done = match draw(20) {
            0 => {
                let answered = oracle().answered.clone();
                let done = client.flush() == 0;
                if done {
                    oracle().promise(&answered);
                }
                done
            }
            1 => {
                let whole = sectors.start.next_multiple_of(8)..sectors.end / 8 * 8;
                let whole = whole.start..whole.end.max(whole.start);
                oracle().give(whole.clone(), 0);
                let done = client.request(TRIM, 0, at, bytes) == 0;
                if done {
                    oracle().answer(whole, false);
                }
                done
            }
            kind => {
                let value = value.fetch_add(1, Ordering::SeqCst);
                oracle().give(sectors.clone(), value);
                let payload = value.to_le_bytes().repeat(bytes as usize / 8);
                let forced = kind < 5;
                let done = client.write(at, &payload, FUA * u16::from(forced)) == 0;
                if done {
                    oracle().answer(sectors, forced);
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
        let oracle = Mutex::new(Oracle::new());
        let value = AtomicU64::new(1);
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
                oracle.lock().unwrap().check(&content, &format!("{buffer}, cut {round}"));
            }
            let mut other = Client::connect(&place.socket());
            std::thread::scope(|scope| {
                let (one, two) = (draws(draw(1 << 30)), draws(draw(1 << 30)));
                let (oracle, value) = (&oracle, &value);
                scope.spawn(move || use_half(&mut other, SECTORS / 2..SECTORS, oracle, value, two));
                use_half(&mut client, 0..SECTORS / 2, oracle, value, one);
            });
            drive.lose_power(&mut |below| draw(below as u64) as usize);
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}
