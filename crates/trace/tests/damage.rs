//! Damaged traces of every format: a fixed number of mutations of every excerpt, from a fixed seed. The result is an
//! error of one sentence or valid requests; never a panic, never much memory.
//!
//! The targets in `fuzz/` search further, guided by coverage; this runs everywhere in seconds.

use std::path::{Path, PathBuf};

use clockhand_trace::{OpenOptions, Reader, TraceError, TraceReader, formats};

const MUTANTS_OF_AN_EXCERPT: u64 = 400;
/// Longer than any buffer of a reader, so that some mutants cross its border.
const LONGEST_MUTANT_BYTES: usize = 600_000;
/// Few mutants are as long, for they take their time.
const USUAL_MUTANT_BYTES: usize = 20_000;
const PEAK_MEMORY_LIMIT_KB: u64 = 512 * 1024;

/// A small generator of numbers (SplitMix64); the same seed gives the same mutants everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`; 0 when there is none.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        start..start + self.below((length - start).min(200) + 1)
    }
}

/// Numbers at the borders of what readers expect, as text and as bytes.
const BORDERS: [&[u8]; 12] = [
    b"18446744073709551616",
    b"18446744073709551615",
    b"4294967296",
    b"-1",
    b"0",
    b"1e308",
    b"nan",
    b"",
    b"\n\n",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\x7f",
];

fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let range = random.range(bytes.len());
    match random.below(7) {
        0 => {
            for _ in 0..=random.below(8) {
                let byte = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(byte) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        1 => bytes.truncate(range.start),
        2 => drop(bytes.drain(range)),
        3 => {
            let other = &others[random.below(others.len())];
            let part = random.range(other.len());
            bytes.splice(range, other[part].iter().copied());
        }
        4 => {
            let limit =
                if random.below(40) == 0 { LONGEST_MUTANT_BYTES } else { USUAL_MUTANT_BYTES };
            let room = limit.saturating_sub(bytes.len()) / range.len().max(1);
            let part = bytes[range.clone()].repeat(random.below(room.min(10_000) + 1));
            bytes.splice(range.start..range.start, part);
        }
        5 => {
            let border = BORDERS[random.below(BORDERS.len())];
            let end = (range.start + border.len()).min(bytes.len());
            bytes.splice(range.start..end, border.iter().copied());
        }
        _ => replace_a_number(bytes, range.start, random),
    }
}

/// Puts another number in the place of the digits that follow a place.
fn replace_a_number(bytes: &mut Vec<u8>, from: usize, random: &mut Random) {
    let digits = |byte: &u8| byte.is_ascii_hexdigit();
    let Some(start) = bytes[from..].iter().position(digits).map(|length| from + length) else {
        return;
    };
    let length = bytes[start..].iter().take_while(|byte| digits(byte)).count();
    let border = BORDERS[random.below(BORDERS.len())];
    bytes.splice(start..start + length, border.iter().copied());
}

fn excerpts_of(format: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/excerpts");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_excerpt = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.split('.').next() == Some(format) && !name.ends_with(".expected.csv")
    };
    paths.retain(is_excerpt);
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Reads a trace to its end and checks every request.
fn read(bytes: &[u8], format: Option<&str>) -> Result<u64, TraceError> {
    let format = format.map(str::to_owned);
    let options = OpenOptions { format, assume_reads: true, ..OpenOptions::default() };
    let mut reader = TraceReader::from_bytes("mutant", bytes.to_vec(), &options)?;
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        for request in &batch {
            assert!(request.bytes > 0, "a request without bytes");
            assert!(request.address.checked_add(u64::from(request.bytes) - 1).is_some());
        }
    }
    Ok(reader.report().requests)
}

fn assert_one_sentence(message: &str) {
    assert!(message.starts_with("mutant"), "{message}");
    assert!(!message.contains('\n') && message.contains("; "), "{message}");
}

#[test]
fn damaged_traces_give_errors_or_valid_requests() {
    let mut random = Random(0x0c10_cc4a_4d01);
    for format in formats() {
        let excerpts = excerpts_of(format.name());
        let texts: Vec<_> = excerpts.iter().map(|(_, bytes)| bytes.clone()).collect();
        let (mut errors, mut traces) = (0_u64, 0_u64);
        for (_, excerpt) in &excerpts {
            for mutant in 0..MUTANTS_OF_AN_EXCERPT {
                let mut bytes = excerpt.clone();
                for _ in 0..=random.below(3) {
                    mutate(&mut bytes, &texts, &mut random);
                }
                let name = (mutant % 4 > 0).then_some(format.name());
                match read(&bytes, name) {
                    Ok(_) => traces += 1,
                    Err(error) => {
                        errors += 1;
                        assert_one_sentence(&error.to_string());
                    }
                }
            }
        }
        assert!(errors > 0 && traces > 0, "{}: {errors} errors, {traces} traces", format.name());
    }
    assert_little_memory();
}

/// The columns of a table may be named, and then any text is one.
#[test]
fn damaged_tables_of_named_columns_give_errors_or_valid_requests() {
    const TABLE: &str =
        "when;cmd;lba;nsect;vm\n1.5;RD;8;8;a\n2e3;WS;16;8;\"a;b\"\n-1;T;0;8;b\n4;RD;0;8;a\n";
    const FORMAT: &str = "csv:sep=;,op=cmd,address=lba*512,size=nsect*512,time=when:ms,stream=vm+cmd,\
                          read=RD,write=WS,discard=T";
    let mut random = Random(0x0c10_cc4a_4d02);
    let text = TABLE.as_bytes().to_vec();
    let (mut errors, mut traces) = (0_u64, 0_u64);
    for _ in 0..MUTANTS_OF_AN_EXCERPT {
        let mut bytes = text.repeat(3);
        mutate(&mut bytes, std::slice::from_ref(&text), &mut random);
        match read(&bytes, Some(FORMAT)) {
            Ok(_) => traces += 1,
            Err(error) => {
                errors += 1;
                assert_one_sentence(&error.to_string());
            }
        }
    }
    assert!(errors > 0 && traces > 0, "{errors} errors, {traces} traces");
}

/// The most memory this process ever had, where the system tells.
fn assert_little_memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        eprintln!("skipped: this system does not tell the peak memory of a process");
        return;
    };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().strip_suffix(" kB")).unwrap();
    let peak_kb: u64 = peak.parse().unwrap();
    assert!(peak_kb < PEAK_MEMORY_LIMIT_KB, "{peak_kb} kB of memory at the peak");
}
