//! Machine instructions per reference of each policy, as callgrind counts them: unlike times, the same on every
//! run of one build. Prints CSV; needs valgrind.
//!
//! A policy is replayed in one cell and in three. The difference is two replays and nothing else.

mod workload;

use std::process::Command;
use std::sync::Arc;

use clockhand_policy::catalog::CATALOG;
use clockhand_sim::{Progress, simulate};

use workload::Path;

const PAGES: u32 = 20_000;
const REFERENCES: usize = 200_000;
/// Marks a run of this program that callgrind counts, before the path, the policy and the cells.
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
    let [path, policy, cells] = arguments else { panic!("{COUNTED} PATH POLICY CELLS") };
    let path = Path::ALL.into_iter().find(|known| known.name() == path).expect("a path's name");
    let table = Arc::new(workload::table(path, PAGES, REFERENCES));
    let cells = cells.parse().expect("a number of cells");
    let experiment = workload::experiment(path, &table, PAGES, policy, cells);
    simulate(&experiment, &Progress::default()).expect("the workload is replayed");
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

fn print_table() {
    println!("policy,hit_path_instructions_per_reference,victim_path_instructions_per_reference");
    for entry in CATALOG {
        let policy = entry.description.name;
        let [hit, victim] = Path::ALL.map(|path| {
            let replays = instructions(path, policy, 3) - instructions(path, policy, 1);
            replays as f64 / (2 * REFERENCES) as f64
        });
        println!("{policy},{hit:.1},{victim:.1}");
    }
}

/// Instructions of a whole run of this program.
fn instructions(path: Path, policy: &str, cells: u32) -> u64 {
    let program = std::env::current_exe().expect("this program's file");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([COUNTED, path.name(), policy, &cells.to_string()])
        .output()
        .expect("valgrind is installed");
    let messages = String::from_utf8_lossy(&output.stderr);
    let collected = messages.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.unwrap_or_else(|| panic!("callgrind counted nothing: {messages}"));
    count.trim().parse().expect("a number of instructions")
}
