//! What the words of operations mean.

use super::{Meaning, Words};
use crate::decode::scan;
use crate::request::Op;

impl Words {
    pub(super) fn add(&mut self, words: &str, meaning: Meaning) {
        let words = words.split('|').map(|word| word.trim().trim_matches(['"', '\'']));
        self.given.extend(words.map(|word| (word.as_bytes().to_vec(), meaning)));
    }

    /// The meaning of a word: the usual words, unless others were given for reads or writes.
    #[inline]
    pub(in crate::formats) fn meaning(&self, word: &[u8]) -> Option<Meaning> {
        match word {
            b"R" if self.given.is_empty() => Some(Meaning::Request(Op::Read)),
            b"W" if self.given.is_empty() => Some(Meaning::Request(Op::Write)),
            _ => self.meaning_among_given(word),
        }
    }

    #[inline(never)]
    fn meaning_among_given(&self, word: &[u8]) -> Option<Meaning> {
        let given = self.given.iter().find(|(given, _)| given == word);
        let given =
            given.or_else(|| self.given.iter().find(|(given, _)| given.eq_ignore_ascii_case(word)));
        if let Some((_, meaning)) = given {
            return Some(*meaning);
        }
        let has_own = self.given.iter().any(|(_, meaning)| matches!(meaning, Meaning::Request(_)));
        if has_own { None } else { usual_meaning(word) }
    }

    /// The same of a request for an object, which key-value stores have words of their own for.
    pub(in crate::formats) fn meaning_for_object(&self, word: &[u8]) -> Option<Meaning> {
        self.meaning(word).or_else(|| {
            let has_own = self.given.iter().any(|(_, given)| matches!(given, Meaning::Request(_)));
            if has_own { None } else { meaning_for_object(word) }
        })
    }
}

/// What the words of most programs mean: R, W, read, write, and what the kernel writes behind an R or W (`RA`, `WS`,
/// `WFS`) or in its place (`D`, `DS`).
pub(in crate::formats) fn usual_meaning(word: &[u8]) -> Option<Meaning> {
    if let Some(op) = scan::op(word) {
        return Some(Meaning::Request(op));
    }
    let is_kernels = |behind: &[u8]| behind.iter().all(|letter| b"SAMFP".contains(letter));
    match word {
        [b'R', behind @ ..] if is_kernels(behind) => Some(Meaning::Request(Op::Read)),
        [b'F', b'W', behind @ ..] | [b'W', behind @ ..] if is_kernels(behind) => {
            Some(Meaning::Request(Op::Write))
        }
        [b'D', behind @ ..] if is_kernels(behind) => Some(Meaning::Other("discards")),
        [b'F' | b'N', behind @ ..] if is_kernels(behind) => {
            Some(Meaning::Other("flushes and the like"))
        }
        _ => match word.to_ascii_lowercase().as_slice() {
            b"readsync" | b"readahead" | b"reads" => Some(Meaning::Request(Op::Read)),
            b"writesync" | b"writes" => Some(Meaning::Request(Op::Write)),
            b"discard" | b"trim" | b"unmap" => Some(Meaning::Other("discards")),
            b"flush" | b"sync" => Some(Meaning::Other("flushes and the like")),
            _ => None,
        },
    }
}

/// What the words of key-value stores mean.
pub(in crate::formats) fn meaning_for_object(word: &[u8]) -> Option<Meaning> {
    Some(match word.to_ascii_lowercase().as_slice() {
        b"get" | b"gets" | b"get_lease" => Meaning::Request(Op::Read),
        b"set" | b"set_lease" | b"add" | b"cas" | b"replace" | b"append" | b"prepend" | b"incr"
        | b"decr" | b"put" | b"update" => Meaning::Request(Op::Write),
        b"delete" | b"del" | b"remove" => Meaning::Delete,
        _ => return None,
    })
}
