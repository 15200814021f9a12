//! Programs that are linked statically, in whose place the library is executed, give the same output as without it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use crate::programs::{
    compiled_with, installed, program, same_with_and_without, say_skipped, text,
};
use crate::test_pager::TestPager;

/// The two kinds of static programs: at a fixed place, and anywhere.
const KINDS: [&str; 2] = ["-static", "-static-pie"];

/// Whether the C library can be linked statically.
fn has_static_library() -> bool {
    let Some(compiler) = installed("cc") else { return false };
    let named = Command::new(compiler).arg("-print-file-name=libc.a").output();
    let is_there = Path::new(text(&named.expect("the compiler starts").stdout).trim()).is_file();
    if !is_there {
        say_skipped(format_args!("there is no libc.a"));
    }
    is_there
}

/// Runs one of the C programs beside this file, started by `env`, which is not static: the pagers, one of each kind of program.
fn same_when_static(name: &str) -> Vec<TestPager> {
    let folder = tempfile::tempdir().expect("a folder");
    let (true, Some(env)) = (has_static_library(), installed("env")) else { return Vec::new() };
    let run = |kind: &str| {
        let built = compiled_with(name, &[kind], &folder.path().join(name))?;
        let path = built.to_str().expect("a name in UTF-8");
        let output = program(&built, &[]).output().expect("the program starts");
        assert!(!text(&output.stdout).contains(": NO"), "{}", text(&output.stdout));
        same_with_and_without(|| program(&env, &[path]))
    };
    KINDS.iter().filter_map(|kind| run(kind)).collect()
}

#[test]
fn mappings_of_static_programs_are_paged_and_keep_their_promises() {
    for name in ["moved_mappings", "reserved", "calls_by_number"] {
        for pager in same_when_static(name) {
            let largest_bytes = pager.counts().largest_bytes.load(Ordering::Relaxed);
            assert!(largest_bytes > 1 << 20, "{name}: {largest_bytes} bytes");
        }
    }
}

#[test]
fn forked_children_of_static_programs_have_private_memory_while_threads_run() {
    for pager in same_when_static("fork_privacy") {
        assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 24);
    }
}

#[test]
fn descriptors_signals_vfork_spawn_and_exec_work_in_static_programs() {
    for pager in same_when_static("processes") {
        // As for the program that is not static, and `env`.
        assert_eq!(pager.counts().attached.load(Ordering::Relaxed), 17);
    }
}

#[test]
fn a_signal_handler_of_a_static_program_forks() {
    for pager in same_when_static("forks_in_handler") {
        assert!(pager.counts().forked.load(Ordering::Relaxed) >= 100);
    }
}

/// Once what a script names, and what was executed by a descriptor, ran with all its memory.
#[test]
fn static_programs_are_paged_however_they_are_executed() {
    for pager in same_when_static("executions") {
        // `env` and the program; nine ways to execute it and three scripts, of which one way finds no script; a shell for a
        // script that names nothing; a script without arguments. The program with many arguments, but no script with so many.
        let started = 2 + 4 * 9 - 3 + 1 + 1 + 1;
        let forked = pager.counts().forked.load(Ordering::Relaxed);
        assert_eq!(pager.counts().attached.load(Ordering::Relaxed), started + forked);
    }
}

#[test]
fn what_programs_that_are_not_static_execute_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled_with("executions", &[], &folder.path().join("executions")) else {
        return;
    };
    same_with_and_without(|| program(&built, &[]));
}
