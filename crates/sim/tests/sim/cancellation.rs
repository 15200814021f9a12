//! A run ends soon after its driver has asked for it.

use std::thread;
use std::time::Duration;

use clockhand_sim::{Experiment, Phase, Progress, RequestTable, SimError, simulate};

use crate::experiments::{PAGE_BYTES, experiment, input};

/// Hours of work: every request a fault, in thousands of cells.
fn endless() -> Experiment {
    let pages = 50_000_u64;
    let requests = 20 * pages;
    let table = RequestTable {
        is_write: (0..requests).map(|request| request % 3 == 0).collect(),
        addresses: (0..requests).map(|request| request % pages * PAGE_BYTES).collect(),
        ..RequestTable::default()
    };
    let policies = ["lru", "clock", "craw", "cflru-dynamic", "min", "bound"];
    experiment(vec![input("endless", table)], &policies, &Vec::from_iter(1000..20_000))
}

#[test]
fn a_run_that_is_cancelled_from_another_thread_ends_with_interrupted() {
    let (experiment, progress) = (endless(), Progress::default());
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            while progress.now().0 != Phase::Replaying {
                thread::sleep(Duration::from_millis(1));
            }
            progress.cancel();
        });
        simulate(&experiment, &progress)
    });
    assert!(matches!(result, Err(SimError::Interrupted)));
    let (_, done, total) = progress.now();
    assert!(done < total / 100, "{done} of {total} records were replayed nevertheless");
}

#[test]
fn a_run_that_is_cancelled_before_it_begins_replays_nothing() {
    let progress = Progress::default();
    progress.cancel();
    assert!(matches!(simulate(&endless(), &progress), Err(SimError::Interrupted)));
    assert_eq!(progress.now().0, Phase::Reading);
}
