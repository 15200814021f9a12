//! Every message of the NBD server: any bytes are answered or refused, and no answer is unbounded.

#![no_main]

use clockhand_serve::protocol::negotiation::{Negotiation, Offer, OptionHeader, Then};
use clockhand_serve::protocol::request::{Export, HEADER_BYTES, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let offer = Offer {
        export: "disk".to_owned(),
        bytes: 1 << 20,
        page_bytes: 4096,
        is_read_only: choice & 1 != 0,
        needs_tls: choice & 2 != 0,
    };
    let mut negotiation = Negotiation::new(offer);
    let Some((&flags, tail)) = rest.split_first_chunk() else { return };
    if !negotiation.client_flags(flags) {
        return;
    }
    rest = tail;
    while let Some((header, tail)) = rest.split_first_chunk() {
        let Some(header) = OptionHeader::parse(header) else { break };
        let Ok(bytes) = negotiation.data_bytes(header) else { break };
        let Some((data, tail)) = tail.split_at_checked(bytes) else { break };
        let mut answer = Vec::new();
        let then = negotiation.option(header, data, &mut answer);
        assert!(answer.len() < 1 << 20);
        match then {
            Then::StartTls => negotiation.encrypted(),
            Then::Close | Then::Requests(_) => break,
            Then::Option => {}
        }
        rest = tail;
    }
    let export = Export { bytes: 1 << 20, is_read_only: choice & 1 != 0, has_contexts: true };
    for bytes in rest.chunks_exact(HEADER_BYTES) {
        if let Ok(header) = Header::parse(bytes.try_into().expect("a header's bytes")) {
            let _ = header.command(export);
        }
    }
});
