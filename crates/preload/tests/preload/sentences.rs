//! What programs say, and how they end, where they cannot be paged as usual.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use clockhand_pager_protocol::SOCKET_VARIABLE;

use crate::programs::{
    MEMORY_BYTES, compiled, installed, library, paged, pager, program, same_with_and_without, text,
};
use crate::test_pager::{Behaviour, TestPager, give, pair_of_sockets};

#[test]
fn without_a_pager_in_the_environment_nothing_happens() {
    let Some(grep) = installed("grep") else { return };
    let output = program(
        &grep,
        &["-h", "-e", "^Threads", "-e", "memfd", "/proc/self/status", "/proc/self/maps"],
    )
    .env("LD_PRELOAD", library())
    .output()
    .expect("the program starts");
    assert_eq!(text(&output.stdout), "Threads:\t1\n");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("blocks_and_mappings", folder.path()) else { return };
    let plain = program(&built, &[]).output().expect("the program starts");
    let preloaded =
        program(&built, &[]).env("LD_PRELOAD", library()).output().expect("the program starts");
    assert_eq!(text(&preloaded.stdout), text(&plain.stdout));
}

#[test]
fn a_refused_program_says_why_and_ends() {
    let sentence = "this pager takes no programs: it is a test";
    let behaviour = Behaviour { refuse_programs: Some(sentence), ..Behaviour::default() };
    let (Some(pager), Some(echo)) = (pager(behaviour), installed("echo")) else { return };
    let output = paged(&mut program(&echo, &["hello"]), &pager);
    assert_eq!(text(&output.stderr), format!("clockhand: {sentence}\n"));
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
}

#[test]
fn a_program_that_its_pager_leaves_alone_says_so_once_and_runs() {
    let sentence = "the program runs as another user: it runs without paged memory";
    let behaviour = Behaviour { leave_programs: Some(sentence), ..Behaviour::default() };
    let (Some(pager), Some(shell)) = (pager(behaviour), installed("sh")) else { return };
    let output = paged(&mut program(&shell, &["-c", "echo one; sh -c 'env; echo two'"]), &pager);
    assert_eq!(text(&output.stderr), format!("clockhand: {sentence}\n"));
    let said = text(&output.stdout);
    assert!(said.starts_with("one\n") && said.ends_with("two\n"), "{said}");
    assert!(!said.contains(SOCKET_VARIABLE), "{said}");
}

#[test]
fn a_program_whose_pager_is_not_there_says_so_and_ends() {
    let Some(echo) = installed("echo") else { return };
    let [inner, outer] = pair_of_sockets();
    drop(inner);
    let mut command = program(&echo, &["hello"]);
    give(&mut command, &outer);
    let output = command.env("LD_PRELOAD", library()).output().expect("the program starts");
    assert_eq!(
        text(&output.stderr),
        "clockhand: the pager cannot be reached (error 32): start the program with `clockhand run`\n"
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
}

#[test]
fn a_program_to_which_nobody_has_left_the_door_runs_without_paged_memory() {
    let Some(echo) = installed("echo") else { return };
    let address = |inherited_socket| {
        let mut command = program(&echo, &["hello"]);
        command.env("LD_PRELOAD", library()).env(SOCKET_VARIABLE, inherited_socket);
        command.output().expect("the program starts")
    };
    let output = address("1000:12345");
    assert_eq!(
        text(&output.stderr),
        "clockhand: who started the program has closed descriptor 1000, through which the pager is reached: it runs \
         without paged memory\n"
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "hello\n".to_owned()));
    let output = address("clockhand-pager-7-1");
    assert_eq!(
        text(&output.stderr),
        "clockhand: CLOCKHAND_PAGER does not describe the way to a pager: start the program with `clockhand run`\n"
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
}

#[test]
fn programs_that_close_all_descriptors_leave_the_door_to_those_that_they_start() {
    let (Some(pager), Some(python)) = (pager(Behaviour::default()), installed("python3")) else {
        return;
    };
    let script = "import os, subprocess\n\
        os.closerange(3, 5000)\n\
        for number in range(3, 5000):\n\
        \ttry: os.close(number)\n\
        \texcept OSError: pass\n\
        \ttry: os.dup2(2, number) and os.close(number)\n\
        \texcept OSError: pass\n\
        \ttry: os.set_inheritable(number, False)\n\
        \texcept OSError: pass\n\
        subprocess.run(['sh', '-c', 'cat /proc/self/maps | grep -c memfd:'], close_fds=True)";
    let output = paged(&mut program(&python, &["-S", "-c", script]), &pager);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("1\n".to_owned(), String::new()));
    assert!(pager.counts().attached.load(Ordering::Relaxed) >= 3, "python, the shell and cat");
}

#[test]
fn a_child_whose_fork_the_pager_refuses_does_not_run() {
    let sentence = "the swap file is full: make it larger";
    let behaviour = Behaviour { refuse_forks: Some(sentence), ..Behaviour::default() };
    let (Some(pager), Some(shell)) = (pager(behaviour), installed("sh")) else { return };
    let output = paged(&mut program(&shell, &["-c", "(echo never); echo $?"]), &pager);
    assert_eq!(text(&output.stderr), format!("clockhand: {sentence}\n"));
    assert_eq!(text(&output.stdout), "125\n");
}

#[test]
fn a_signal_that_comes_during_a_fork_ends_the_program_before_there_is_a_child() {
    let behaviour = Behaviour { signal_in_forks: Some(libc::SIGTERM), ..Behaviour::default() };
    // Other shells block signals themselves while they fork.
    let (Some(pager), Some(shell)) = (pager(behaviour), installed("dash")) else { return };
    let script = ["-c", "(echo child); echo parent"];
    let output = paged(&mut program(&shell, &script), &pager);
    // The child was made, did not get the signal, and outlived the shell.
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{}", text(&output.stderr));
    assert_eq!(pager.counts().copies.load(Ordering::Relaxed), 1);
    assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_program_that_gets_a_signal_during_each_fork_forks_at_last() {
    let behaviour = Behaviour { signal_in_forks: Some(libc::SIGUSR1), ..Behaviour::default() };
    // Other shells block signals themselves while they fork.
    let (Some(pager), Some(shell)) = (pager(behaviour), installed("dash")) else { return };
    let script = ["-c", "trap 'caught=yes' USR1; (echo child); echo caught=$caught"];
    let output = paged(&mut program(&shell, &script), &pager);
    assert_eq!(text(&output.stdout), "child\ncaught=yes\n", "{}", text(&output.stderr));
    assert!(output.status.success());
    assert_eq!(pager.counts().copies.load(Ordering::Relaxed), 4);
    assert_eq!(pager.counts().forked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_thread_on_a_paged_stack_cannot_fork_and_does_not_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let (Some(pager), Some(built)) =
        (pager(Behaviour::default()), compiled("stack_in_heap", folder.path()))
    else {
        return;
    };
    let output = paged(&mut program(&built, &[]), &pager);
    assert_eq!(
        text(&output.stderr),
        "clockhand: a thread whose stack is paged memory cannot fork, and its child ends at once: run the program without the pager\n"
    );
    assert_eq!(text(&output.stdout), "the child has ended by a signal\nthe parent goes on\n");
}

/// The number of the socket on which the pager of the test below finds its programs.
const INNER_VARIABLE: &str = "CLOCKHAND_TEST_INNER";

/// A pager for the test below, in a process of its own that can be killed.
#[test]
#[ignore = "started by the test that kills it"]
fn pager_in_a_process_of_its_own() {
    let Ok(number) = std::env::var(INNER_VARIABLE) else { return };
    // SAFETY: the descriptor was left to this process for this test.
    let inner = unsafe { OwnedFd::from_raw_fd(number.parse().expect("a number")) };
    let _pager = TestPager::behind(inner, MEMORY_BYTES, Behaviour::default());
    // Until the test kills it or has ended itself, however long a busy machine takes.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

#[test]
fn a_killed_pager_ends_the_program_with_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let (Some(_), Some(built)) =
        (pager(Behaviour::default()), compiled("works_for_ever", folder.path()))
    else {
        return;
    };
    let [inner, outer] = pair_of_sockets();
    let test = std::env::current_exe().expect("the test's own path");
    let own = ["--ignored", "--exact", "sentences::pager_in_a_process_of_its_own", "--nocapture"];
    let mut pager = program(&test, &own);
    give(&mut pager, &inner);
    pager.env(INNER_VARIABLE, inner.as_raw_fd().to_string()).env_remove(SOCKET_VARIABLE);
    pager.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut pager = pager.spawn().expect("the test starts again");
    drop(inner);
    let mut paged = program(&built, &[]);
    give(&mut paged, &outer);
    let mut paged = paged
        .env("LD_PRELOAD", library())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut begun = String::new();
    BufReader::new(paged.stdout.as_mut().expect("a pipe")).read_line(&mut begun).expect("a line");
    pager.kill().expect("the pager is a child");
    pager.wait().expect("the pager is a child");
    let output = paged.wait_with_output().expect("the program ends");
    assert_eq!(begun, "begun\n", "it said: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        text(&output.stderr),
        "clockhand: the pager has ended, so the program ends too: its memory cannot be read any more\n"
    );
    assert_eq!(output.status.code(), Some(125));
}

/// The children of its forks ended with 125, and what it executed did not run.
#[test]
fn a_program_in_a_sandbox_forks_and_starts_others_unpaged_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("sandbox", folder.path()) else { return };
    let sockets = "refuses the sockets by which the program would reach its pager";
    for (sandbox, error, executed) in [
        ("sockets", 38, sockets),
        ("threads", 13, sockets),
        ("closing", 38, "refuses close_range (error 38)"),
    ] {
        let Some(pager) = pager(Behaviour::default()) else { return };
        let plain = program(&built, &[sandbox]).output().expect("the program starts");
        let paged = paged(&mut program(&built, &[sandbox]), &pager);
        assert_eq!(text(&paged.stdout), text(&plain.stdout), "{sandbox}");
        assert!(!text(&plain.stdout).contains("NO") && plain.status.success(), "{sandbox}");
        let said = text(&paged.stderr);
        let forked = format!(
            "clockhand: a sandbox, or its user's rights, refuse what forked children need for paged memory (error {error}): they, and programs \
             that they start, run without it\n"
        );
        assert_eq!(said.matches(&forked).count(), 1, "{sandbox}: {said}");
        assert!(said.contains(executed), "{sandbox}: {said}");
        assert!(said.ends_with(": it runs without paged memory\n"), "{sandbox}: {said}");
        assert_eq!(paged.status, plain.status, "{sandbox}: {said}");
    }
}

/// A forked child could write read-only pages and read closed ones.
#[test]
fn forked_children_have_the_protection_of_their_parents_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(built) = compiled("sandbox", folder.path()) else { return };
    let Some(pager) = same_with_and_without(|| program(&built, &["none"])) else { return };
    assert!(pager.counts().forked.load(Ordering::Relaxed) >= 4);
}
