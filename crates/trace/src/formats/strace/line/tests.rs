//! Lines of strace, cut into their parts.

use super::*;

fn call(text: &str) -> (String, Vec<String>, String) {
    let call = Call::read(text.as_bytes()).unwrap();
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (words(call.name), call.arguments().map(words).collect(), words(call.result))
}

#[test]
fn arguments_end_at_their_own_commas_only() {
    let (name, arguments, result) =
        call(r#"write(3</a, b)>, "x\", (", {a=[1, 2], b=1<<20}, f(1, 2))      = 17 <0.1>"#);
    assert_eq!((name.as_str(), result.as_str()), ("write", "17 <0.1>"));
    assert!(FileNote::behind_number(b"17 <0.1>").is_none(), "it is a duration");
    assert_eq!(arguments, ["3</a, b)>", r#""x\", (""#, "{a=[1, 2], b=1<<20}", "f(1, 2)"]);
    let (_, arguments, _) = call("accept(3<TCP:[1.2.3.4:5->6.7.8.9:0]>, NULL) = 4");
    assert_eq!(arguments, ["3<TCP:[1.2.3.4:5->6.7.8.9:0]>", "NULL"]);
    assert_eq!(call("sync()                = 0").1, [""]);
    for wrong in ["", "read", "read(3", "read(3)", "read(3) =", "(3) = 1", "read(\"a) = 1"] {
        assert!(Call::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn who_and_when_stand_in_front_or_not() {
    use When::{At, OfDay, SinceLast, Unknown};
    for (line, thread, when) in [
        ("17 1.5 sync() = 0", 17, At { time_ns: 1_500_000_000 }),
        ("17    1795326088.5 sync() = 0", 17, At { time_ns: 1_795_326_088_500_000_000 }),
        ("[pid   17] 1.000001 sync() = 0", 17, At { time_ns: 1_000_001_000 }),
        ("17<a b> 1.5 sync() = 0", 17, At { time_ns: 1_500_000_000 }),
        ("[pid 17<a>] 1.5 sync() = 0", 17, At { time_ns: 1_500_000_000 }),
        ("1.5 sync() = 0", 0, At { time_ns: 1_500_000_000 }),
        ("1795326088 sync() = 0", 0, At { time_ns: 1_795_326_088_000_000_000 }),
        ("17 1795326088 sync() = 0", 17, At { time_ns: 1_795_326_088_000_000_000 }),
        ("17 12:00:01 sync() = 0", 17, OfDay { time_ns: 43_201_000_000_000 }),
        ("12:00:01.5 (+     0.5) sync() = 0", 0, OfDay { time_ns: 43_201_500_000_000 }),
        ("17      0.500000 sync() = 0", 17, SinceLast { time_ns: 500_000_000 }),
        ("     0.500000 sync() = 0", 0, SinceLast { time_ns: 500_000_000 }),
        ("17 1.5 [00007f3c4e5d6a01] sync() = 0", 17, At { time_ns: 1_500_000_000 }),
        ("sync() = 0", 0, Unknown),
    ] {
        let entry = Entry::read(line.as_bytes()).unwrap();
        assert_eq!((entry.thread, entry.when), (thread, when), "{line}");
    }
    for wrong in ["[pid x] sync() = 0", "1 25:00:01 sync() = 0", "99999999999 1.0 sync() = 0"] {
        assert!(Entry::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn names_are_taken_back_from_their_escapes() {
    let note = |text: &str| FileNote::behind_number(text.as_bytes());
    let file = |path: &[u8], is_deleted| Some(FileNote { path: path.to_vec(), is_deleted });
    assert_eq!(note(r"3</a\74b\76\303\251>"), file(b"/a<b>\xc3\xa9", false));
    assert_eq!(note("3</a>(deleted)"), file(b"/a", true));
    assert_eq!(note("3</a (deleted)>"), file(b"/a", true));
    assert_eq!(note("3</dev/null<char 1:3>>"), file(b"/dev/null<char 1:3>", false));
    assert_eq!(note("3"), None);
    assert_eq!(string(br#""a\n\\\x41""#), Some(b"a\n\\A".to_vec()));
    assert_eq!(string(br#""cut"..."#), None);
}
