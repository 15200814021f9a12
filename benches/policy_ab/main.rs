//! Replays a Zipf trace with two versions of the policies in one process, in turn, and compares CPU times. Both must
//! count the same. `../policy_ab.py` builds it; arguments: references, rounds, numbers of frames with commas
//! between them, policies.

use std::hint::black_box;

use policies_after::SplitMix64;

/// Pages of the trace.
const PAGES: u32 = 1_000_000;
const SEED: u64 = 42;
/// As the simulator.
const LOOK_AHEAD: usize = 32;

/// A replay of one version: misses and page writes of a policy. Whether the version looks ahead is set by the script.
macro_rules! version {
    ($module:ident, $version:ident, $looks_ahead:meta, $fetches_ahead:meta, $replaces:meta, $fast:meta) => {
        mod $module {
            use $version::catalog::{PolicySpec, Size, Visitor};
            #[cfg($fast)]
            use $version::memory::fast::FastMemory;
            use $version::page::{AccessDriven, BitDriven, Fault, Offline, PagePolicy};
            use $version::{Frame, Frames, Memory, Op, PageId, Ratio};

            /// Page numbers shifted by one; bit 0 says that the reference writes.
            struct Trace<'a>(&'a [u32]);

            #[derive(Default)]
            struct Counts {
                misses: u64,
                writes: u64,
            }

            struct Replay<'a> {
                trace: Trace<'a>,
                size: Size,
            }

            fn op(writes: bool) -> Op {
                if writes { Op::Write } else { Op::Read }
            }

            #[inline(never)]
            fn fault<P: PagePolicy>(
                memory: &mut Memory<P>,
                writes: bool,
                page: PageId,
                counts: &mut Counts,
            ) {
                counts.misses += 1;
                if memory.is_full() {
                    let victim = memory.propose_victim_for(page).expect("nothing is pinned");
                    while let Some(frame) = memory.next_write_back() {
                        counts.writes += 1;
                        memory.written_back(frame);
                    }
                    if memory.frames().is_dirty(victim) {
                        counts.writes += 1;
                        memory.written_back(victim);
                    }
                    memory.commit_eviction();
                }
                memory.load(Fault::new(page, op(writes)));
            }

            #[inline(never)]
            fn references<P: PagePolicy>(
                memory: &mut Memory<P>,
                references: &[u32],
                hit: &impl Fn(&mut Memory<P>, bool, Frame),
                counts: &mut Counts,
            ) {
                for &reference in references {
                    let (writes, page) = (reference & 1 == 1, PageId(reference >> 1));
                    let frame = memory.frame_of(page);
                    if frame != Frame::NONE {
                        hit(memory, writes, frame);
                        continue;
                    }
                    #[cfg($replaces)]
                    if let Some(replaced) = memory.replace(Fault::new(page, op(writes))) {
                        counts.misses += 1;
                        counts.writes += u64::from(replaced.was_dirty);
                        continue;
                    }
                    fault(memory, writes, page, counts);
                }
            }

            impl Replay<'_> {
                #[inline(always)]
                fn run<P: PagePolicy>(
                    self,
                    policy: P,
                    hit: impl Fn(&mut Memory<P>, bool, Frame),
                ) -> (u64, u64) {
                    let mut memory = Memory::new(self.size.frames, self.size.pages, policy);
                    let mut counts = Counts::default();
                    let trace = self.trace.0;
                    let mut ahead = trace.chunks(super::LOOK_AHEAD).skip(1);
                    for block in trace.chunks(super::LOOK_AHEAD) {
                        let soon = ahead.next().unwrap_or_default();
                        #[cfg($looks_ahead)]
                        if P::LOOKS_AHEAD {
                            soon.iter().for_each(|soon| memory.look_ahead(PageId(soon >> 1)));
                        }
                        #[cfg($fetches_ahead)]
                        if P::LOOKS_AHEAD {
                            for soon in soon {
                                memory.fetch_ahead(PageId(soon >> 1), clockhand_prefetch::prefetch);
                            }
                        }
                        let _ = soon;
                        references(&mut memory, block, &hit, &mut counts);
                    }
                    (counts.misses, counts.writes)
                }
            }

            impl Visitor for Replay<'_> {
                type Output = (u64, u64);

                fn bit_driven<P: BitDriven + 'static>(self, policy: P) -> Self::Output {
                    #[cfg($fast)]
                    let hit = |memory: &mut Memory<P>, writes, frame| memory.hit(op(writes), frame);
                    #[cfg(not($fast))]
                    let hit = |memory: &mut Memory<P>, writes: bool, frame| {
                        memory.hit(writes.into(), frame);
                    };
                    self.run(policy, hit)
                }

                fn access_driven<P: AccessDriven + 'static>(self, policy: P) -> Self::Output {
                    self.run(policy, |memory, writes, frame| memory.access(op(writes), frame))
                }

                fn offline<P: Offline + 'static>(self, _: P) -> Self::Output {
                    panic!("policies that know the future are not compared")
                }
            }

            pub fn replay(policy: &str, trace: &[u32], frames: u32) -> (u64, u64) {
                let spec = PolicySpec::parse(policy).expect("a policy of both versions");
                let resolved = spec.resolve(frames, Ratio::whole(8)).expect("parameters");
                let size = Size { frames, pages: super::PAGES };
                resolved.build(size, Replay { trace: Trace(trace), size })
            }
        }
    };
}

version!(
    before,
    policies_before,
    before_looks_ahead,
    before_fetches_ahead,
    before_replaces,
    before_has_fast_functions
);
version!(
    after,
    policies_after,
    after_looks_ahead,
    after_fetches_ahead,
    after_replaces,
    after_has_fast_functions
);

/// Zipf popularity with exponent 1, three of ten references write; pages are numbered by first touch, as the simulator
/// does.
fn zipf(references: usize) -> Vec<u32> {
    let mut random = SplitMix64::new(SEED);
    let mut sum = 0.0;
    let weights_up_to: Vec<f64> = (1..=PAGES)
        .map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        })
        .collect();
    let mut page_of_rank = vec![None; PAGES as usize];
    let mut new_pages = 0..PAGES;
    let reference = |_| {
        let point = (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        let rank = weights_up_to.partition_point(|&weight| weight < point);
        let page = &mut page_of_rank[rank.min(PAGES as usize - 1)];
        let page = *page.get_or_insert_with(|| new_pages.next().expect("as many as ranks"));
        page << 1 | u32::from(random.next() % 10 < 3)
    };
    (0..references).map(reference).collect()
}

/// CPU time of this thread, which the kernel brings up to date when another may run.
fn cpu_ns() -> u64 {
    std::thread::yield_now();
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    times.split(' ').next().and_then(|first| first.parse().ok()).expect("nanoseconds")
}

/// What was counted, and the CPU time that it took.
fn timed(replay: impl FnOnce() -> (u64, u64)) -> ((u64, u64), f64) {
    let start_ns = cpu_ns();
    let counts = black_box(replay());
    (counts, (cpu_ns() - start_ns) as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, references, rounds, frames, policies @ ..] = &arguments[..] else {
        panic!("arguments: references, rounds, frames, policies")
    };
    let memory_frames: Vec<u32> =
        frames.split(',').map(|frames| frames.parse().expect("a number")).collect();
    let (references, rounds): (usize, usize) =
        (references.parse().expect("a number"), rounds.parse().expect("a number"));
    let trace = zipf(references);
    println!("policy,frames,before_ns,after_ns,before_over_after,least_ratio,greatest_ratio");
    for policy in policies {
        for &frames in &memory_frames {
            let (mut before_ns, mut after_ns, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rounds {
                let (expected, before) = timed(|| before::replay(policy, &trace, frames));
                let (counted, after) = timed(|| after::replay(policy, &trace, frames));
                assert_eq!(expected, counted, "{policy}: misses and page writes");
                before_ns.push(before / references as f64);
                after_ns.push(after / references as f64);
                ratios.push(before / after);
            }
            ratios.sort_by(f64::total_cmp);
            let (least, greatest) = (ratios[0], ratios[rounds - 1]);
            println!(
                "{policy},{frames},{:.1},{:.1},{:.3},{least:.3},{greatest:.3}",
                median(before_ns),
                median(after_ns),
                median(ratios)
            );
        }
    }
}
