//! A fork of a program whose other threads go on.

use clockhand_pager::{InitialPages, Parts};
use clockhand_policy::{Op, PageId};

use crate::decisions::{policies, settings, with_bits};
use crate::model::{ModelMemory, ModelStore, Source};

#[test]
fn a_fork_ends_although_another_thread_writes_every_page_as_soon_as_it_can() {
    let source = Source::SensedWrites;
    for policy in policies() {
        let memory = ModelMemory::new(4, source);
        let mut pager = with_bits(settings(&policy, 2, 0), source.bits()).build(Parts {
            program: Box::new(memory.clone()),
            translations: memory.translations(),
            store: Box::new(ModelStore::new(0)),
            events: Box::new(|_| {}),
            initial: InitialPages::new(),
        });
        let (thread, mut taken) = (memory.of_thread(), 0);
        memory.before_a_page_is_taken(move |_| {
            taken += 1;
            assert!(taken < 1000, "the fork goes on for ever");
            for page in (0..4).map(PageId).filter(|&page| thread.allows(page, Op::Write)) {
                thread.write(page, taken);
            }
        });
        for (page, op) in [(0, Op::Write), (1, Op::Read), (2, Op::Read), (3, Op::Read)] {
            while !memory.allows(PageId(page), op) {
                pager.serve(PageId(page), op).expect("the store does not fail");
            }
        }
        pager.copy_for_fork().expect("the store does not fail");
        pager.check_invariants();
    }
}
