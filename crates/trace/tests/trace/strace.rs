//! Logs of strace as events: offsets, names, lengths and lives of files.

use clockhand_trace::{Action, Event, Op, OpenOptions, ReadReport, Reader, TraceReader};

use crate::reading::message_of;

fn events(log: &str) -> (Vec<Event>, ReadReport) {
    let format = Some("strace".to_owned());
    let options = OpenOptions { format, ..OpenOptions::default() };
    let mut reader = TraceReader::from_bytes("log", log.as_bytes().to_vec(), &options).unwrap();
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    while reader.next_events(&mut batch).unwrap() {
        events.extend_from_slice(&batch);
    }
    (events, reader.report().clone())
}

/// The events of a log as `file: what`, a line each; times do not matter.
fn events_of(log: &str) -> Vec<String> {
    let (events, report) = events(log);
    assert_eq!(report.skipped_records, 0, "{:?}", report.first_skipped);
    events.iter().map(|event| words(event, &report.stream_names)).collect()
}

fn words(event: &Event, names: &[String]) -> String {
    let name = &names[event.object as usize];
    let letter = |op| if op == Op::Read { "r" } else { "w" };
    match event.action {
        Action::Call { op, offset, bytes, process } => {
            format!("{name}: c{} {offset} {bytes} by {process}", letter(op))
        }
        Action::Direct { op, offset, bytes } => format!("{name}: d{} {offset} {bytes}", letter(op)),
        Action::Length { bytes } => format!("{name}: length {bytes}"),
        Action::Truncate { bytes } => format!("{name}: truncate {bytes}"),
        Action::Discard { address, bytes } => format!("{name}: discard {address} {bytes}"),
        Action::Sync => format!("{name}: sync"),
        Action::SyncAll => "sync all".to_owned(),
        Action::Delete => format!("{name}: delete"),
        other => format!("{name}: {other:?}"),
    }
}

fn assert_note(log: &str, part: &str) {
    let (_, report) = events(log);
    let notes = report.notes.join("; ");
    assert!(notes.contains(part), "{notes}");
}

#[test]
fn offsets_move_with_reads_writes_and_seeks_and_are_shared_by_copies_of_a_descriptor() {
    let log = "1 open(\"/a\", O_RDWR|O_CREAT|O_TRUNC, 0600) = 3</a>\n\
        1 write(3</a>, \"\"..., 100) = 100\n\
        1 dup(3</a>) = 4</a>\n\
        1 write(4</a>, \"\"..., 10) = 10\n\
        1 pwrite64(4</a>, \"\"..., 5, 1000) = 5\n\
        1 write(3</a>, \"\"..., 1) = 1\n\
        1 lseek(4</a>, -1005, SEEK_END) = 0\n\
        1 readv(3</a>, [{iov_base=\"\", iov_len=7}], 1) = 7\n\
        1 open(\"/a\", O_WRONLY|O_APPEND) = 5</a>\n\
        1 write(5</a>, \"\"..., 2) = 2\n\
        1 fcntl(3</a>, F_SETFL, O_RDWR|O_DIRECT) = 0\n\
        1 read(4</a>, \"\"..., 512) = 512\n\
        1 preadv2(3</a>, [{iov_base=\"\", iov_len=3}], 1, -1, 0) = 3\n\
        1 open(\"/a\", O_WRONLY|O_TRUNC) = 6</a>\n";
    assert_eq!(
        events_of(log),
        [
            "/a: length 0",
            "/a: cw 0 100 by 1",
            "/a: cw 100 10 by 1",
            "/a: cw 1000 5 by 1",
            "/a: cw 110 1 by 1",
            "/a: cr 0 7 by 1",
            "/a: cw 1005 2 by 1",
            "/a: dr 7 512",
            "/a: dr 519 3",
            "/a: truncate 0",
        ]
    );
}

#[test]
fn a_relative_name_is_a_file_of_the_working_directory_also_where_that_is_unknown() {
    let log = "1 openat(AT_FDCWD, \"a.db\", O_RDWR) = 3\n\
        1 pread64(3, \"\"..., 10, 0) = 10\n\
        1 open(\"./sub/../a.db\", O_RDONLY) = 4\n\
        1 read(4, \"\"..., 10) = 10\n\
        1 chdir(\"/data\") = 0\n\
        1 open(\"a.db\", O_RDONLY) = 5\n\
        1 read(5, \"\"..., 10) = 10\n\
        1 open(\"/a.db\", O_RDONLY) = 6\n\
        1 read(6, \"\"..., 10) = 10\n";
    let unknown = "/(working directory)/a.db: cr 0 10 by 1";
    assert_eq!(
        events_of(log),
        [unknown, unknown, "/data/a.db: cr 0 10 by 1", "/a.db: cr 0 10 by 1"]
    );
}

#[test]
fn a_deleted_file_lives_until_its_last_descriptor_and_mapping() {
    let log = "1 open(\"/a\", O_RDWR) = 3</a>\n\
        1 write(3</a>, \"\"..., 1) = 1\n\
        1 mmap(NULL, 8192, PROT_READ, MAP_SHARED, 3</a>, 0) = 0x10000\n\
        1 unlinkat(AT_FDCWD</>, \"a\", 0) = 0\n\
        1 open(\"/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</a>\n\
        1 write(4</a>, \"\"..., 2) = 2\n\
        1 close(3</a>(deleted)) = 0\n\
        1 munmap(0x10000, 4096) = 0\n\
        1 sync() = 0\n\
        1 munmap(0x11000, 4096) = 0\n\
        1 link(\"/a\", \"/b\") = 0\n\
        1 unlink(\"/a\") = 0\n\
        1 rename(\"/b\", \"/c\") = 0\n\
        1 write(4</c>, \"\"..., 3) = 3\n\
        1 rename(\"/x\", \"/c\") = 0\n\
        1 +++ exited with 0 +++\n";
    assert_eq!(
        events_of(log),
        [
            "/a: cw 0 1 by 1",
            "/a: length 0",
            "/a: cw 0 2 by 1",
            "sync all",
            "/a: delete",
            "/a: cw 2 3 by 1",
            "/a: delete",
        ]
    );
    assert_note(log, "1 mappings of files; what programs read");
}

#[test]
fn threads_share_descriptors_children_have_copies_and_programs_close_some() {
    let log = "1 open(\"/a\", O_RDWR) = 3</a>\n\
        1 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} <unfinished ...>\n\
        2 close(3</a>) = 0\n\
        2 open(\"/b\", O_RDONLY|O_CLOEXEC) = 3</b>\n\
        1 <... clone3 resumed> => {parent_tid=[2]}, 88) = 2\n\
        1 read(3</b>, \"\"..., 10) = 10\n\
        2 read(3</b>, \"\"..., 10) = 10\n\
        1 fork() = 5\n\
        5 dup2(3</b>, 7) = 7</b>\n\
        5 execve(\"/bin/x\", [\"x\"], 0x1 /* 2 vars */) = 0\n\
        5 open(\"/c\", O_RDONLY) = 3</c>\n\
        5 read(7</b>, \"\"..., 10) = 10\n\
        5 close_range(0, 4294967295, 0) = 0\n\
        1 read(3</b>, \"\"..., 10) = 10\n";
    assert_eq!(
        events_of(log),
        ["/b: cr 0 10 by 1", "/b: cr 10 10 by 1", "/b: cr 20 10 by 5", "/b: cr 30 10 by 1"]
    );
    let (_, report) = events(log);
    let notes = report.notes.join("; ");
    assert!(!notes.contains("being opened") && !notes.contains("appeared"), "{notes}");
}

#[test]
fn a_log_without_numbers_gets_them_when_there_are_two_processes() {
    let log = "1.5 open(\"/a\", O_RDONLY) = 3</a>\n\
        1.5 clone(child_stack=NULL, flags=SIGCHLD) = 8\n\
        strace: Process 8 attached\n\
        [pid     8] 1.625 read(3</a>, \"\"..., 5) = 5\n\
        [pid     7] 1.75 read(3</a>, \"\"..., 5 <unfinished ...>\n\
        [pid     8] 1.875 +++ exited with 0 +++\n\
        1.875 <... read resumed>) = 5\n\
        2.5 read(3</a>, \"\"..., 5) = 5\n";
    assert_eq!(events_of(log), ["/a: cr 0 5 by 8", "/a: cr 5 5 by 7", "/a: cr 10 5 by 7"]);
    let (events, _) = events(log);
    assert_eq!(events[1].time_ns, Some(1_875_000_000));
}

#[test]
fn bytes_move_between_files_and_holes_are_discards() {
    let log = "1 openat(AT_FDCWD</home>, \"x/../a\", O_RDONLY) = 3</home/a>\n\
        1 creat(\"b\", 0600) = 4</home/b>\n\
        1 copy_file_range(3</home/a>, [4096], 4</home/b>, NULL, 5000, 0) = 100\n\
        1 sendfile(4</home/b>, 3</home/a>, NULL, 5000) = 50\n\
        1 splice(5<pipe:[9]>, NULL, 4</home/b>, NULL, 5000, 0) = 6\n\
        1 fallocate(4</home/b>, 0, 0, 8192) = 0\n\
        1 fallocate(4</home/b>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 4096, 4096) = 0\n\
        1 ftruncate(4</home/b>, 10) = 0\n\
        1 rename(\"/home\", \"/house\") = 0\n\
        1 truncate(\"/house/b\", 20) = 0\n\
        1 write(4</house/b>, \"\"..., 1) = 1\n";
    assert_eq!(
        events_of(log),
        [
            "/home/a: cr 4096 100 by 1",
            "/home/b: length 0",
            "/home/b: cw 0 100 by 1",
            "/home/a: cr 0 50 by 1",
            "/home/b: cw 100 50 by 1",
            "/home/b: cw 150 6 by 1",
            "/home/b: truncate 8192",
            "/home/b: discard 4096 4096",
            "/home/b: truncate 10",
            "/home/b: truncate 20",
            "/home/b: cw 156 1 by 1",
        ]
    );
    assert_note(log, "reads and writes of pipes, sockets, devices, /proc and /sys (1)");
}

#[test]
fn what_is_skipped_is_named_in_notes() {
    let log = "1 read(3</a>, \"\"..., 10) = 4\n\
        1 read(3</a>, \"\", 10) = 0\n\
        1 write(4</b>, \"\"..., 10) = 10\n\
        1 read(3</b>, \"\"..., 10) = 10\n\
        1 open(\"/c\", O_WRONLY|O_APPEND) = 5</c>\n\
        1 write(5</c>, \"\"..., 10) = 10\n\
        1 io_submit(0x7f, 1, [{}]) = 1\n\
        1 sync_file_range(5</c>, 0, 0, SYNC_FILE_RANGE_WRITE) = 0\n\
        1 read(3</proc/stat>, \"\"..., 10) = 10\n\
        1 read(9, \"\"..., 10) = 10\n\
        1 unlinkat(8, \"d\", 0) = 0\n\
        1 read(3</a>, 0x1, 10) = ? ERESTARTSYS (To be restarted)\n\
        1 <... read resumed>) = 10\n\
        1 --- SIGHUP {si_signo=SIGHUP} ---\n\
        1 brk(NULL)       = 0x562dd1f0d000\n\
        1 fsync(5</c> <unfinished ...>\n";
    let (_, report) = events(log);
    assert_eq!((report.requests, report.zero_size_requests), (4, 1));
    let notes = report.notes.join("; ");
    for part in [
        "1 calls that the log does not finish are left out",
        "3 descriptors are of files that the log does not show being opened",
        "1 files have no length in the log",
        "1 files of unknown length were appended to",
        "calls of asynchronous I/O, which are not followed (1)",
        "sync_file_range calls",
        "pipes, sockets, devices, /proc and /sys (2)",
        "calls on names in an unknown directory (1)",
        "calls that failed (1)",
        "ends of calls whose beginning is not in the log (1)",
        "signals and remarks of strace (1)",
        "calls that concern no file (1)",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn a_malformed_call_is_one_sentence() {
    for (line, reason) in [
        ("1 pread64(3</a>, \"\"..., 5, 9223372036854775807) = 5", "reaches beyond byte 2^63"),
        ("1 read(3</a>, \"\"..., 5", "has no end of the arguments"),
        ("1 read(3</a>, \"\"..., 5)", "has no result"),
        ("1 read(x, \"\"..., 5) = 5", "has no descriptor in argument 1"),
        ("1 pread64(3</a>, \"\"..., 5, y) = 5", "has no number in argument 4"),
    ] {
        let text = format!("{line}\n").repeat(12);
        let message = message_of(text.as_bytes(), Some("strace"));
        assert!(message.contains(&format!("line 1, which {reason}")), "{line}: {message}");
    }
}

#[test]
fn processes_that_double_do_not_fill_the_memory() {
    let mut log = String::from("1 open(\"/a\", O_RDONLY) = 3</a>\n1 read(3</a>, \"\"..., 5) = 5\n");
    for number in 4..3000 {
        log += &format!("1 dup(3</a>) = {number}</a>\n");
    }
    for child in 2..3000 {
        log += &format!("1 fork() = {child}\n");
    }
    let message = message_of(log.as_bytes(), Some("strace"));
    assert!(message.contains("open files and mappings at once; take a part of it"), "{message}");
}

/// A real log, where strace is installed and may trace.
#[test]
#[cfg(target_os = "linux")]
fn a_real_log_tells_what_the_program_did() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let script = "dd if=/dev/zero of=one bs=4096 count=3 conv=fsync 2>/dev/null; (cat one; cat one) > two; \
                  mv two three; rm one; dd if=/dev/zero of=three bs=100 seek=1 count=1 conv=notrunc 2>/dev/null";
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-ttt", "-y", "-o", "log", "sh", "-c", script]).current_dir(&folder);
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            return eprintln!("skipped: strace does not trace here: {why}");
        }
        Err(error) => return eprintln!("skipped: strace is not installed: {error}"),
    }
    let mut reader = TraceReader::open(folder.join("log"), &OpenOptions::default()).unwrap();
    let (mut events, mut batch) = (Vec::new(), Vec::new());
    while reader.next_events(&mut batch).unwrap() {
        events.extend_from_slice(&batch);
    }
    let report = reader.report();
    assert_eq!(
        (report.format, report.skipped_records),
        ("strace", 0),
        "{:?}",
        report.first_skipped
    );
    let prefix = format!("{}/", folder.display());
    let words_of_all: Vec<String> =
        events.iter().map(|event| words(event, &report.stream_names)).collect();
    let of = |name: &str| -> Vec<String> {
        let start = format!("{prefix}{name}: ");
        let about = words_of_all.iter().filter_map(|words| words.strip_prefix(&start));
        about.map(|words| words.split(" by ").next().unwrap().to_owned()).collect()
    };
    let one = of("one");
    assert_eq!(one[..5], ["length 0", "cw 0 4096", "cw 4096 4096", "cw 8192 4096", "sync"]);
    assert_eq!(one.last().unwrap(), "delete");
    // The copies come by reads and writes or by copy_file_range, as this system's cat likes it.
    let bytes = |words: &[String], kind: &str| -> u64 {
        let sizes = words.iter().filter_map(|words| words.strip_prefix(kind));
        sizes.map(|words| words.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    assert_eq!(bytes(&one, "cr "), 2 * 12288, "{one:?}");
    let two = of("two");
    assert_eq!((bytes(&two, "cw "), two[0].as_str()), (24576 + 100, "length 0"), "{two:?}");
    assert_eq!(two.last().unwrap(), "cw 100 100", "the renamed file is the same one");
}

/// Times of the events of a log, in nanoseconds.
fn times(log: &str) -> Vec<u64> {
    let (events, report) = events(log);
    assert_eq!(report.skipped_records, 0, "{:?}", report.first_skipped);
    events.iter().filter_map(|event| event.time_ns).collect()
}

#[test]
fn times_of_any_option_are_understood() {
    let log = |times: [&str; 4]| {
        let [a, b, c, d] = times;
        format!(
            "17 {a} openat(AT_FDCWD, \"/a\", O_RDWR) = 3</a>\n17 {b} read(3</a>, \"x\"..., 9) = 9\n\
             17 {c} write(3</a>, \"x\"..., 9) = 9\n17 {d} read(3</a>, \"x\"..., 9) = 9\n"
        )
    };
    let seconds = |all: [u64; 3]| all.map(|second| second * 500_000_000).to_vec();
    for (log, expected) in [
        (
            log(["1795326088.0", "1795326088.5", "1795326089.0", "1795326089.5"]),
            seconds([3_590_652_177, 3_590_652_178, 3_590_652_179]),
        ),
        (
            log(["1795326088", "1795326089", "1795326090", "1795326091"]),
            seconds([3_590_652_178, 3_590_652_180, 3_590_652_182]),
        ),
        (
            log(["23:59:59", "23:59:59.5", "00:00:00", "00:00:00.5"]),
            seconds([172_799, 172_800, 172_801]),
        ),
        (
            log(["     0.000000", "     0.500000", "     0.500000", "     0.500000"]),
            seconds([1, 2, 3]),
        ),
    ] {
        assert_eq!(times(&log), expected, "{log}");
        let without_process = log.replace("17 ", "");
        assert_eq!(times(&without_process), expected, "{without_process}");
    }
}

#[test]
fn what_options_of_strace_add_is_no_malformed_line() {
    let log = "17<server> 1.0 openat(AT_FDCWD, \"/a\", O_RDWR) = 3</a>\n \
               > /usr/lib/libc.so.6(openat+0x10) [0x1234]\n\
               17<server> 1.1 [00007f3c4e5d6a01] read(3</a>, \"x\"..., 4096) = 4096\n\
               17<server> 1.2 +++ exited with 0 +++\n\
               % time     seconds  usecs/call     calls    errors syscall\n\
               ------ ----------- ----------- --------- --------- ----------------\n \
               60.00    0.000300          30        10           read\n\
               ------ ----------- ----------- --------- --------- ----------------\n\
               100.00    0.000300          30        10         0 total\n";
    assert_eq!(events_of(log), ["/a: cr 0 4096 by 17"]);
    assert_note(log, "lines of the summary (5)");
    assert_note(log, "lines of call stacks (1)");
}

#[test]
fn seeks_of_32_bit_programs_and_block_devices_are_followed() {
    let log = "9 1.0 openat(AT_FDCWD, \"/dev/vg/db\", O_RDWR) = 3</dev/vg/db<block 8:16>>\n\
               9 1.1 _llseek(3</dev/vg/db<block 8:16>>, 1048576, [1048576], SEEK_SET) = 0\n\
               9 1.2 read(3</dev/vg/db<block 8:16>>, \"x\"..., 4096) = 4096\n\
               9 1.3 write(4</dev/null<char 1:3>>, \"x\"..., 4096) = 4096\n\
               9 1.4 pwrite64(5</dev/sda>, \"x\"..., 4096, 8192) = 4096\n";
    assert_eq!(
        events_of(log),
        ["/dev/vg/db<block 8:16>: cr 1048576 4096 by 9", "/dev/sda: cw 8192 4096 by 9"]
    );
}

#[test]
fn writes_that_must_persist_are_followed_by_a_sync() {
    let log = "9 1.0 openat(AT_FDCWD, \"/w\", O_WRONLY|O_DSYNC) = 3</w>\n\
               9 1.1 write(3</w>, \"x\"..., 10) = 10\n\
               9 1.2 openat(AT_FDCWD, \"/v\", O_WRONLY) = 4</v>\n\
               9 1.3 pwritev2(4</v>, [{iov_base=\"x\"}], 1, 0, RWF_DSYNC) = 10\n\
               9 1.4 write(4</v>, \"x\"..., 10) = 10\n\
               9 1.5 fadvise64(4</v>, 0, 0, POSIX_FADV_DONTNEED) = 0\n";
    let expected =
        ["/w: cw 0 10 by 9", "/w: sync", "/v: cw 0 10 by 9", "/v: sync", "/v: cw 0 10 by 9"];
    assert_eq!(events_of(log), expected);
    assert_note(log, "2 writes of files opened with O_SYNC or O_DSYNC");
    assert_note(log, "POSIX_FADV_DONTNEED");
}

#[test]
fn a_log_without_requests_says_what_was_left_out() {
    let log = "9 1.0 read(0</dev/pts/1>, \"x\"..., 10) = 10\n9 1.1 write(1</dev/pts/1>, \"x\"..., 10) = 10\n";
    let message = message_of(log.as_bytes(), None);
    assert!(message.contains("2 were reads and writes of pipes, sockets, devices"), "{message}");
}
