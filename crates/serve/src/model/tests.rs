use std::sync::Mutex;

use super::*;

const HYBRIDS: [(&str, u32); 6] = [
    ("clock-dnv:dram_share=0.5,commands=safe", 2),
    ("clock-dnv:dram_share=0.5,commands=safe,nvm_write_hit=promote", 3),
    ("clock-dnv:dram_share=0.5,commands=safe,nvm_write_hit=dram_copy,padding=off", 3),
    ("clock-dnv:dram_share=0.34,commands=safe,padding=keep_clean", 3),
    ("clock-dnv:dram_share=0.5,commands=safe,nvm_write_hit=promote,pad_migrating=true", 4),
    ("cbm:dram_share=0.5", 4),
];
const VOLATILE: [(&str, u32); 3] =
    [("fab:commands=safe", 2), ("lru:commands=safe", 1), ("bplru:commands=safe", 2)];

fn setups(mutant: Option<Mutant>) -> Vec<Setup> {
    let hybrids = HYBRIDS.into_iter().flat_map(|(buffer, total)| {
        [(1, false), (2, true)].map(|(spare_slots, is_behind)| Setup {
            buffer,
            total,
            spare_slots,
            is_behind,
            mutant,
        })
    });
    let volatile = VOLATILE.into_iter().map(|(buffer, total)| Setup {
        buffer,
        total,
        spare_slots: 0,
        is_behind: true,
        mutant,
    });
    hybrids.chain(volatile).collect()
}

/// The number of trials: few in `make test`, more in `make torture`.
fn effort() -> usize {
    std::env::var("CLOCKHAND_MODEL_EFFORT").map_or(1, |text| text.parse().expect("a number"))
}

/// Checks seeded scripts until one fails or `count` are checked.
fn check_drawn(setup: &Setup, count: usize, len: usize, seed: u64) -> Verdict {
    let mut recoveries = Recoveries::seeded(seed);
    for _ in 0..count {
        let script = script::drawn(len, &mut |below| recoveries.draw(below));
        check_script(setup, &script, &mut recoveries)?;
    }
    Ok(())
}

/// Checks all scripts of one to `len` requests; how many there were, and how many states.
fn check_all(setup: &Setup, len: usize) -> (u64, u64) {
    let mut recoveries = Recoveries::default();
    let mut scripts = 0;
    for len in 1..=len {
        script::each(len, &mut |script| {
            scripts += 1;
            check_last(setup, script, &mut recoveries).unwrap();
            true
        });
    }
    (scripts, recoveries.states)
}

#[test]
fn no_crash_after_any_io_of_short_scripts_loses_what_was_promised() {
    let len = std::env::var("CLOCKHAND_MODEL_REQUESTS").map_or(2, |text| text.parse().unwrap());
    let setups = Mutex::new(setups(None));
    let work = || {
        while let Some(setup) = { setups.lock().unwrap().pop() } {
            let (scripts, states) = check_all(&setup, len);
            println!("{scripts} scripts, {states} states: {setup:?}");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

#[test]
fn no_crash_after_any_io_of_long_scripts_loses_what_was_promised() {
    for (seed, setup) in setups(None).iter().enumerate() {
        check_drawn(setup, 6 * effort(), 8, seed as u64).unwrap();
        check_drawn(setup, 2 * effort(), 16, 100 + seed as u64).unwrap();
    }
}

#[test]
fn a_damaged_sector_of_the_nvm_file_is_refused_or_harmless() {
    for (seed, setup) in setups(None).iter().enumerate() {
        let mut recoveries = Recoveries::seeded(seed as u64);
        for _ in 0..10 * effort() {
            let script = script::drawn(8, &mut |below| recoveries.draw(below));
            check_damage(setup, &script, &mut recoveries).unwrap();
        }
    }
}

/// What is checked must notice each of these mistakes.
fn is_caught(mutant: Mutant) -> Option<String> {
    for round in 0..40 {
        for (seed, setup) in setups(Some(mutant)).iter().enumerate() {
            if let Err(what) = check_drawn(setup, 4, 8, seed as u64 + 1000 * round) {
                return Some(what);
            }
        }
    }
    None
}

macro_rules! caught {
    ($($name:ident: $mutant:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let what = is_caught(Mutant::$mutant).expect("the mistake is noticed");
                println!("{what}");
            }
        )*
    };
}

caught! {
    flush_without_a_sync_of_the_disk_is_caught: NoDiskSync;
    voids_before_the_sync_are_caught: VoidsBeforeTheSync;
    voids_newest_first_are_caught: NewestVoidFirst;
    one_round_of_voids_is_caught: OneRoundOfVoids;
    a_live_slot_overwritten_is_caught: LiveSlotOverwritten;
    a_number_taken_before_room_was_made_is_caught: NumberBeforeRoom;
    a_promised_version_forgotten_is_caught: PromisedVersionForgotten;
    recovery_without_its_sync_is_caught: RecoveryWithoutSync;
}
