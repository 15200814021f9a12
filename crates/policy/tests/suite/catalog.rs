//! The catalog's entry of each policy, and how a policy's text is read, refused and shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{CATALOG, Entry, Kind, PolicySpec, Size, Visitor, find};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::parameters::{Default, Domain, Parameter, SettingsError};

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

/// Every parameter of the catalog with its policy.
fn parameters() -> impl Iterator<Item = (&'static Entry, &'static Parameter)> {
    CATALOG.iter().flat_map(|entry| {
        entry.description.parameters.iter().map(move |parameter| (entry, parameter))
    })
}

fn refusal(text: &str) -> String {
    match PolicySpec::parse(text) {
        Ok(_) => panic!("{text} is not refused"),
        Err(error) => error.to_string(),
    }
}

fn resolved(text: &str, frames: u32) -> String {
    let spec = PolicySpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let resolved = spec.resolve(frames, Ratio::whole(8));
    resolved.unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn policy_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page")
}

#[test]
fn every_page_has_the_same_headings() {
    for entry in CATALOG {
        let page = entry.page();
        let name = entry.description.name;
        assert!(page.starts_with("# "), "{name}: the page has a title");
        let headings: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("**")?.split_once(".**"))
            .map(|(heading, _)| heading)
            .collect();
        assert_eq!(headings, HEADINGS, "{name}");
    }
}

#[test]
fn every_page_names_its_parameters() {
    for entry in CATALOG {
        let page = entry.page();
        let (name, parameters) = (entry.description.name, entry.description.parameters);
        let (_, section) = page.split_once("**Parameters.**").expect("the heading is there");
        let (section, _) = section.split_once("\n\n**").expect("another section follows");
        for parameter in parameters {
            let quoted = format!("`{}`", parameter.name);
            assert!(section.contains(&quoted), "{name}: {quoted} is missing in {section:?}");
        }
        assert_eq!(section.trim() == "None.", parameters.is_empty(), "{name}: {section:?}");
    }
}

#[test]
fn a_policy_is_named_as_its_file_and_every_file_is_in_the_catalog() {
    let files = std::fs::read_dir(policy_folder()).expect("the policies' folder");
    let files: BTreeSet<String> = files
        .map(|entry| entry.expect("a folder entry").path())
        .map(|path| path.file_stem().expect("a file name").to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> =
        CATALOG.iter().map(|entry| entry.description.name.replace('-', "_")).collect();
    assert_eq!(names.len(), CATALOG.len(), "a name stands for one policy");
    assert_eq!(files, names);
    for entry in CATALOG {
        let name = entry.description.name;
        let well_formed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(name.bytes().all(well_formed), "{name}");
        let path = policy_folder().join(name.replace('-', "_")).with_extension("rs");
        let source = std::fs::read_to_string(path).expect("a policy's file");
        assert_eq!(entry.description.source, source, "{name}: the page is that of its own file");
        assert_eq!(find(name).map(|found| found.description.name), Some(name));
    }
}

#[test]
fn every_entry_and_parameter_is_described_in_one_line() {
    for entry in CATALOG {
        let description = entry.description;
        let year = |paper: &str| paper.split(' ').next_back().is_some_and(|y| y.len() == 4);
        assert!(year(description.paper), "{}: {:?}", description.name, description.paper);
        let summaries = description.parameters.iter().map(|parameter| parameter.summary);
        for summary in summaries.chain([description.summary]) {
            let one_line = !summary.is_empty() && !summary.contains('\n');
            assert!(one_line && !summary.ends_with('.'), "{}: {summary:?}", description.name);
        }
    }
}

#[test]
fn parameters_refer_to_parameters_of_the_same_policy() {
    for (entry, parameter) in parameters() {
        let at = format!("{}: {}", entry.description.name, parameter.name);
        let named = |name: &str| {
            entry.description.parameters.iter().filter(|other| other.name == name).count()
        };
        assert_eq!(named(parameter.name), 1, "{at}");
        if let Default::InsteadOf(other) = parameter.default {
            assert!(named(other) == 1 && other != parameter.name, "{at}");
        }
        if let Some((other, value)) = parameter.only_with {
            assert!(named(other) == 1, "{at}");
            assert_taken(&format!("{}:{other}={value}", entry.description.name));
        }
        if let Default::Value(value) = parameter.default
            && parameter.only_with.is_none()
        {
            assert_taken(&format!("{}:{}={value}", entry.description.name, parameter.name));
        }
    }
}

fn assert_taken(text: &str) {
    if let Err(error) = PolicySpec::parse(text) {
        panic!("{text}: {error}");
    }
}

/// Names the way a policy is passed.
struct KindOfVisit;

impl Visitor for KindOfVisit {
    type Output = Kind;

    fn bit_driven<P: BitDriven + 'static>(self, _: P) -> Kind {
        Kind::BitDriven
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> Kind {
        Kind::AccessDriven
    }

    fn offline<P: Offline + 'static>(self, _: P) -> Kind {
        Kind::Offline
    }
}

#[test]
fn every_policy_is_built_as_the_kind_that_it_is_listed_as() {
    for entry in CATALOG {
        let spec = PolicySpec::parse(entry.description.name).expect("a name is enough");
        let policy = spec.resolve(4, Ratio::whole(8)).expect("a flash device suits every policy");
        let kind = policy.build(Size { frames: 4, pages: 9 }, KindOfVisit);
        assert_eq!(kind, entry.kind, "{}", entry.description.name);
    }
}

/// Tells whether pages may come that the policy was not built for.
struct TakesMorePages;

impl Visitor for TakesMorePages {
    type Output = bool;

    fn bit_driven<P: BitDriven + 'static>(self, _: P) -> bool {
        P::TAKES_MORE_PAGES
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> bool {
        P::TAKES_MORE_PAGES
    }

    fn offline<P: Offline + 'static>(self, _: P) -> bool {
        P::TAKES_MORE_PAGES
    }
}

#[test]
fn policies_take_more_pages_unless_they_are_known_not_to() {
    let cannot: Vec<&str> = CATALOG
        .iter()
        .map(|entry| entry.description.name)
        .filter(|name| {
            let spec = PolicySpec::parse(name).expect("a name is enough");
            let policy = spec.resolve(4, Ratio::whole(8)).expect("flash suits every policy");
            !policy.build(Size { frames: 4, pages: 9 }, TakesMorePages)
        })
        .collect();
    let known = BTreeSet::from(["cfdc", "linux24", "linux24-cflru", "min", "w-tinylfu"]);
    assert_eq!(BTreeSet::from_iter(cannot), known, "docs/sweeps.md names them");
}

#[test]
fn an_unknown_policy_is_named() {
    for name in ["", "lruu", "LRU", "cflru_dynamic", " lru"] {
        let error = PolicySpec::parse(&format!("{name}:c=1")).expect_err("no such policy");
        assert_eq!(error, SettingsError::UnknownPolicy { name: name.to_owned() });
    }
    assert_eq!(refusal("lruu"), "there is no policy \"lruu\"");
}

#[test]
fn an_unknown_parameter_is_named_with_its_policy() {
    for entry in CATALOG {
        let policy = entry.description.name;
        for name in ["windows", "", "C"] {
            let error = PolicySpec::parse(&format!("{policy}:{name}=1")).expect_err("no such one");
            assert_eq!(
                error,
                SettingsError::UnknownParameter { policy, name: name.to_owned() },
                "{policy}"
            );
        }
    }
    assert_eq!(refusal("lru:c=8"), "policy lru has no parameter \"c\"");
}

#[test]
fn what_is_not_of_the_form_parameter_equals_value_is_refused() {
    for text in ["craw:", "craw:c", "craw:c=8,", "craw:,c=8", "craw:c=8,,ghosts=literal", "lru:"] {
        let error = refusal(text);
        assert!(error.ends_with("is not of the form parameter=value"), "{text}: {error}");
        assert!(error.starts_with("policy "), "{text}: {error}");
    }
}

/// Just outside of the range, and nothing of the kind at all.
fn bad_values(domain: &Domain) -> Vec<String> {
    let mut bad =
        ["", "-1", "x", " 1", "1 ", "1e3", "nan", "+1", "TRUE"].map(str::to_owned).to_vec();
    match *domain {
        Domain::Count { min, max } => {
            bad.extend(min.checked_sub(1).map(|below| below.to_string()));
            bad.push((u128::from(max) + 1).to_string());
            bad.push("1.5".to_owned());
        }
        Domain::Ratio { min, max } => {
            let last_below = min.numerator().checked_sub(1);
            bad.extend(last_below.map(|below| format!("{below}.99")));
            bad.extend(max.map(|max| format!("{max}.01")));
            bad.push("1/0".to_owned());
        }
        Domain::Choice(words) => bad.extend([words.join(","), words[0].to_uppercase()]),
        Domain::Flag => bad.extend(["2", "yes"].map(str::to_owned)),
    }
    bad.retain(|value| !value.contains(','));
    bad
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    for (entry, parameter) in parameters() {
        for value in bad_values(&parameter.domain) {
            let (policy, name) = (entry.description.name, parameter.name);
            let expected = format!(
                "policy {policy}: {name}={value} is out of range; it takes {}",
                parameter.domain
            );
            assert_eq!(refusal(&format!("{policy}:{name}={value}")), expected);
        }
    }
}

#[test]
fn a_range_is_shown_in_words() {
    for (text, range) in [
        ("craw:c=0.9", "a number such as 8, 13.3 or 40/3, from 1"),
        ("craw:ghosts=none", "exclusive or literal"),
        ("craw-a:write_back=never", "lazy or eager"),
        ("clock:insert_ref=2", "a whole number from 0 to 1"),
        ("nru:mode=clock", "scan or periodic"),
        ("cflru:window_share=4/3", "a number such as 1/3 or 0.25, from 0 to 1"),
        ("cfclock:clear_passed=maybe", "true or false"),
        ("cflru-dynamic:period=0", "a whole number from 1"),
        ("cflru-dynamic:step=0", "a whole number from 1 to 4294967295"),
    ] {
        let error = refusal(text);
        assert!(error.ends_with(&format!(" is out of range; it takes {range}")), "{error}");
    }
}

#[test]
fn every_value_that_the_table_allows_is_taken() {
    for variant in variants::all() {
        assert_taken(&variant);
    }
}

#[test]
fn a_parameter_is_given_once() {
    for (entry, parameter) in parameters() {
        let (policy, name) = (entry.description.name, parameter.name);
        let value = &variants::values(&parameter.domain)[0];
        let error = refusal(&format!("{policy}:{name}={value},{name}={value}"));
        assert_eq!(error, format!("policy {policy}: {name} is given twice"));
    }
}

#[test]
fn a_window_is_given_as_a_share_or_in_pages() {
    for policy in ["cflru", "cfclock"] {
        for both in ["window_share=1/4,window_pages=4", "window_pages=4,window_share=1/4"] {
            assert_eq!(
                refusal(&format!("{policy}:{both}")),
                format!(
                    "policy {policy}: window_pages and window_share exclude each other; give one of them"
                )
            );
        }
    }
}

#[test]
fn a_parameter_without_the_mode_that_it_belongs_to_is_refused() {
    for text in ["nru:period=5", "nru:mode=scan,period=5", "nru:period=5,mode=scan"] {
        assert_eq!(
            refusal(text),
            "policy nru: period has an effect only with mode=periodic; add it or leave period out"
        );
    }
    assert_eq!(resolved("nru:period=5,mode=periodic", 4), "nru:mode=periodic,period=5");
}

#[test]
fn a_device_whose_writes_are_cheaper_than_its_reads_gives_no_default_for_c() {
    let cheap_writes = Ratio::new(1, 2).expect("a half");
    for policy in ["craw", "craw-a"] {
        let spec = PolicySpec::parse(policy).expect("a name is enough");
        let error = spec.resolve(64, cheap_writes).expect_err("c is at least 1").to_string();
        assert_eq!(
            error,
            format!(
                "policy {policy}: c would be 1/2, from the device's write/read cost ratio, but takes a \
                 number such as 8, 13.3 or 40/3, from 1; give c=VALUE"
            )
        );
        let given = PolicySpec::parse(&format!("{policy}:c=2")).expect("c is in range");
        let settings = given.resolve(64, cheap_writes).expect("the device is not asked");
        assert_eq!(settings.to_string(), format!("{policy}:c=2,ghosts=exclusive,write_back=lazy"));
    }
}

#[test]
fn a_resolved_policy_shows_every_parameter_that_applies() {
    for (text, expected) in [
        ("lru", "lru"),
        ("min", "min"),
        ("clock", "clock:insert_ref=0"),
        ("nru", "nru:mode=scan"),
        ("nru:mode=periodic", "nru:mode=periodic,period=1000"),
        ("cflru", "cflru:window_share=1/3"),
        ("cflru:window_share=0.25", "cflru:window_share=1/4"),
        ("cflru:window_pages=4", "cflru:window_pages=4"),
        ("cfclock", "cfclock:window_share=1/3,clear_passed=true"),
        ("cfclock:clear_passed=0,window_pages=9", "cfclock:window_pages=9,clear_passed=false"),
        ("craw", "craw:c=8,ghosts=exclusive,write_back=lazy"),
        ("craw:ghosts=literal,c=13.3", "craw:c=133/10,ghosts=literal,write_back=lazy"),
        ("craw-a:write_back=eager", "craw-a:c=8,ghosts=exclusive,write_back=eager"),
    ] {
        assert_eq!(resolved(text, 64), expected);
    }
    for (frames, step) in [(1, 1), (31, 1), (32, 2), (1000, 62)] {
        assert_eq!(
            resolved("cflru-dynamic", frames),
            format!("cflru-dynamic:period=1000,cost_read=1,cost_write=8,step={step},threshold=0")
        );
    }
}

#[test]
fn what_is_shown_can_be_read_and_resolves_to_itself_on_any_device() {
    for variant in variants::all() {
        for frames in [1, 3, 64, 5000] {
            let shown = resolved(&variant, frames);
            let again =
                PolicySpec::parse(&shown).unwrap_or_else(|error| panic!("{shown}: {error}"));
            let elsewhere = again.resolve(frames + 16, Ratio::new(40, 3).expect("a ratio"));
            assert_eq!(elsewhere.expect("nothing is left to resolve").to_string(), shown);
            let written = PolicySpec::parse(&variant).expect("a variant");
            assert_eq!(written.written(), variant);
        }
    }
}

/// The page once said that the hashes are seeded with the page's number, which readers took for its address.
#[test]
fn the_page_of_w_tinylfu_says_what_its_hashes_are_seeded_with() {
    let page = find("w-tinylfu").expect("a policy").page();
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("seeded with the page's rank among the pages of the trace, from 0,"));
}

#[test]
fn a_seed_is_that_of_a_policy_which_names_none() {
    let resolved = |policy: &str| {
        let policy = PolicySpec::parse(policy).expect("a policy").with_seed(7);
        policy.resolve(3, Ratio::whole(8)).expect("its parameters").to_string()
    };
    assert_eq!(resolved("random"), "random:seed=7");
    assert_eq!(resolved("random:seed=2"), "random:seed=2");
    assert_eq!(resolved("fifo"), "fifo");
}

#[test]
fn what_counts_pages_or_references_shrinks_with_a_sample() {
    let scaled = |text: &str, frames| {
        let policy = PolicySpec::parse(text).unwrap().resolve(frames, Ratio::whole(8)).unwrap();
        policy.scaled(1, 10).to_string()
    };
    assert_eq!(scaled("cflru:window_pages=45", 100), "cflru:window_pages=5");
    assert_eq!(scaled("cflru:window_pages=0", 100), "cflru:window_pages=0");
    assert_eq!(scaled("cflru:window_share=1/4", 100), "cflru:window_share=1/4");
    assert_eq!(scaled("nru:mode=periodic,period=3", 100), "nru:mode=periodic,period=1");
    assert!(scaled("cflru-dynamic", 320).contains("period=100,"), "a default is scaled too");
    assert!(scaled("cflru-dynamic", 320).contains("step=2,"));
    assert!(scaled("linux-lru", 1000).contains("batch=3"));
}

#[test]
fn it_is_known_of_each_count_whether_it_shrinks_with_a_sample() {
    let fixed = [
        "insert_ref",
        "k",
        "clean_levels",
        "dirty_levels",
        "seed",
        "move_to_main_threshold",
        "sample_factor",
        "rounds",
    ];
    let scaled = ["period", "window_pages", "step", "batch", "cluster_pages"];
    for (entry, parameter) in parameters() {
        let is_known = fixed.contains(&parameter.name) || scaled.contains(&parameter.name);
        let is_count = matches!(parameter.domain, Domain::Count { .. });
        let name = entry.description.name;
        assert!(is_known || !is_count, "{name}: does {} count pages?", parameter.name);
    }
}
