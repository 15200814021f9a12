//! With a reserve, policies have the frames that it leaves, and nothing else changes.

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{
    Contestant, Experiment, Given, MemorySize, Observation, Plan, RequestTable, Row, SimError,
    TraceInput, plan_cells,
};
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases, contestants, experiment, input, refusal, rows, table};

/// The memory sizes: enough of them that LRU's counts come from one pass.
const POLICY_FRAMES: [u32; 6] = [1, 2, 3, 5, 9, 30];

/// The whole catalog, and windows that are shares of the frames.
fn policies() -> Vec<&'static str> {
    let names = CATALOG.iter().map(|entry| entry.description.name);
    names.chain([Contestant::BOUND, "cflru:window_share=3/4", "cfclock:window_share=1/2"]).collect()
}

fn with_reserve(table: &RequestTable, reserve: u32, observation: Option<Observation>) -> Vec<Row> {
    let frames = POLICY_FRAMES.map(|frames| frames + reserve);
    let mut experiment = experiment(vec![input("t", table.clone())], &policies(), &frames);
    experiment.reserve = reserve;
    experiment.observation = observation;
    rows(&experiment)
}

fn tables() -> impl Strategy<Value = RequestTable> {
    let reference = (any::<bool>(), prop_oneof![0..6_u64, 0..25_u64]);
    prop::collection::vec(reference, 1..300).prop_map(|references| RequestTable {
        is_write: references.iter().map(|&(is_write, _)| is_write).collect(),
        addresses: references.iter().map(|&(_, page)| page * PAGE_BYTES).collect(),
        ..RequestTable::default()
    })
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn a_reserve_leaves_every_policy_the_rest_of_the_frames(
        table in tables(),
        reserve in 1..40_u32,
        is_observed in any::<bool>(),
    ) {
        let observation = is_observed.then(|| Observation { hand_ns: 7, ..Observation::default() });
        let without = with_reserve(&table, 0, observation);
        let with = with_reserve(&table, reserve, observation);
        prop_assert_eq!(without.len(), with.len());
        for (without, with) in without.into_iter().zip(with) {
            let frames = without.frames + u64::from(reserve);
            let memory_share = frames as f64 / without.footprint_pages as f64;
            prop_assert_eq!(with, Row { frames, memory_share, reserve: reserve.into(), ..without });
        }
    }
}

#[test]
fn a_reserve_that_leaves_some_cell_no_frame_is_refused_with_the_smallest_cell() {
    let mut experiment =
        experiment(vec![input("t", table("r0 w1 r2 r3"))], &["clock"], &[20, 8, 9]);
    for reserve in [8, 9, u32::MAX] {
        experiment.reserve = reserve;
        let said = refusal(&experiment);
        assert!(matches!(said, SimError::Usage(_)), "{said}");
        let start = format!("--reserve {reserve} leaves no frame to the policies in the smallest");
        assert!(said.to_string().starts_with(&start), "{said}");
        assert!(said.to_string().contains("8 frames; give a reserve below 8"), "{said}");
    }
    // Half of four pages.
    experiment.sizes = vec![MemorySize::Share { numerator: 1, denominator: 2 }];
    experiment.reserve = 2;
    assert!(refusal(&experiment).to_string().contains("2 frames; give a reserve below 2"));
    experiment.reserve = 1;
    assert_eq!((rows(&experiment)[0].frames, rows(&experiment)[0].reserve), (2, 1));
}

fn plan(experiment: &Experiment, footprint_pages: Option<u32>) -> Result<Plan, SimError> {
    plan_cells(experiment, &Given::new(), footprint_pages)
}

#[test]
fn what_can_be_known_of_a_reserve_is_said_before_a_trace_is_read() {
    let unread = TraceInput::file("no such trace");
    let mut experiment = experiment(vec![unread], &["clock"], &[8]);
    experiment.reserve = 8;
    assert!(matches!(refusal(&experiment), SimError::Usage(_)));
    assert!(plan(&experiment, None).is_err());
    // A share may be as many frames as the footprint is large.
    experiment.sizes = vec![MemorySize::Share { numerator: 1, denominator: 100 }];
    assert!(matches!(refusal(&experiment), SimError::Trace(_)), "the trace's turn");
    assert!(plan(&experiment, None).is_ok());
    assert!(plan(&experiment, Some(899)).is_err());
    assert_eq!(plan(&experiment, Some(900)).expect("9 frames").cells[0].key["frames"], 9);
}

#[test]
fn planned_cells_are_resolved_for_the_frames_that_the_reserve_leaves() {
    let mut experiment = experiment(Vec::new(), &[], &[24]);
    experiment.policies = contestants(["cflru-dynamic"]);
    let step = |experiment: &Experiment| {
        plan(experiment, None).expect("it fits").cells[0].key["policy_resolved"].to_string()
    };
    // The default step is a sixteenth of the frames.
    assert!(step(&experiment).contains("step=1"), "{}", step(&experiment));
    experiment.sizes = vec![MemorySize::Frames(48)];
    assert!(step(&experiment).contains("step=3"), "{}", step(&experiment));
    experiment.reserve = 16;
    assert!(step(&experiment).contains("step=2"), "{}", step(&experiment));
}
