//! What `simulate --bits sensed` says of a trace of all references, and what a pager decides that sees few of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use clockhand_pager::{Bits, Event, InitialPages, Parts};
use clockhand_policy::{Op, PageId};
use clockhand_twins::cases;
use proptest::prelude::*;

use crate::decisions::{
    PAGES, events_of_twin, policies, reading_ahead, settings, twin, with_bits, writes_first,
};
use crate::model::{ModelMemory, ModelStore, Source};

proptest! {
    #![proptest_config(cases(256))]

    /// Only accesses to pages that are leaving, and can still be reached, are left out: they are discovered later.
    #[test]
    fn with_sensed_bits_the_pager_decides_as_if_it_saw_every_access(
        accesses in prop::collection::vec((prop_oneof![3 => 0..6u32, 2 => 0..PAGES], any::<bool>()), 1..300),
        frames in 1u32..12, reserve in 0u32..9, ahead in 0u32..10, pace in any::<u64>(), shows_writes in any::<bool>(),
    ) {
        // Exposed pages are discovered later, too, and in the order of the pages.
        let (source, ahead) = if shows_writes { (Source::SensedWrites, 0) } else { (Source::Sensed, ahead) };
        // A period counts the references that are seen, and these kernels' lists depend on the order in which accesses are.
        let is_left_out = |policy: &String| policy.contains("period=") || policy.starts_with("linux24");
        for policy in policies().into_iter().filter(|policy| !is_left_out(policy)) {
            let settings = with_bits(settings(&policy, frames + reserve, reserve), Bits::Sensed);
            let settings = reading_ahead(settings, ahead);
            let (memory, events) = (ModelMemory::new(PAGES, source), Arc::new(Mutex::new(Vec::new())));
            memory.drop_at_once();
            let log = events.clone();
            let mut pager = settings.build(Parts {
                program: Box::new(memory.clone()),
                translations: memory.translations(),
                store: Box::new(ModelStore::new(pace)),
                events: Box::new(move |event| log.lock().expect("no test panics with this lock").push(event)),
                initial: InitialPages::new(),
            });
            let mut twin = twin(&policy, frames, Bits::Sensed);
            let (mut expected, mut resident) = (Vec::new(), BTreeSet::new());
            for &(page, is_write) in &accesses {
                let (page, op) = (PageId(page), if is_write { Op::Write } else { Op::Read });
                if memory.is_present(page) && !resident.contains(&page) {
                    prop_assert!(shows_writes && reserve > 0, "page {} is not leaving", page.0);
                    continue;
                }
                while !memory.allows(page, op) {
                    pager.serve(page, op).expect("the store does not fail");
                }
                let access = Event::Reference { page, op, is_miss: false };
                for event in events_of_twin(&mut *twin, &[access]) {
                    match event {
                        Event::Reference { page, .. } => drop(resident.insert(page)),
                        Event::Eviction { page, .. } => drop(resident.remove(&page)),
                        Event::WriteBack { .. } => {}
                    }
                    expected.push(event);
                }
            }
            let seen = events.lock().expect("no test panics with this lock").clone();
            let is_other = |event: &Event| !matches!(event, Event::Reference { is_miss: false, .. });
            let decided = |events: Vec<Event>| events.into_iter().filter(is_other).collect::<Vec<_>>();
            prop_assert_eq!(decided(writes_first(&seen)), decided(expected), "{}", policy);
        }
    }
}
