//! Notations of tables, with their errors.

use super::*;

fn parse(text: &str) -> Notation {
    Notation::parse(text).unwrap()
}

#[test]
fn a_table_of_names_is_understood() {
    let notation = parse(
        "sep=;,header=yes,op=cmd,address=lba*512,size=nsect*512,time=when_ms:ms,stream=vm,read=R|RD|0,write=W|WS|1",
    );
    assert_eq!((notation.separator, notation.has_header), (Separator::Byte(b';'), true));
    assert_eq!(notation.place.column().place, Place::Name("lba".to_owned()));
    assert_eq!(notation.place.column().factor, 512);
    assert_eq!(notation.time.unwrap().unit_ns, Some(1_000_000));
    let meaning = |word: &str| notation.words.meaning(word.as_bytes());
    assert_eq!(meaning("0"), Some(Meaning::Request(Op::Read)));
    assert_eq!(meaning("ws"), Some(Meaning::Request(Op::Write)));
    assert_eq!(meaning("read"), None, "its own words are all");
}

#[test]
fn columns_have_numbers_quotes_and_constants() {
    let notation = parse("sep=,,address=2:hex*4KiB,size==4096,op==write,stream=\"a, b\"+5");
    assert_eq!((notation.separator, notation.has_header), (Separator::Byte(b','), true));
    assert_eq!(
        (notation.place.column().factor, notation.place.column().is_hexadecimal),
        (4096, true)
    );
    assert!(matches!(notation.size, Size::Same(4096)));
    assert!(matches!(notation.op, Some(OpSource::Same(Op::Write))));
    let places: Vec<_> = notation.stream.into_iter().map(|column| column.place).collect();
    assert_eq!(places, [Place::Name("a, b".to_owned()), Place::Number(5)]);
    assert!(!parse("sep=blank,address=2").has_header);
}

#[test]
fn mistakes_are_answered_with_what_to_write() {
    for (text, words) in [
        ("op=1", "add address=COLUMN"),
        ("address=2,time=1", "time=1:s"),
        ("address=2,time=1:h", "is no unit"),
        ("address=0", "counted from 1"),
        ("address=lba,header=no", "give their numbers"),
        ("address=2*0", "is no factor"),
        ("address=2:ms", "is not understood"),
        ("adress=2", "is unknown"),
        ("address", "has no ="),
        ("address=2,sep=ab", "is no separator"),
        ("address=2,size==0", "is no size"),
        ("address=2,object=3", "give one of them"),
        ("address=2,time=1:s,ttl=3:s", "with object="),
        ("address=2,delete=X", "with object="),
        ("object=2,time=1:s,ttl=3", "ttl=3:s"),
        ("object=2,ttl=3:s", "add time="),
    ] {
        let message = Notation::parse(text).unwrap_err();
        assert!(message.contains(words), "{text}: {message}");
    }
}
