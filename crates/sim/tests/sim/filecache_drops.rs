//! What a file cache makes of content that ends: discards, deletions, truncations, lifetimes of objects.

use std::fmt::Write;
use std::path::PathBuf;

use clockhand_sim::{AdmissionRule, FileCacheRow, TraceInput};
use clockhand_trace::OpenOptions;
use clockhand_twins::{AdmissionRules, Cost, FileCacheTwin, Op, belady, file_cache_bound};
use proptest::prelude::*;

use crate::experiments::{PAGE_BYTES, cases};
use crate::filecache::{
    FileCache, PEEKABLE, POLICIES, counts_of, rules_of, second_touch, table_of,
};

/// A trace in a file of this content; with a format, if the content does not tell it.
fn cache_of(folder: &tempfile::TempDir, text: &str, format: Option<&str>) -> FileCache {
    let path: PathBuf = folder.path().join("trace.txt");
    std::fs::write(&path, text).unwrap();
    let options = OpenOptions { format: format.map(str::to_owned), ..OpenOptions::default() };
    let mut cache = FileCache::new(table_of(&[]));
    cache.experiment.traces = vec![TraceInput::opened(path, options)];
    cache
}

/// Hits, admitted blocks, evictions, and blocks that were dropped clean and dirty.
fn shown(row: &FileCacheRow) -> [u64; 5] {
    let [hits, _, admitted, _, evictions, ..] = counts_of(row);
    [hits, admitted, evictions, row.dropped_clean.unwrap(), row.dropped_dirty.unwrap()]
}

#[test]
fn a_discard_drops_whole_blocks_unwritten() {
    let folder = tempfile::tempdir().unwrap();
    let text = "cw f1 0 4096\ncr f1 4096 4096\ndiscard f1 0 8191\ncr f1 8192 4096\ncr f1 4096 1\n\
                cr f1 0 1\ntruncate f1 4097\ncr f1 4096 1\ncr f1 8192 1\ndelete f1\n";
    let mut cache = cache_of(&folder, text, None);
    cache.experiment.flush_at_end = true;
    // 0 leaves dirty, so that 2 finds room; 1 hits; 0 comes back for 2. The cut keeps 1, which hits; 2 for 0; both go.
    let row = cache.row();
    assert_eq!(shown(&row), [2, 5, 2, 2, 1]);
    assert_eq!((row.dirty_evictions, row.flush_writes), (Some(0), Some(0)));
    cache.policy = "lru fifo clock min".to_owned();
    cache.capacity = "3".to_owned();
    for row in cache.rows() {
        assert_eq!(shown(&row), [2, 5, 0, 4, 1], "{}", row.policy);
    }
}

#[test]
fn objects_take_the_blocks_that_they_have_and_leave_when_their_lifetime_has_run_out() {
    let folder = tempfile::tempdir().unwrap();
    let format = "csv:header=no,time=1:s,op=2,object=3,size=4,ttl=5:s";
    let text = "0,set,k,100,10\n5,get,k,100,0\n10,get,k,100,0\n11,get,k,100,0\n\
                11,set,big,9000,0\n12,get,big,9000,\n13,delete,big,,\n14,get,big,9000,\n\
                20,get,k,100,3\n21,get,k,100,3\n24,get,k,100,0\n";
    let mut cache = cache_of(&folder, text, Some(format));
    cache.capacity = "8".to_owned();
    // k is good until 10, then from 11 on without an end, and from 20 until 23, which the request at 21 does not change.
    // big has three blocks: they miss, hit, are deleted, and miss.
    let row = cache.row();
    assert_eq!((row.references, row.footprint_blocks), (16, 4));
    assert_eq!(shown(&row), [7, 9, 0, 1, 4]);
    cache.policy = "min bound".to_owned();
    let rows = cache.rows();
    assert_eq!((shown(&rows[0]), rows[1].hits), (shown(&row), row.hits));
    cache.experiment.block_sizes_bytes = vec![PAGE_BYTES, 16384];
    assert_eq!(cache.rows()[2].references, 10, "big is one block of 16 KiB");
}

/// A reference to a block, or blocks whose content ends.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reference(u64, Op),
    Discard { first: u64, blocks: u64 },
    Truncate(u64),
    Delete,
}

impl Step {
    fn drops(self, block: u64) -> bool {
        match self {
            Step::Reference(..) => false,
            Step::Discard { first, blocks } => (first..first + blocks).contains(&block),
            Step::Truncate(blocks) => block >= blocks,
            Step::Delete => true,
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let op = prop_oneof![3 => Just(Op::Read), 1 => Just(Op::Write)];
    let block = || prop_oneof![0..4_u64, 0..16_u64];
    let step = prop_oneof![
        20 => (block(), op).prop_map(|(block, op)| Step::Reference(block, op)),
        3 => (block(), 1..4_u64).prop_map(|(first, blocks)| Step::Discard { first, blocks }),
        1 => block().prop_map(Step::Truncate),
        1 => Just(Step::Delete),
    ];
    prop::collection::vec(step, 1..160).prop_map(|mut steps| {
        steps[0] = Step::Reference(0, Op::Read);
        steps
    })
}

/// As lines of events.
fn text_of(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let line = match *step {
            Step::Reference(block, Op::Read) => format!("cr f1 {} 1", block * PAGE_BYTES),
            Step::Reference(block, Op::Write) => format!("cw f1 {} 1", block * PAGE_BYTES),
            Step::Discard { first, blocks } => {
                format!("discard f1 {} {}", first * PAGE_BYTES, blocks * PAGE_BYTES)
            }
            Step::Truncate(blocks) => format!("truncate f1 {}", blocks * PAGE_BYTES),
            Step::Delete => "delete f1".to_owned(),
        };
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// The references, each life of a block as a block of its own.
fn lives_of(steps: &[Step]) -> Vec<(u64, Op)> {
    let mut lives = [0; 32];
    let mut references = Vec::new();
    for &step in steps {
        (0..32).filter(|&block| step.drops(block)).for_each(|block| lives[block as usize] += 1);
        if let Step::Reference(block, op) = step {
            references.push((block * 1000 + lives[block as usize], op));
        }
    }
    references
}

/// Counts of the twin: as [`shown`], and the dirty ones among the evictions and at the end.
fn twin_counts(
    steps: &[Step],
    policy: &str,
    capacity: usize,
    rules: AdmissionRules,
) -> ([u64; 5], [u64; 2]) {
    let (name, settings) = policy.split_once(':').unwrap_or((policy, ""));
    let parameters: Vec<(&str, &str)> =
        settings.split(',').filter_map(|pair| pair.split_once('=')).collect();
    // MIN knows the future of what a block holds now, so that each life is a block; others know a block again.
    let lives = lives_of(steps);
    let mut twin = FileCacheTwin::new(capacity, rules, name, &parameters, &lives);
    let mut place = 0;
    // No other block has the number of one that was not referenced.
    let mut named: Vec<u64> = (0..32).map(|block| block * 1000).collect();
    let (mut counts, mut dirty) = ([0; 5], std::collections::BTreeSet::new());
    let mut dirty_evictions = 0;
    for &step in steps {
        if let Step::Reference(block, op) = step {
            let number = if name == "min" { lives[place].0 } else { block };
            place += 1;
            named[block as usize] = number;
            let event = twin.reference(number, op);
            counts[0] += u64::from(event.what == "hit");
            counts[1] += u64::from(event.what == "admit");
            counts[2] += event.evicted.len() as u64;
            dirty_evictions += event.evicted.iter().filter(|(_, dirty)| *dirty).count() as u64;
            for block in event.evicted.iter().map(|(block, _)| block).chain(&event.written_back) {
                dirty.remove(block);
            }
            if op == Op::Write && event.what != "bypass" {
                dirty.insert(number);
            }
        }
        for block in (0..32).filter(|&block| step.drops(block)) {
            let number = named[block as usize];
            match twin.drop_block(number) {
                Some(was_dirty) => counts[3 + usize::from(was_dirty)] += 1,
                None => continue,
            }
            dirty.remove(&number);
        }
    }
    (counts, [dirty_evictions, dirty.len() as u64])
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn every_admission_before_every_policy_drops_what_the_twin_does(
        steps in steps(),
        capacity in 1..9_usize,
        second_touch in second_touch(),
        rule in 0..4_usize,
    ) {
        let rule = AdmissionRule::ALL[rule];
        let peekable = if rule == AdmissionRule::TinyLfu { PEEKABLE } else { POLICIES.len() };
        let policies = POLICIES[..peekable].iter().filter(|&&policy| {
            policy != "min" || rule == AdmissionRule::Always
        });
        let folder = tempfile::tempdir().unwrap();
        let mut cache = cache_of(&folder, &text_of(&steps), None);
        cache.policy = policies.copied().collect::<Vec<_>>().join(" ");
        cache.capacity = capacity.to_string();
        cache.admission = rule.name().to_owned();
        cache.experiment.second_touch = second_touch;
        cache.experiment.flush_at_end = true;
        let rules = rules_of(rule, second_touch);
        for row in cache.rows() {
            let written = [row.dirty_evictions.unwrap(), row.flush_writes.unwrap()];
            let twin = twin_counts(&steps, &row.policy, capacity, rules.clone());
            prop_assert_eq!((shown(&row), written), twin, "{} {}", row.policy, rule.name());
        }
    }

    #[test]
    fn what_knows_the_future_knows_that_content_ends(
        steps in steps(),
        capacity in 1..9_usize,
        reuse in 1..4_u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = cache_of(&folder, &text_of(&steps), None);
        cache.capacity = capacity.to_string();
        cache.policy = "min bound".to_owned();
        cache.admission = "belady".to_owned();
        cache.experiment.reuse = Some(reuse);
        let lives = lives_of(&steps);
        let what = belady(&lives, capacity, Some(reuse));
        let rows = cache.rows();
        let hits = what.iter().filter(|&&what| what == "hit").count() as u64;
        let admitted = what.iter().filter(|&&what| what == "admit").count() as u64;
        prop_assert_eq!((rows[0].hits, rows[0].admitted), (hits, Some(admitted)));
        let (most, _) = file_cache_bound(&lives, capacity, (Cost::from(2), Cost::from(1), Cost::from(1)));
        prop_assert_eq!(rows[1].hits, most);
    }
}
