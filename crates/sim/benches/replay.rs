//! Nanoseconds per reference of each policy, where nearly every reference hits and where nearly every one
//! needs a victim.
//!
//! Only the replay is timed: the clock starts when the page view stands. `tests/sim/workload.rs` runs the same
//! workloads, small, and compares what they count.

mod workload;

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{Experiment, Phase, Progress, simulate};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workload::Path;

const PAGES: u32 = 100_000;
const REFERENCES: usize = 1_000_000;
/// How late the start of the replay may be noticed; a replay takes some milliseconds.
const WATCH_EVERY: Duration = Duration::from_micros(20);

/// From the moment when the trace has been read to the end.
fn replay_time(experiment: &Experiment) -> Duration {
    let progress = Progress::default();
    thread::scope(|scope| {
        let start = scope.spawn(|| {
            while progress.now().0 != Phase::Replaying && !progress.is_cancelled() {
                thread::sleep(WATCH_EVERY);
            }
            Instant::now()
        });
        let outcome = simulate(experiment, &progress);
        let end = Instant::now();
        // Lets the watcher end, too, should the trace not have been read.
        progress.cancel();
        black_box(outcome.expect("the workload is replayed"));
        end.duration_since(start.join().expect("the watcher only looks"))
    })
}

fn replay(criterion: &mut Criterion) {
    for path in Path::ALL {
        let table = Arc::new(workload::table(path, PAGES, REFERENCES));
        let mut group = criterion.benchmark_group(path.name());
        group.sample_size(10).throughput(Throughput::Elements(REFERENCES as u64));
        for entry in CATALOG {
            let policy = entry.description.name;
            group.bench_function(policy, |bencher| {
                bencher.iter_custom(|iterations| {
                    let copies = iterations as usize;
                    replay_time(&workload::experiment(path, &table, PAGES, policy, copies))
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, replay);
criterion_main!(benches);
