use clockhand_serve::protocol::negotiation::{Negotiation, Offer, OptionHeader, Then};
use clockhand_serve::protocol::request::{Export, Header};
use proptest::prelude::*;

use crate::client::{Client, Folder, GO, Running};

const UNSUPPORTED: u32 = 0x8000_0001;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;

fn named(name: &[u8], rest: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes(), name, rest].concat()
}

#[test]
fn options_are_answered_as_the_protocol_says() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut client = Client::greeted(&place.socket());
    assert_eq!(client.option(11, b"")[0].0, UNSUPPORTED, "EXTENDED_HEADERS");
    assert_eq!(client.option(99, b"12")[0].0, UNSUPPORTED);
    assert_eq!(client.option(5, b"")[0].0, UNSUPPORTED, "STARTTLS without TLS");
    assert_eq!(client.option(3, b""), [(2, named(b"disk", b"")), (1, vec![])], "LIST");
    assert_eq!(client.option(3, b"x")[0].0, INVALID);
    assert_eq!(client.option(6, &named(b"other", &[0, 0]))[0].0, UNKNOWN);
    assert_eq!(client.option(6, b"\0\0\0\x09x")[0].0, INVALID, "a name that is not there");
    assert_eq!(client.option(10, &named(b"", &[0, 0, 0, 0]))[0].0, INVALID, "not structured yet");
    assert_eq!(client.option(8, b"")[0].0, 1);
    let all = client.option(9, &named(b"", &[0, 0, 0, 0]));
    assert_eq!(all.len(), 3, "{all:?}");
    let query = [&1_u32.to_be_bytes()[..], &named(b"base:allocation", b"")].concat();
    let set = client.option(10, &named(b"disk", &query));
    assert_eq!(&set[0].1[4..], b"base:allocation");
    let go = client.option(GO, &named(b"disk", &[0, 0]));
    let sizes: Vec<u8> =
        [&[0, 3][..], &1_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &(32_u32 << 20).to_be_bytes()]
            .concat();
    assert!(go.contains(&(3, sizes)), "{go:?}");
    let flags = 1 | 4 | 8 | 32 | 64 | 128 | 256_u16;
    let export = [&[0, 0][..], &(1_u64 << 20).to_be_bytes(), &flags.to_be_bytes()].concat();
    assert!(go.contains(&(3, export)), "{go:?}");
    assert!(running.finish().failure.is_none());
}

#[test]
fn what_makes_no_sense_closes_its_own_connection_only() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut well = Client::connect(&place.socket());
    let mut client = Client::greeted(&place.socket());
    client.send_option(3, &vec![0; 65_537]);
    let mut header = [0; 20];
    std::io::Read::read_exact(&mut client.stream, &mut header).unwrap();
    assert_eq!(&header[12..16], &0x8000_0009_u32.to_be_bytes(), "too big");
    let mut client = Client::greeted(&place.socket());
    client.send_option(1, b"other");
    assert!(client.is_closed(), "EXPORT_NAME of an unknown export");
    let mut client = Client::connect(&place.socket());
    std::io::Write::write_all(&mut client.stream, &[0; 28]).unwrap();
    assert!(client.is_closed(), "a wrong magic");
    let mut client = Client::connect(&place.socket());
    client.send(1, 0, 0, (32 << 20) + 1, b"");
    assert!(client.is_closed(), "a payload that is too long");
    assert_eq!(well.write(0, &[1; 4096], 0), 0);
    assert!(running.finish().failure.is_none());
}

#[test]
fn more_clients_than_allowed_are_closed() {
    let place = Folder::new();
    let running = Running::start(&place.options("fab:total=16", 1 << 20)).unwrap();
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(&place.socket())).collect();
    let mut late = Client::raw(&place.socket());
    assert!(late.is_closed());
    assert_eq!(clients[7].flush(), 0);
    assert_eq!(running.finish().report.connections, 8);
}

fn offer(needs_tls: bool) -> Offer {
    let export = "disk".to_owned();
    Offer { export, bytes: 1 << 20, page_bytes: 4096, is_read_only: false, needs_tls }
}

fn header(option: u32, bytes: usize) -> OptionHeader {
    let mut header = *b"IHAVEOPT\0\0\0\0\0\0\0\0";
    header[8..12].copy_from_slice(&option.to_be_bytes());
    header[12..].copy_from_slice(&(bytes as u32).to_be_bytes());
    OptionHeader::parse(&header).unwrap()
}

#[test]
fn before_tls_only_tls_and_the_end_can_be_asked_for() {
    let mut negotiation = Negotiation::new(offer(true));
    for option in (2..12).filter(|option| ![2, 5].contains(option)) {
        let mut answer = Vec::new();
        assert_eq!(negotiation.option(header(option, 0), b"", &mut answer), Then::Option);
        assert_eq!(&answer[12..16], &0x8000_0005_u32.to_be_bytes(), "{option}");
    }
    assert_eq!(negotiation.option(header(1, 0), b"", &mut Vec::new()), Then::Close);
    assert_eq!(negotiation.option(header(5, 0), b"", &mut Vec::new()), Then::StartTls);
    negotiation.encrypted();
    let go = [0; 6];
    let then = negotiation.option(header(GO, 6), &go, &mut Vec::new());
    assert!(matches!(then, Then::Requests(_)));
}

proptest! {
    /// What the fuzz target `nbd` tries with more patience.
    #[test]
    fn any_bytes_are_answered_or_refused(
        options in prop::collection::vec(
            (0..13_u32, prop::collection::vec(any::<u8>(), 0..40)), 0..20),
        requests in prop::collection::vec(prop::array::uniform28(any::<u8>()), 0..20),
        needs_tls in any::<bool>(),
    ) {
        let mut negotiation = Negotiation::new(offer(needs_tls));
        for (option, mut data) in options {
            if let Some(first) = data.get_mut(..3) {
                first.fill(0);
            }
            let mut answer = Vec::new();
            negotiation.option(header(option, data.len()), &data, &mut answer);
            prop_assert!(answer.len() < 1 << 16);
        }
        let export = Export { bytes: 1 << 20, is_read_only: false, has_contexts: true };
        for mut request in requests {
            request[..4].copy_from_slice(&0x2560_9513_u32.to_be_bytes());
            request[4] = 0;
            request[6] = 0;
            request[7] %= 9;
            if let Ok(header) = Header::parse(&request) {
                let _ = header.command(export);
            }
        }
    }
}
