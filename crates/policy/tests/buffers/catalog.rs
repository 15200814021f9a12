//! The catalog's entry of each write buffer, and how a buffer's text is read, refused and shown.

use std::collections::BTreeSet;
use std::path::Path;

use clockhand_policy::Ratio;
use clockhand_policy::buffer::catalog::{BUFFERS, BufferSpec, find};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock};
use clockhand_policy::parameters::SettingsError;

use crate::variants;

const HEADINGS: [&str; 7] = [
    "What it keeps",
    "Victim",
    "On a write",
    "Parameters",
    "Cost per hit and per victim",
    "Deviations from the paper",
    "Reference",
];

fn refusal(text: &str) -> String {
    match BufferSpec::parse(text) {
        Ok(_) => panic!("{text} is not refused"),
        Err(error) => error.to_string(),
    }
}

fn size(pages: u32) -> BufferSize {
    let pages_per_block = PagesPerBlock::new(64).expect("a power of two");
    BufferSize { pages, pages_per_block, distinct_pages: 1000, drive_pages: 1000 }
}

fn resolved(text: &str, pages: u32) -> Result<String, SettingsError> {
    let spec = BufferSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve(size(pages), Ratio::whole(8)).map(|buffer| buffer.to_string())
}

#[test]
fn every_page_has_the_same_headings_and_names_its_parameters() {
    for entry in BUFFERS {
        let (page, name) = (entry.page(), entry.description.name);
        assert!(page.starts_with("# "), "{name}: the page has a title");
        let headings: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("**")?.split_once(".**"))
            .map(|(heading, _)| heading)
            .collect();
        assert_eq!(headings, HEADINGS, "{name}");
        let (_, section) = page.split_once("**Parameters.**").expect("the heading is there");
        let (section, _) = section.split_once("\n\n**").expect("another section follows");
        for parameter in entry.description.parameters {
            let quoted = format!("`{}`", parameter.name);
            assert!(section.contains(&quoted), "{name}: {quoted} is missing in {section:?}");
        }
    }
}

#[test]
fn a_buffer_is_named_as_its_file_and_every_file_is_in_the_catalog() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/buffer");
    let files = std::fs::read_dir(&folder).expect("the buffers' folder");
    let files: BTreeSet<String> = files
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().expect("a file name").to_string_lossy().into_owned())
        // `none` is what a drive has that buffers nothing; it takes no size.
        .filter(|stem| !["catalog", "mechanism", "none"].contains(&stem.as_str()))
        .collect();
    let names: BTreeSet<String> =
        BUFFERS.iter().map(|entry| entry.description.name.replace('-', "_")).collect();
    assert_eq!(names.len(), BUFFERS.len(), "a name stands for one buffer");
    assert_eq!(files, names);
    for entry in BUFFERS {
        let path = folder.join(entry.description.name.replace('-', "_")).with_extension("rs");
        let source = std::fs::read_to_string(path).expect("a buffer's file");
        assert_eq!(entry.description.source, source, "the page is that of its own file");
        assert!(find(entry.description.name).is_some());
    }
}

#[test]
fn a_policy_that_is_no_buffer_and_an_unknown_name_are_told_apart() {
    assert_eq!(
        refusal("arc"),
        "policy arc is no write buffer; the write buffers are clock-dnv, fab, cbm, bplru, clc, lb-clock, \
         pud-lru, bpac, block-min, lru, clock, cflru, lru-wsr, craw, credit-clock"
    );
    assert_eq!(refusal("fabb"), "there is no write buffer \"fabb\"");
}

#[test]
fn parameters_are_refused_with_their_names_and_ranges() {
    for (text, sentence) in [
        ("fab:padding=on", "policy fab has no parameter \"padding\""),
        (
            "clock-dnv:padding=on",
            "policy clock-dnv: padding=on is out of range; it takes remove, keep_clean or off",
        ),
        (
            "cbm:threshold=65",
            "policy cbm: threshold=65 is out of range; it takes a whole number from 1 to 64",
        ),
        ("fab:total=1MiB,total=2MiB", "policy fab: total is given twice"),
        ("fab:", "policy fab: \"\" is not of the form parameter=value"),
        ("fab:total", "policy fab: \"total\" is not of the form parameter=value"),
    ] {
        assert_eq!(refusal(text), sentence);
    }
}

#[test]
fn the_total_is_left_to_the_driver() {
    let spec = BufferSpec::parse("clock-dnv:total=16MiB,dram_share=0.1").expect("a buffer");
    assert_eq!(
        (spec.total(), spec.written()),
        (Some("16MiB"), "clock-dnv:total=16MiB,dram_share=0.1")
    );
    assert_eq!(BufferSpec::parse("fab:total=64").expect("a buffer").total(), Some("64"));
    assert_eq!(BufferSpec::parse("fab").expect("a buffer").total(), None);
}

#[test]
fn a_size_that_a_buffer_cannot_have_is_refused() {
    assert_eq!(
        resolved("fab", 0).expect_err("no page").to_string(),
        "write buffer fab: its total is less than a page; give it more"
    );
    for (text, pages) in [("clock-dnv", 1), ("cbm:dram_share=1", 64)] {
        let error = resolved(text, pages).expect_err("no NVM").to_string();
        assert!(error.contains(&format!("a total of {pages} pages")), "{error}");
    }
    assert!(PagesPerBlock::new(64).is_ok());
    for pages in [0, 3, 65, 128] {
        let error = PagesPerBlock::new(pages).expect_err("no power of two up to 64").to_string();
        assert!(error.ends_with(&format!("not of {pages}")), "{error}");
    }
}

#[test]
fn a_resolved_buffer_shows_every_parameter_that_applies_and_can_be_read_again() {
    let shown = resolved("clock-dnv:nvm_write_hit=promote", 64).expect("a size");
    assert_eq!(
        shown,
        "clock-dnv:dram_share=1/10,nvm_write_hit=promote,padding=remove,pad_migrating=false,\
         read_allocate=true,commands=paper"
    );
    assert_eq!(
        resolved("craw", 64).expect("a size"),
        "craw:c=8,ghosts=exclusive,write_back=lazy,cache_reads=true,cluster=page,commands=paper"
    );
    for variant in variants::all() {
        let shown = resolved(&variant, 64).unwrap_or_else(|error| panic!("{variant}: {error}"));
        assert_eq!(resolved(&shown, 64).expect("a size"), shown);
    }
}
