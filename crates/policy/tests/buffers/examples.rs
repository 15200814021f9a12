//! Cases worked by hand from the rules A-70 … A-76 and the modes beside them, with blocks of four pages.

use clockhand_policy::LogicalPage;
use clockhand_policy::buffer::{Action, Request, Source, StepPage};

use crate::driver;
use crate::requests::{PAGES_PER_BLOCK, writes_of};

fn request(text: &str) -> Request {
    let (op, page) = text.split_at(1);
    let page = || LogicalPage(page.parse().expect("a page"));
    match op {
        "R" => Request::Read(page()),
        "W" => Request::Write(page()),
        "U" => Request::ForceUnitAccess(page()),
        "T" => Request::Trim(page()),
        "F" => Request::Flush,
        "D" => Request::Drain,
        other => panic!("{other} is no request"),
    }
}

/// A page of a batch: `5` was dirty in DRAM, `5n` in NVM, `5c` is clean padding, `5f` is read from flash first,
/// `5r` is of the request; `=` stays.
fn page(entry: &StepPage) -> String {
    let letter = match (entry.source, entry.dirty) {
        (Source::Dram, true) => "",
        (Source::Dram, false) => "c",
        (Source::Nvm, _) => "n",
        (Source::Flash, _) => "f",
        (Source::Request, _) => "r",
    };
    format!("{}{letter}{}", entry.page.0, if entry.stays { "=" } else { "" })
}

/// The effect of the requests: `[0 1]` is a batch, `>2` migrates, `-3` is dropped.
fn steps(buffer: &str, total: u32, requests: &str) -> String {
    let mut driven = driver::build(buffer, total, PAGES_PER_BLOCK as u32, 100);
    let requests: Vec<Request> = requests.split(' ').map(request).collect();
    driven.foresee(&writes_of(&requests));
    let mut shown = Vec::new();
    for request in requests {
        for (action, pages) in driven.request(request).steps {
            let list: Vec<String> = pages.iter().map(page).collect();
            shown.push(match action {
                Action::Flush => format!("[{}]", list.join(" ")),
                Action::Migrate => format!(">{}", pages[0].page.0),
                Action::Drop => {
                    format!("-{}", list.join(" ").replace('c', ""))
                }
            });
        }
    }
    shown.join(" ")
}

#[test]
fn block_min_evicts_the_block_whose_next_write_is_farthest() {
    // When 8 comes, block 0 is written again before block 1. When 5 comes, neither is, nor block 2.
    assert_eq!(steps("block-min", 3, "W0 W4 W5 W8 W1 W8 W5"), "[4 5] [0 1]");
    assert_eq!(
        steps("block-min", 3, "W0 W4 W5 W8 W1 W8"),
        "[4 5]",
        "block 1 is never written again"
    );
    assert_eq!(
        steps("block-min", 3, "W0 W4 W8 W12 W0"),
        "[4]",
        "of those that are not, the oldest"
    );
    assert_eq!(steps("block-min:padding=on", 3, "W0 W4 W5 W8 W1"), "[4 5 6f 7f]");
}

#[test]
fn a_70_the_largest_group_leaves_even_if_it_is_that_of_the_incoming_page() {
    assert_eq!(steps("fab", 3, "W0 W1 W4 W2"), "[0 1]");
    assert_eq!(steps("fab", 3, "W0 R1 W4 R5"), "[0 1c]");
    assert_eq!(steps("fab:clean_padding=false", 3, "W0 R1 W4 R5"), "[0] -1");
    assert_eq!(steps("fab", 3, "R0 R1 W4 R8"), "-0 1", "an all-clean group is dropped");
    assert_eq!(steps("fab:cache_reads=false", 2, "W0 R1 R2 R3 W4 W8"), "[0]");
}

#[test]
fn a_70_among_equals_the_least_recently_used_group_leaves() {
    assert_eq!(steps("fab", 3, "W0 W4 W8 R0 W12"), "[4]");
    assert_eq!(steps("fab", 4, "W0 W1 W4 W8 T1 W12 W16"), "[0]", "a trim is no use");
}

#[test]
fn a_71_clean_pages_get_a_second_chance_and_dirty_ones_do_not() {
    assert_eq!(steps("clock-dnv:dram_share=1/2", 4, "R8 W0 R8 W0 W4"), ">0");
    assert_eq!(steps("clock-dnv:dram_share=1/2", 4, "R8 W0 R0 W4 W12"), "-8 >0");
    // A bit that was set while the page was clean stays set when it is written.
    assert_eq!(steps("clock-dnv:dram_share=1/2", 4, "R8 R8 W8 W0 W4"), ">0");
}

#[test]
fn a_72_a_page_in_nvm_is_served_there() {
    let mut driven = driver::build("clock-dnv:dram_share=1/3", 3, 4, 100);
    let served: Vec<_> =
        ["W0", "W4", "W0", "R0"].map(|text| driven.request(request(text)).served).to_vec();
    assert_eq!(served.iter().map(|served| served.nvm_writes).sum::<u32>(), 1);
    assert_eq!(served[2].hit, served[3].hit);
    assert_eq!(steps("clock-dnv:dram_share=1/3", 3, "W0 W4 W0 R0"), ">0");
}

#[test]
fn a_72_the_other_readings_move_or_copy_the_page_to_dram() {
    let promote = "clock-dnv:dram_share=1/3,nvm_write_hit=promote";
    assert_eq!(steps(promote, 3, "W0 W4 W0 W0 D"), ">0 >4 [4n] [0]");
    let copy = "clock-dnv:dram_share=1/3,nvm_write_hit=dram_copy";
    // Page 0 is written over its older copy in NVM, for which no room is needed.
    assert_eq!(steps(copy, 3, "W0 W4 W0 W8"), ">0 >4 >0");
    assert_eq!(steps(copy, 3, "W0 W4 W0 D"), ">0 >4 [0] [4n]");
}

#[test]
fn a_73_a_block_with_most_pages_leaves_unless_its_bit_is_set() {
    let buffer = "clock-dnv:dram_share=1/5";
    assert_eq!(steps(buffer, 5, "W0 W1 W4 W8 W12 W16"), ">0 >1 >4 >8 [0n 1n] >12");
    // All have one page and bit 1: the sweep clears them and takes the first.
    assert_eq!(steps(buffer, 5, "W0 W4 W8 W12 W16 W20 W4 W24"), ">0 >4 >8 >12 [0n] >16 [8n] >20");
}

#[test]
fn a_74_padding_removes_keeps_or_is_off() {
    let trace = "W13 W14 W1 W6 W12 W15 W20";
    let flushed = |padding| {
        let steps = steps(&format!("clock-dnv:dram_share=1/2,padding={padding}"), 6, trace);
        steps.split_once('[').expect("a batch").1.split_once(']').expect("its end").0.to_owned()
    };
    assert_eq!(flushed("remove"), "12 13n 14n 15");
    assert_eq!(flushed("keep_clean"), "12= 13n 14n 15=");
    assert_eq!(flushed("off"), "13n 14n");
}

#[test]
fn a_75_the_migrating_page_follows_unless_it_is_padded() {
    let buffer = "clock-dnv:dram_share=1/3";
    assert_eq!(steps(buffer, 3, "W0 W1 W2 W3"), ">0 >1 [0n 1n] >2");
    let padded = format!("{buffer},pad_migrating=true");
    assert_eq!(steps(&padded, 3, "W0 W1 W2 W3"), ">0 >1 [0n 1n 2]");
}

/// `padding=off` once silenced `pad_migrating=true`.
#[test]
fn a_migrating_page_joins_the_batch_also_where_padding_is_off() {
    let buffer = "clock-dnv:dram_share=1/2,padding=off";
    assert_eq!(steps(buffer, 4, "W0 W1 W2 W3 W4"), ">0 >1 [0n 1n] >2");
    let padded = format!("{buffer},pad_migrating=true");
    assert_eq!(steps(&padded, 4, "W0 W1 W2 W3 W4"), ">0 >1 [0n 1n 2]");
    assert_eq!(steps(&padded, 4, "W0 W1 W8 W3 W4"), ">0 >1 [0n 1n] >8", "of another block");
}

/// A drain once wrote the older copy in NVM and then the newer one in DRAM.
#[test]
fn a_drain_writes_the_newest_version_of_a_page_once() {
    for padding in ["remove", "off"] {
        let buffer = format!("clock-dnv:dram_share=1/2,nvm_write_hit=dram_copy,padding={padding}");
        assert_eq!(steps(&buffer, 4, "W0 W4 W8 W0 D"), ">0 >4 [0] [4n] [8]", "{padding}");
    }
    let keeping = "clock-dnv:dram_share=1/2,nvm_write_hit=dram_copy,padding=keep_clean";
    assert_eq!(steps(keeping, 4, "W0 W4 W8 W0 D"), ">0 >4 [0=] [4n] [8=]");
}

#[test]
fn clock_dnv_heeds_flush_and_fua_with_safe_commands() {
    let paper = "clock-dnv:dram_share=1/2";
    let safe = "clock-dnv:dram_share=1/2,commands=safe";
    assert_eq!(steps(paper, 4, "W0 U4 F"), "");
    assert_eq!(steps(safe, 4, "W4 W0 F"), ">4 >0");
    assert_eq!(steps(safe, 4, "U0 U4 W1 U8"), "[0n 1]");
    // The page of the request is not padded in the version that it replaces.
    assert_eq!(steps(safe, 4, "U0 U4 W1 U1"), "[0n]");
}

#[test]
fn a_76_blocks_that_reach_the_threshold_move_as_a_whole() {
    let buffer = "cbm:dram_share=1/3,threshold=2";
    assert_eq!(steps(buffer, 6, "W0 W1 R2 W4 W8 W12"), "[0n 1n 2c=]");
    assert_eq!(steps(buffer, 6, "W0 W4 W8 W12 W16"), "[0n]", "no block is in the block region");
    assert_eq!(steps(buffer, 6, "R0 W0"), "-0", "a write to a cached page drops its copy");
    assert_eq!(steps(buffer, 6, "R0 R1 R0 R2"), "-1");
    // Both blocks have two pages; the one used least recently leaves.
    assert_eq!(steps(buffer, 6, "W0 W1 W4 W5 R0 W8"), "[4n 5n]");
}

#[test]
fn bplru_pads_whole_blocks_and_puts_complete_ones_first() {
    assert_eq!(steps("bplru", 2, "W1 W4 W8"), "[0f 1 2f 3f]");
    assert_eq!(steps("bplru:padding=off", 2, "W1 W4 R1 W8"), "[1]", "a read hit moves nothing");
    assert_eq!(steps("bplru", 5, "W8 W0 W1 W2 W3 W12"), "[0 1 2 3]");
    assert_eq!(steps("bplru:compensation=false", 5, "W8 W0 W1 W2 W3 W12"), "[8 9f 10f 11f]");
    assert_eq!(steps("bplru", 5, "W8 W0 W2 W1 W3 W12"), "[8 9f 10f 11f]", "out of order");
}

#[test]
fn clc_is_block_lru_at_one_end_and_largest_first_at_the_other() {
    let trace = "W0 W4 W5 W8 W12";
    assert_eq!(steps("clc:alpha=1", 4, trace), "[0]");
    assert_eq!(steps("clc:alpha=0", 4, trace), "[4 5]");
    // Half of three blocks, rounded down, is one: blocks 0 and 1 have fallen off, block 1 is larger.
    assert_eq!(steps("clc:alpha=1/2", 4, trace), "[4 5]");
}

#[test]
fn lb_clock_takes_the_largest_block_without_a_bit() {
    assert_eq!(steps("lb-clock", 3, "W0 W4 W8 W12"), "[0]");
    assert_eq!(steps("lb-clock", 4, "W0 W1 W4 W8 W12"), "[4]", "block 0 was written again");
    assert_eq!(steps("lb-clock", 4, "W0 W1 W4 W5 W8"), "[0 1]", "all bits are set");
    let complete = "W0 W4 W1 W2 W3 W8";
    assert_eq!(steps("lb-clock", 5, complete), "[4]");
    assert_eq!(steps("lb-clock:clear_sequential=true", 5, complete), "[0 1 2 3]");
}

#[test]
fn pud_lru_keeps_blocks_that_are_updated_often_and_takes_the_largest_of_the_others() {
    assert_eq!(steps("pud-lru", 4, "W0 W4 W5 W8 W12"), "[4 5]", "the largest one");
    assert_eq!(
        steps("pud-lru", 4, "W4 W5 W4 W0 W8 W12"),
        "[0]",
        "block 1 was updated after 2 writes"
    );
    assert_eq!(steps("pud-lru:distance=1/4", 4, "W4 W5 W4 W0 W8 W12"), "[4 5]", "1 is the limit");
    // Eight writes after it came, two updates and the time since are 8 / 3, and one update and the time since 8 / 2.
    assert_eq!(steps("pud-lru:distance=3/4", 4, "W4 W4 W4 W0 W0 W0 W8 W12 W12 W16"), "[8]");
    assert_eq!(steps("pud-lru:distance=3/4", 4, "W4 W5 W4 W0 W0 W0 W8 W8 W8 W12"), "[4 5]");
    assert_eq!(steps("pud-lru", 2, "W0 W0 W4 W4 W8"), "[0]", "all are updated often");
    assert_eq!(steps("pud-lru:padding=on", 2, "W1 W4 W8"), "[0f 1 2f 3f]");
}

#[test]
fn page_policies_flush_one_page_or_the_dirty_pages_of_its_block() {
    assert_eq!(steps("lru", 3, "W0 R4 W1 W8 W12"), "[0] -4");
    assert_eq!(steps("lru:cluster=block", 3, "W0 W1 W4 W8"), "[0 1=]");
    assert_eq!(steps("cflru:window_share=1", 3, "W0 R4 W1 W8"), "-4");
    assert_eq!(steps("lru:cache_reads=false", 2, "W0 R4 R8 W1 W8"), "[0]");
    assert_eq!(steps("lru:commands=safe", 3, "W0 W4 F U8 W12"), "[0=] [4=] [8r=] -0");
}

#[test]
fn dram_buffers_clean_what_stays_on_flush_and_drain() {
    assert_eq!(steps("fab", 4, "W0 W1 F"), "");
    assert_eq!(steps("fab:commands=safe", 4, "W4 W0 W1 R2 F F"), "[4=] [0= 1=]");
    assert_eq!(steps("fab", 4, "W4 W0 W1 D W8 W12"), "[4=] [0= 1=] -0 1");
    assert_eq!(steps("fab:commands=safe", 2, "U0 U1 W4"), "[0r=] [1r=] -0 1");
}

#[test]
fn bpac_keeps_pages_that_are_written_again_and_takes_the_largest_cluster_that_grows_no_more() {
    // Clusters grow once, after 1 write. When 16 comes, those of blocks 0 and 1 have waited longer, and 1 is the larger one.
    assert_eq!(steps("bpac", 5, "W0 W4 W5 W8 W12 W16"), "[4 5]");
    // 4 is written again and stays in the page list, while its block's other pages leave.
    assert_eq!(steps("bpac", 6, "W0 W4 W5 W6 W4 W8 W12 W16"), "[5 6]");
    // With no limit nothing has finished, and the cluster that has not grown for longest leaves.
    assert_eq!(steps("bpac:growth=100", 5, "W0 W4 W5 W8 W12 W16"), "[0]");
    assert_eq!(steps("bpac:growth=100", 3, "W0 W4 W0 W8 W12"), "[4]");
}

#[test]
fn bpac_shortens_its_page_list_where_no_cluster_has_finished_and_lengthens_it_where_pages_come_back()
 {
    // Of 4 pages 2 may be in the list: 0 joins a cluster again when 8 is written again, and grows the list when it is too.
    let grown = "W0 W4 W8 W0 W4 W8 W0";
    assert_eq!(steps("bpac", 4, grown), "");
    let mut driven = driver::build("bpac", 4, PAGES_PER_BLOCK as u32, 100);
    grown.split(' ').for_each(|text| _ = driven.request(request(text)));
    let state = driven.state();
    assert_eq!((state["page_list"].to_string(), &state["target"]), ("[4,8,0]".into(), &3.0.into()));
    // All are in the list and none in a cluster: its oldest page makes one, and leaves.
    assert_eq!(steps("bpac", 2, "W0 W0 W4 W4 W8"), "[0]");
}
