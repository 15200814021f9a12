//! Profiles of tiers, their options and their errors.

use super::*;

fn exact(text: &str) -> Exact {
    parse_decimal(text).unwrap()
}

#[test]
fn every_built_in_profile_can_be_read() {
    let names: Vec<String> = built_in_tiers().into_iter().map(|tiers| tiers.name).collect();
    assert_eq!(names, ["cxl", "numa-remote", "optane-dcpmm", "pcm"]);
    for name in names {
        let tiers = MemoryTiers::named_or_file(&name).unwrap();
        let again = MemoryTiers::named_or_file(&tiers.resolved()).unwrap();
        assert_eq!((tiers.fast, tiers.slow), (again.fast, again.slow));
    }
}

#[test]
fn options_override_with_and_without_their_section() {
    let tiers = MemoryTiers::named_or_file("pcm:slow_read_ns=60.5,migrate_ns=0,software_scan_ns=3")
        .unwrap();
    assert_eq!(tiers.slow.read_ns, exact("60.5"));
    assert_eq!(tiers.software.migrate_ns, Exact::zero());
    assert_eq!(tiers.software.scan_ns, exact("3"));
    assert_eq!(tiers.software.remap_ns, exact("1000"));
    assert_eq!(MemoryTiers::named_or_file("pcm").unwrap().write_read_ratio(), exact("5"));
    assert_eq!(MemoryTiers::named_or_file("cxl").unwrap().write_read_ratio(), exact("1"));
}

#[test]
fn what_is_wrong_with_tiers_is_said_in_a_sentence() {
    for (text, expected) in [
        ("cxx", "unknown tiers 'cxx', did you mean 'cxl'?"),
        ("cxl:read_ns=3", "there is no option read_ns; there are fast_read_ns"),
        ("cxl:slow_read_ns=0", "'0' is not a decimal number"),
        ("cxl:migrate_ns=-1", "'-1' is not a decimal number"),
        ("cxl:wear_leveling=1.5", "wear_leveling 1.5 is above 1"),
        ("cxl:write_unit_bytes=1.5", "write_unit_bytes 1.5 is not whole"),
    ] {
        let error = MemoryTiers::named_or_file(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_fault_of_a_profile_has_its_line() {
    let text = "summary = \"x\"\nsource = \"y\"\n[fast]\nread_ns = 80\nwrite_ns = 80\nread_gbps = 1\nwrite_gbps = 1\n\
                [slow]\nread_ns = 80\nwrite_ns = 80\nread_gbps = 1\n";
    let error = |text: &str| Profile::parse("own.toml", text).err().unwrap().to_string();
    assert!(error(text).contains("line 8: [slow] has no write_gbps; add it"), "{}", error(text));
    let wrong = text.replace("read_ns = 80", "read_ns = true");
    assert!(error(&wrong).contains("line 4"), "{}", error(&wrong));
    let unknown = format!("{text}write_gbps = 1\nwrite_gigabytes = 2\n");
    assert!(
        error(&unknown).contains("line 13: [slow] has no key write_gigabytes"),
        "{}",
        error(&unknown)
    );
}
