//! Programs with the library give the same output as without it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::test_pager::{Behaviour, TestPager, refusal};

pub const MEMORY_BYTES: usize = 1 << 30;

/// The library. Cargo builds for tests only what they could link, which this library must not be.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let built = test.ancestors().nth(2).expect("TARGET/PROFILE above deps/TEST");
        let profile = match built.file_name().and_then(OsStr::to_str).expect("a profile's folder") {
            "debug" => "dev",
            other => other,
        };
        let build = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--package", "clockhand-preload"])
            .args(["--profile", profile, "--target-dir"])
            .arg(built.parent().expect("a profile's folder is in the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(build.success(), "the library cannot be built");
        built.join("libclockhand_preload.so")
    })
}

/// Says why a test shows nothing here, past the harness, which would keep it back.
pub fn say_skipped(why: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "SKIPPED: {why}").expect("standard error");
}

/// A program that is there, or nothing and a line that says so.
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/bin").join(program);
    if path.exists() {
        return Some(path);
    }
    say_skipped(format_args!("{} is not there", path.display()));
    None
}

/// A pager, or nothing and a line that says why not.
pub fn pager(behaviour: Behaviour) -> Option<TestPager> {
    if let Some(reason) = refusal() {
        say_skipped(format_args!("programs cannot be paged here: {reason}"));
        return None;
    }
    Some(TestPager::start(MEMORY_BYTES, behaviour))
}

/// The program with the library in it.
pub fn paged(command: &mut Command, pager: &TestPager) -> Output {
    pager.give_door(command);
    command.env("LD_PRELOAD", library()).output().expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a program without and with the library: same output, same messages, same exit code.
pub fn same_with_and_without(command: impl Fn() -> Command) -> Option<TestPager> {
    let pager = pager(Behaviour::default())?;
    let plain = command().output().expect("the program starts");
    let paged = paged(&mut command(), &pager);
    assert_eq!(text(&paged.stderr), text(&plain.stderr));
    assert_eq!(paged.status, plain.status);
    let (printed, expected) = (text(&paged.stdout), text(&plain.stdout));
    let first = printed.lines().zip(expected.lines()).find(|(line, other)| line != other);
    assert!(paged.stdout == plain.stdout, "output differs, first {first:?}");
    assert!(!plain.stdout.is_empty(), "a program that says nothing proves nothing");
    let counts = pager.counts();
    assert!(counts.attached.load(Ordering::Relaxed) > 0, "the program has not asked for memory");
    eprintln!(
        "{} attached, {} of them forked; {} pages unmapped, {} discards, {} bytes at most",
        counts.attached.load(Ordering::Relaxed),
        counts.forked.load(Ordering::Relaxed),
        counts.unmapped_pages.load(Ordering::Relaxed),
        counts.discards.load(Ordering::Relaxed),
        counts.largest_bytes.load(Ordering::Relaxed),
    );
    Some(pager)
}

pub fn program(path: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn sqlite_gives_the_same_answers() {
    let Some(sqlite) = installed("sqlite3") else { return };
    let script = "
        pragma cache_size = -60000;
        create table numbers(number integer primary key, words text, digest integer);
        with recursive counted(n) as (select 1 union all select n + 1 from counted where n < 60000)
            insert into numbers select n, 'number ' || n || ' ' || hex(n * 7919), n * 2654435761 % 1000003 from counted;
        create index digests on numbers(digest, words);
        update numbers set words = words || '!' where number % 3 = 0;
        select count(*), sum(digest), sum(length(words)) from numbers;
        select number, words from numbers where digest between 500 and 900 order by words limit 20;
        select group_concat(words) from (select words from numbers order by digest desc limit 5000);
    ";
    same_with_and_without(|| program(&sqlite, &[":memory:", script]));
}

#[test]
fn python_gives_the_same_output() {
    let Some(python) = installed("python3") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/preload/programs/job.py");
    let Some(pager) = same_with_and_without(|| program(&python, &["-S", script])) else { return };
    assert!(pager.counts().forked.load(Ordering::Relaxed) >= 5, "the script forks");
    assert!(pager.counts().largest_bytes.load(Ordering::Relaxed) > 50 << 20, "large data is paged");
}

#[test]
fn sort_gives_the_same_output() {
    let Some(sort) = installed("sort") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    std::fs::write(&file, lines(200_000)).expect("a file");
    let file = file.to_str().expect("a name in UTF-8");
    same_with_and_without(|| program(&sort, &["-S", "50M", "--parallel=4", file]));
    same_with_and_without(|| program(&sort, &["-n", "-k", "2", "-S", "2M", file]));
}

#[test]
fn zstd_with_two_threads_gives_the_same_output() {
    let Some(zstd) = installed("zstd") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    std::fs::write(&file, lines(400_000)).expect("a file");
    let file = file.to_str().expect("a name in UTF-8");
    same_with_and_without(|| program(&zstd, &["-q", "-T2", "-9", "-c", file]));
}

/// Lines in no order, the same each time.
fn lines(count: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for number in 0..count {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        writeln!(text, "line {mixed} of {number}").expect("a vector grows");
    }
    text
}

/// Compiles one of the C programs beside this file.
pub fn compiled(name: &str, folder: &Path) -> Option<PathBuf> {
    compiled_with(name, &[], &folder.join(name))
}

/// Compiles one of the C programs beside this file, with more arguments, to a file.
pub fn compiled_with(name: &str, arguments: &[&str], built: &Path) -> Option<PathBuf> {
    let compiler = installed("cc")?;
    let source = format!("{}/tests/preload/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new(compiler)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-pthread", "-o"])
        .arg(built)
        .arg(source)
        .args(arguments)
        .status()
        .expect("the compiler starts");
    assert!(status.success(), "{name}.c does not compile");
    Some(built.to_owned())
}

#[test]
fn all_functions_of_the_malloc_and_mmap_families_keep_their_promises() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("blocks_and_mappings", folder.path()) else { return };
    same_with_and_without(|| program(&built, &[]));
    let output = program(&built, &[]).output().expect("the program starts");
    assert!(!text(&output.stdout).contains(": NO"), "{}", text(&output.stdout));
}

/// Once half of the content was lost, old content came back, and the program or its child ended.
#[test]
fn calls_by_number_do_what_the_functions_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("calls_by_number", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &[])) else { return };
    let output = program(&built, &[]).output().expect("the program starts");
    assert!(!text(&output.stdout).contains(": NO"), "{}", text(&output.stdout));
    assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 20);
    let attached = pager.counts().attached.load(Ordering::Relaxed);
    assert_eq!(attached, 22, "the program, its children, and the shell that it starts");
}

/// Once a mapping without access ended the program when it was moved, and a read-only one could be written afterwards.
#[test]
fn mappings_that_are_moved_keep_content_and_protection() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("moved_mappings", folder.path()) else { return };
    same_with_and_without(|| program(&built, &[]));
    let output = program(&built, &[]).output().expect("the program starts");
    assert!(!text(&output.stdout).contains(": NO"), "{}", text(&output.stdout));
}

/// Once such memory was not paged, and nothing but zeros could be mapped over what was.
#[test]
fn memory_that_is_reserved_first_is_paged_and_takes_whatever_is_mapped_over_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("reserved", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &[])) else { return };
    let output = program(&built, &[]).output().expect("the program starts");
    assert!(!text(&output.stdout).contains(": NO"), "{}", text(&output.stdout));
    assert!(pager.counts().given_away.load(Ordering::Relaxed) > 0);
}

/// Once every advice was said to be done.
#[test]
fn advice_that_cannot_be_followed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (Some(built), Some(pager)) =
        (compiled("advice", folder.path()), pager(Behaviour::default()))
    else {
        return;
    };
    let output = paged(&mut program(&built, &[]), &pager);
    let said = "NORMAL: done, kept
WILLNEED: done, kept
DONTNEED: done, forgotten
FREE: done, forgotten
REMOVE: refused, kept
DONTFORK: refused, kept
DOFORK: done, kept
MERGEABLE: done, kept
HUGEPAGE: done, kept
DONTDUMP: done, kept
DODUMP: done, kept
WIPEONFORK: refused, kept
KEEPONFORK: done, kept
COLD: done, kept
PAGEOUT: done, kept
POPULATE_WRITE: done, kept
DONTNEED_LOCKED: done, forgotten
COLLAPSE: refused, kept
HWPOISON: refused, kept
GUARD_INSTALL: refused, kept
GUARD_REMOVE: refused, kept
unknown: refused, kept
negative: refused, kept
nothing: 0
of a process: forgotten
";
    assert_eq!(text(&output.stdout), said, "{}", text(&output.stderr));
}

/// PHP opens its extensions so. Once they freed our blocks with the C library's `free`.
#[test]
fn libraries_that_bind_deeply_use_the_same_heap() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let [one, other, found] = ["one.so", "other.so", "libfound.so"].map(|name| folder.join(name));
    for library in [&one, &other, &found] {
        let shared = ["-shared", "-fPIC", "-DLIBRARY"];
        if compiled_with("deep_binding", &shared, library).is_none() {
            return;
        }
    }
    let searched = ["-ldl", "-Wl,-rpath,$ORIGIN"];
    let built = compiled_with("deep_binding", &searched, &folder.join("program"));
    let Some(built) = built else { return };
    let [one, other] = [one, other].map(|path| path.to_str().expect("a name in UTF-8").to_owned());
    same_with_and_without(|| program(&built, &[&one, &other]));
}

#[test]
fn what_grows_is_moved_once_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let (Some(built), Some(pager)) =
        (compiled("growing", folder.path()), pager(Behaviour::default()))
    else {
        return;
    };
    let output = paged(&mut program(&built, &[]), &pager);
    assert_eq!(text(&output.stdout), "blocks: 1 0\nmappings: 1 0\n");
}

#[test]
fn a_program_that_asks_for_more_than_there_is_is_told_so_and_goes_on() {
    let (Some(pager), Some(python)) = (pager(Behaviour::default()), installed("python3")) else {
        return;
    };
    let script = format!(
        "import mmap\n\
         try: bytearray({MEMORY_BYTES})\n\
         except MemoryError: print('no memory')\n\
         try: mmap.mmap(-1, {MEMORY_BYTES}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n\
         except OSError as error: print(error)\n\
         print(sum(bytearray(b'x' * 10_000_000)))"
    );
    let output = paged(&mut program(&python, &["-S", "-c", &script]), &pager);
    assert_eq!(text(&output.stdout), "no memory\n[Errno 12] Cannot allocate memory\n1200000000\n");
}

#[test]
fn freed_memory_goes_back_to_the_pager() {
    let folder = tempfile::tempdir().expect("a folder");
    let (Some(pager), Some(built)) =
        (pager(Behaviour::default()), compiled("gives_back", folder.path()))
    else {
        return;
    };
    let output = paged(&mut program(&built, &[]), &pager);
    assert_eq!(text(&output.stdout), "little is left: yes\n".repeat(3));
    assert!(pager.counts().largest_bytes.load(Ordering::Relaxed) > 32 << 20, "it was paged");
}

#[test]
fn forked_children_have_private_memory_while_threads_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("fork_privacy", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &[])) else { return };
    assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 24, "twelve children and their own");
}

#[test]
fn descriptors_signals_vfork_spawn_and_exec_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("processes", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &[])) else { return };
    // Four rounds of the program; in each one that vforks, one that is spawned, and a shell.
    assert_eq!(pager.counts().attached.load(Ordering::Relaxed), 16);
    assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 0);
}

/// Once such a program waited for itself.
#[test]
fn a_signal_handler_forks_while_its_thread_works_on_the_heap() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("forks_in_handler", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &[])) else { return };
    // More where the program's last turns take longer than its timer.
    assert!(pager.counts().forked.load(Ordering::Relaxed) >= 100);
}

#[test]
fn a_pipeline_of_a_shell_gives_the_same_output() {
    let Some(shell) = installed("sh") else { return };
    let script = "(seq 1 20000; echo more) | sort -r | (read first; echo $first; head -n 3) | tr 0-9 a-j; echo $?";
    same_with_and_without(|| program(&shell, &["-c", script]));
}
