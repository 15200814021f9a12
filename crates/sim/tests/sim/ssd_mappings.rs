//! Mappings behind a write buffer: their columns, the order of commands that reach the drive, and refusals.

use clockhand_sim::{RequestTable, SsdRow};

use crate::experiments::{input, table};
use crate::ssd::{experiment, on_one_trace, refusal, row};

const DRIVE: &str = "dnv-textbook:size=64KiB,pages_per_block=4,over_provisioning=60%";

fn on(drive_options: &str, references: &str) -> SsdRow {
    row(&on_one_trace(references, &["lru:total=1"], &format!("{DRIVE}{drive_options}")))
}

/// Writes and reads that go round.
fn mixed() -> String {
    let request = |step: usize| {
        let op = if step.is_multiple_of(3) { 'r' } else { 'w' };
        format!("{op}{}", step * 7 % 16)
    };
    (0..200).map(request).collect::<Vec<_>>().join(" ")
}

#[test]
fn merges_are_counted_for_log_blocks_and_for_nothing_else() {
    let merges = |row: &SsdRow| (row.switch_merges, row.partial_merges, row.full_merges);
    assert_eq!(merges(&on("", &mixed())), (None, None, None));
    for mapping in [",mapping=bast,log_blocks=2", ",mapping=fast,log_blocks=2"] {
        let row = on(mapping, &mixed());
        assert!(row.full_merges > Some(5), "{row:?}");
        assert_eq!(row.flash_programs, row.host_writes + row.relocations);
        assert_eq!(row.cmt_hits, None);
    }
}

#[test]
fn every_page_that_a_drive_with_its_map_on_flash_hears_of_is_looked_up_in_order() {
    let row = on(",mapping=dftl,cmt_entries=4,entry_bytes=1024", &mixed());
    let read_misses = row.read_references - row.read_hits;
    let look_ups = row.cmt_hits.unwrap() + row.cmt_misses.unwrap();
    assert_eq!(look_ups, row.host_writes + read_misses, "each once");
    let translation = row.translation_programs.unwrap() + row.translation_relocations.unwrap();
    assert!(translation > 20);
    assert_eq!(row.flash_programs, row.host_writes + row.relocations + translation);
}

/// Two streams in turn: one goes round 12 pages, the other overwrites one.
fn two_streams() -> RequestTable {
    let references: Vec<String> = (0..400).map(|step| format!("w{} w0", step % 12)).collect();
    let mut trace = table(&references.join(" "));
    trace.streams = Some((0..trace.addresses.len() as u32).map(|index| 5 + index % 2).collect());
    trace
}

#[test]
fn streams_that_are_kept_apart_move_fewer_pages() {
    let relocations = |options: &str| {
        let drive = format!("{DRIVE},minimum_free=2{options}");
        let trace = vec![input("t", two_streams())];
        row(&experiment(trace, &["lru:total=1"], &[&drive])).relocations
    };
    let (mixed, apart) = (relocations(""), relocations(",separate=stream:2"));
    assert!(mixed > 50 && apart < 10, "{mixed} and {apart}");
}

#[test]
fn an_slc_region_is_folded_and_counted() {
    let row = on(",slc_blocks=4,bits_per_cell=2", &mixed());
    let folded = row.folded_pages.expect("there is a region");
    assert!(folded > 0 && folded <= row.relocations);
    assert!(row.slc_erases.expect("there is a region") <= row.erases);
    assert_eq!(row.device_busy_us, None, "its times are others");
    assert_eq!(on("", &mixed()).folded_pages, None);
}

#[test]
fn operations_one_after_the_other_take_their_times() {
    let row = on("", &mixed());
    let busy_us = row.flash_reads * 25 + row.flash_programs * 200 + row.erases * 1500;
    assert_eq!(row.device_busy_us, Some(busy_us as f64));
}

#[test]
fn zones_take_no_write_buffer_and_no_ageing() {
    let zoned =
        on_one_trace("w0 w1", &["lru:total=1"], &format!("{DRIVE},mapping=zoned,zone_blocks=2"));
    let said = refusal(&zoned);
    assert!(
        said.contains("which a write buffer such as lru:total=1 would write out of order"),
        "{said}"
    );
}

#[test]
fn what_is_written_in_part_is_read_before_where_a_unit_is_mapped() {
    // Four pages of 4 KiB are a unit: the first write of each finds nothing, the others read it, unless it is buffered.
    let references = "w0 w1 w2 w3 w12 w1 w13";
    let (plain, unit) = (",page_bytes=16384", ",mapping_unit=16KiB");
    let reads = |options: &str, buffer: &str| {
        let drive = format!("{DRIVE}{options}");
        let row = row(&on_one_trace(references, &[buffer], &drive));
        (row.flash_reads - row.relocations, row.host_writes)
    };
    assert_eq!(reads(plain, "none"), (0, 7));
    assert_eq!(reads(unit, "none"), (5, 7));
    assert_eq!(reads(unit, "lru:total=2"), (0, 0));
    // The unit of page 1 was flushed when that of page 12 came.
    assert_eq!(reads(unit, "lru:total=1"), (2, 3));
}
