//! The handshake: what a client may ask before the first request.

use super::{Input, LIMIT_NAME_BYTES, LIMIT_OPTION_BYTES, LIMIT_OPTIONS};
use crate::StatusKind;

const NBD_MAGIC: &[u8; 8] = b"NBDMAGIC";
const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Bytes of an option's header.
pub const OPTION_HEADER_BYTES: usize = 16;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const STARTTLS: u32 = 5;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_META_CONTEXT: u32 = 4;
const ERR_UNSUP: u32 = 0x8000_0001;
const ERR_INVALID: u32 = 0x8000_0003;
const ERR_TLS_REQD: u32 = 0x8000_0005;
const ERR_UNKNOWN: u32 = 0x8000_0006;
const ERR_TOO_BIG: u32 = 0x8000_0009;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

const HAS_FLAGS: u16 = 1;
const READ_ONLY: u16 = 2;
const SEND_FLUSH: u16 = 4;
const SEND_FUA: u16 = 8;
const SEND_TRIM: u16 = 32;
const SEND_WRITE_ZEROES: u16 = 64;
const SEND_DF: u16 = 128;
const CAN_MULTI_CONN: u16 = 256;

/// The contexts of BLOCK_STATUS, each with its number.
const CONTEXTS: [(u32, &str, StatusKind); 2] =
    [(1, "base:allocation", StatusKind::Allocation), (2, "x-clockhand:buffer", StatusKind::Buffer)];

/// What is offered.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The export's name, to which the empty name leads as well.
    pub export: String,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of a page: the preferred block size.
    pub page_bytes: u32,
    /// True if it can only be read.
    pub is_read_only: bool,
    /// True if there has to be TLS before anything else.
    pub needs_tls: bool,
}

/// Contexts of BLOCK_STATUS, by number.
pub type Contexts = Vec<(u32, StatusKind)>;

/// What was agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// True if answers are structured.
    pub structured: bool,
    /// The contexts of BLOCK_STATUS, by number.
    pub contexts: Contexts,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next option.
    Option,
    /// TLS, and the options again.
    StartTls,
    /// Requests.
    Requests(Agreed),
    /// The end of the connection.
    Close,
}

/// A handshake with one client.
#[derive(Clone, Debug)]
pub struct Negotiation {
    offer: Offer,
    no_zeroes: bool,
    is_encrypted: bool,
    options: u32,
    structured: bool,
    /// The export for which contexts were set, and the contexts.
    contexts: Option<(Vec<u8>, Contexts)>,
}

/// The header of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    option: u32,
    /// Bytes of data that follow.
    pub bytes: u32,
}

impl OptionHeader {
    /// Reads a header; none if it is not an option.
    pub fn parse(bytes: &[u8; OPTION_HEADER_BYTES]) -> Option<OptionHeader> {
        let mut input = Input(bytes);
        (input.take(8)? == OPTION_MAGIC).then_some(())?;
        Some(OptionHeader { option: input.u32()?, bytes: input.u32()? })
    }
}

impl Negotiation {
    /// A handshake that offers this.
    pub fn new(offer: Offer) -> Self {
        Negotiation {
            offer,
            no_zeroes: false,
            is_encrypted: false,
            options: 0,
            structured: false,
            contexts: None,
        }
    }

    /// What the server says first.
    pub fn greeting() -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[..8].copy_from_slice(NBD_MAGIC);
        bytes[8..16].copy_from_slice(OPTION_MAGIC);
        bytes[16..].copy_from_slice(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
        bytes
    }

    /// The client's flags; false if there are unknown ones among them, or it does not speak fixed newstyle.
    pub fn client_flags(&mut self, bytes: [u8; 4]) -> bool {
        let flags = u32::from_be_bytes(bytes);
        let known = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
        self.no_zeroes = flags & u32::from(NO_ZEROES) != 0;
        flags & !known == 0 && flags & u32::from(FIXED_NEWSTYLE) != 0
    }

    /// TLS has begun: what was said before does not count.
    pub fn encrypted(&mut self) {
        self.is_encrypted = true;
        self.structured = false;
        self.contexts = None;
    }

    /// The bytes of data to be read for an option; an answer if it has too many, after which the connection is closed.
    ///
    /// # Errors
    ///
    /// That answer.
    pub fn data_bytes(&self, header: OptionHeader) -> Result<usize, Vec<u8>> {
        if header.bytes > LIMIT_OPTION_BYTES || self.options >= LIMIT_OPTIONS {
            let mut answer = Vec::new();
            reply(header.option, ERR_TOO_BIG, b"", &mut answer);
            return Err(answer);
        }
        Ok(header.bytes as usize)
    }

    /// Answers an option.
    pub fn option(&mut self, header: OptionHeader, data: &[u8], answer: &mut Vec<u8>) -> Then {
        self.options += 1;
        let option = header.option;
        if self.offer.needs_tls && !self.is_encrypted && option != STARTTLS && option != ABORT {
            if option == EXPORT_NAME {
                return Then::Close;
            }
            reply(option, ERR_TLS_REQD, b"", answer);
            return Then::Option;
        }
        match option {
            EXPORT_NAME => return self.export_name(data, answer),
            ABORT => {
                reply(option, REP_ACK, b"", answer);
                return Then::Close;
            }
            STARTTLS if !self.offer.needs_tls => reply(option, ERR_UNSUP, b"", answer),
            STARTTLS if self.is_encrypted || !data.is_empty() => {
                reply(option, ERR_INVALID, b"", answer);
            }
            STARTTLS => {
                reply(option, REP_ACK, b"", answer);
                return Then::StartTls;
            }
            LIST if data.is_empty() => self.list(answer),
            STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                reply(option, REP_ACK, b"", answer);
            }
            LIST | STRUCTURED_REPLY => reply(option, ERR_INVALID, b"", answer),
            INFO | GO => return self.info(option, data, answer),
            LIST_META_CONTEXT | SET_META_CONTEXT => self.meta_context(option, data, answer),
            _ => reply(option, ERR_UNSUP, b"", answer),
        }
        Then::Option
    }

    fn is_export(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.offer.export.as_bytes()
    }

    /// The flags of the export.
    fn flags(&self) -> u16 {
        let always =
            HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | CAN_MULTI_CONN;
        let df = if self.structured { SEND_DF } else { 0 };
        always | df | if self.offer.is_read_only { READ_ONLY } else { 0 }
    }

    /// The agreement when the export of this name is entered.
    fn agreed(&mut self, name: &[u8]) -> Agreed {
        let contexts = self.contexts.take().filter(|(of, _)| self.is_export(of) && of == name);
        Agreed {
            structured: self.structured,
            contexts: contexts.map(|(_, contexts)| contexts).unwrap_or_default(),
        }
    }

    fn export_name(&mut self, name: &[u8], answer: &mut Vec<u8>) -> Then {
        if name.len() > LIMIT_NAME_BYTES || !self.is_export(name) {
            return Then::Close;
        }
        answer.extend_from_slice(&self.offer.bytes.to_be_bytes());
        answer.extend_from_slice(&self.flags().to_be_bytes());
        if !self.no_zeroes {
            answer.extend_from_slice(&[0; 124]);
        }
        Then::Requests(self.agreed(name))
    }

    fn list(&self, answer: &mut Vec<u8>) {
        let name = self.offer.export.as_bytes();
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(name);
        reply(LIST, REP_SERVER, &data, answer);
        reply(LIST, REP_ACK, b"", answer);
    }

    fn info(&mut self, option: u32, data: &[u8], answer: &mut Vec<u8>) -> Then {
        let mut input = Input(data);
        let mut parse = || {
            let name = input.string()?;
            let requests = input.u16()?;
            input.take(usize::from(requests) * 2)?;
            input.is_empty().then_some(name)
        };
        let Some(name) = parse() else {
            reply(option, ERR_INVALID, b"", answer);
            return Then::Option;
        };
        if !self.is_export(name) {
            reply(option, ERR_UNKNOWN, b"", answer);
            return Then::Option;
        }
        let mut export = INFO_EXPORT.to_be_bytes().to_vec();
        export.extend_from_slice(&self.offer.bytes.to_be_bytes());
        export.extend_from_slice(&self.flags().to_be_bytes());
        reply(option, REP_INFO, &export, answer);
        let mut sizes = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, self.offer.page_bytes, super::LIMIT_PAYLOAD_BYTES] {
            sizes.extend_from_slice(&size.to_be_bytes());
        }
        reply(option, REP_INFO, &sizes, answer);
        reply(option, REP_ACK, b"", answer);
        match option {
            GO => Then::Requests(self.agreed(name)),
            _ => Then::Option,
        }
    }

    fn meta_context(&mut self, option: u32, data: &[u8], answer: &mut Vec<u8>) {
        let mut input = Input(data);
        let mut parse = || {
            let name = input.string()?;
            let count = input.u32()?;
            let queries = (0..count).map(|_| input.string()).collect::<Option<Vec<&[u8]>>>()?;
            input.is_empty().then_some((name, queries))
        };
        let parsed = parse();
        if option == SET_META_CONTEXT {
            self.contexts = None;
        }
        let Some((name, queries)) = parsed.filter(|_| self.structured) else {
            return reply(option, ERR_INVALID, b"", answer);
        };
        if !self.is_export(name) {
            return reply(option, ERR_UNKNOWN, b"", answer);
        }
        let is_list = option == LIST_META_CONTEXT;
        let chosen: Vec<_> = CONTEXTS
            .into_iter()
            .filter(|(_, context, _)| {
                is_list && queries.is_empty()
                    || queries.iter().any(|query| is_asked(query, context, is_list))
            })
            .collect();
        for (number, context, _) in &chosen {
            let number = if is_list { 0 } else { *number };
            let mut data = number.to_be_bytes().to_vec();
            data.extend_from_slice(context.as_bytes());
            reply(option, REP_META_CONTEXT, &data, answer);
        }
        reply(option, REP_ACK, b"", answer);
        if !is_list {
            let contexts = chosen.into_iter().map(|(number, _, kind)| (number, kind)).collect();
            self.contexts = Some((name.to_vec(), contexts));
        }
    }
}

/// Returns whether a query asks for this context; when listing, a namespace asks for all of its contexts.
fn is_asked(query: &[u8], context: &str, is_list: bool) -> bool {
    let is_namespace = query.ends_with(b":") && context.as_bytes().starts_with(query);
    query == context.as_bytes() || is_list && is_namespace
}

fn reply(option: u32, kind: u32, data: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&REPLY_MAGIC.to_be_bytes());
    into.extend_from_slice(&option.to_be_bytes());
    into.extend_from_slice(&kind.to_be_bytes());
    into.extend_from_slice(&(data.len() as u32).to_be_bytes());
    into.extend_from_slice(data);
}
