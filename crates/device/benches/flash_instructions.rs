//! Machine instructions per host page of the drive of `flash.rs`, as callgrind counts them: unlike times, the same on every run
//! of one build. Prints CSV; needs valgrind.
//!
//! The program runs once with a number of overwrites and once with three times as many: the difference is overwrites
//! and nothing else.

use std::process::Command;

use clockhand_device::flash::{Drive, FtlOptions, Geometry, LogicalPage};

const GEOMETRY: Geometry = Geometry::one_pool(8192, 64, 4096);
const OVERWRITES: u32 = 1_000_000;
/// Marks a run of this program that callgrind counts, before the rule and the overwrites.
const COUNTED: &str = "--counted";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == COUNTED) {
        Some(position) => run_counted(&arguments[position + 1..]),
        None if has_valgrind() => print_table(),
        None => eprintln!("skipped: valgrind is not installed, so no instructions are counted"),
    }
}

fn run_counted(arguments: &[String]) {
    let [rule, overwrites] = arguments else { panic!("{COUNTED} RULE OVERWRITES") };
    let logical_pages = (GEOMETRY.raw_pages() as f64 / 1.15) as u32;
    let victim = rule.parse().expect("a rule");
    let options = FtlOptions { victim, ..FtlOptions::new(logical_pages) };
    let mut drive = Drive::new(GEOMETRY, options).expect("there is over-provisioning");
    let mut write = |page| drive.write(LogicalPage(page)).expect("blocks last for ever");
    (0..logical_pages).for_each(&mut write);
    // A multiplicative generator modulo 2^64; its upper half is used: four of the instructions counted.
    let mut state = 1_u64;
    for _ in 0..overwrites.parse::<u32>().expect("a number") {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        write((((state >> 32) * u64::from(logical_pages)) >> 32) as u32);
    }
    println!("{}", drive.counters().flash_programs());
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

fn print_table() {
    println!("victim,instructions_per_host_page,programs_per_host_page");
    for rule in ["greedy", "fifo", "d-choices:10", "random"] {
        let (few, few_programs) = count(rule, OVERWRITES);
        let (many, many_programs) = count(rule, 3 * OVERWRITES);
        let per_page = |difference: u64| difference as f64 / f64::from(2 * OVERWRITES);
        let (instructions, programs) =
            (per_page(many - few), per_page(many_programs - few_programs));
        println!("{rule},{instructions:.1},{programs:.2}");
    }
}

/// Instructions of a whole run of this program, and the pages that it programmed.
fn count(rule: &str, overwrites: u32) -> (u64, u64) {
    let program = std::env::current_exe().expect("this program's file");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([COUNTED, rule, &overwrites.to_string()])
        .output()
        .expect("valgrind is installed");
    let messages = String::from_utf8_lossy(&output.stderr);
    let collected = messages.lines().find_map(|line| line.split_once("Collected : "));
    let (_, instructions) =
        collected.unwrap_or_else(|| panic!("callgrind counted nothing: {messages}"));
    let programs = String::from_utf8_lossy(&output.stdout);
    let number = |text: &str| text.trim().parse().expect("a number");
    (number(instructions), number(&programs))
}
