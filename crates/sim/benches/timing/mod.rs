//! The time of a run without the reading of its trace.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use clockhand_sim::{Phase, Progress, SimError};

/// The delay with which the end of the reading may be noticed; the rest takes some milliseconds.
const WATCH_EVERY: Duration = Duration::from_micros(20);

/// From the moment when the trace has been read to the end of `run`.
pub fn after_reading<T>(run: impl FnOnce(&Progress) -> Result<T, SimError>) -> Duration {
    let progress = Progress::default();
    thread::scope(|scope| {
        let start = scope.spawn(|| {
            while progress.now().0 != Phase::Replaying && !progress.is_cancelled() {
                thread::sleep(WATCH_EVERY);
            }
            Instant::now()
        });
        let outcome = run(&progress);
        let end = Instant::now();
        // Lets the watcher end, too, should the trace not have been read.
        progress.cancel();
        black_box(outcome.expect("the run succeeds"));
        end.duration_since(start.join().expect("the watcher only looks"))
    })
}
