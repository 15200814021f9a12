//! Programs with the library give the same output as without it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use clockhand_pager_protocol::SOCKET_VARIABLE;

use crate::test_pager::{Behaviour, TestPager, refusal};

const MEMORY_BYTES: usize = 1 << 30;

/// The library. Cargo builds for tests only what they could link, which this library must not be.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let target = test.ancestors().nth(3).expect("the folder above PROFILE/deps/TEST");
        let build = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--package", "clockhand-preload"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(build.success(), "the library cannot be built");
        target.join("debug/libclockhand_preload.so")
    })
}

/// A program that is there, or nothing and a line that says so.
fn installed(program: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/bin").join(program);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there", path.display());
    None
}

/// A pager, or nothing and a line that says why not.
fn pager(behaviour: Behaviour) -> Option<TestPager> {
    if let Some(reason) = refusal() {
        eprintln!("SKIPPED: programs cannot be paged here: {reason}");
        return None;
    }
    Some(TestPager::start(MEMORY_BYTES, behaviour))
}

/// The program with the library in it.
fn paged(command: &mut Command, pager: &TestPager) -> Output {
    command
        .env("LD_PRELOAD", library())
        .env(SOCKET_VARIABLE, pager.name())
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a program without and with the library: same output, same messages, same exit code.
fn same_with_and_without(command: impl Fn() -> Command) -> Option<TestPager> {
    let pager = pager(Behaviour::default())?;
    let plain = command().output().expect("the program starts");
    let paged = paged(&mut command(), &pager);
    assert_eq!(text(&paged.stderr), text(&plain.stderr));
    assert_eq!(paged.status, plain.status);
    assert!(paged.stdout == plain.stdout, "output differs");
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

fn program(path: &Path, arguments: &[&str]) -> Command {
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
    use std::io::Write;
    let mut text = Vec::new();
    for number in 0..count {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        writeln!(text, "line {mixed} of {number}").expect("a vector grows");
    }
    text
}
