//! A cell needs memory in proportion to the pages of its trace, not to the frames that were asked for.

use std::fs;

use crate::experiments::{experiment, input, rows, table};

const REFERENCES: &str = "w0 r1 r2 w0 w3 r4 r5 w6 r7 r8 w9 r0 r1 w2 r9";
const ALL_FRAMES: u32 = u32::MAX - 1;

/// The most address space that this process has had, in bytes; `None` where the kernel does not say.
fn peak_address_space_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().expect("a number of KiB") * 1024)
}

#[test]
fn four_billion_frames_for_ten_pages_are_ten_frames() {
    let policies: Vec<&str> = clockhand_twins::POLICIES.into_iter().chain(["bound"]).collect();
    let before_bytes = peak_address_space_bytes();
    let rows = rows(&experiment(vec![input("t", table(REFERENCES))], &policies, &[ALL_FRAMES, 10]));
    let (many, enough) = rows.split_at(policies.len());
    for (many, enough) in many.iter().zip(enough) {
        assert_eq!((many.frames, enough.frames), (u64::from(ALL_FRAMES), 10));
        assert_eq!(many.misses, enough.misses, "{}", many.policy);
        assert_eq!((many.read_ios, many.write_ios), (10, 0), "{}", many.policy);
        assert_eq!((enough.read_ios, enough.write_ios), (10, 0), "{}", enough.policy);
    }
    match before_bytes.zip(peak_address_space_bytes()) {
        // One byte for each frame would be four times this; threads reserve some for themselves.
        Some((before, after)) => {
            assert!(after - before < 1 << 30, "from {before} to {after} bytes")
        }
        None => {
            eprintln!("skipped in part: this kernel does not tell the peak of the address space")
        }
    }
}
