//! The fields of one line, taken one after the other.

use crate::decode::scan;

/// Fields between commas. Blanks around a field are not part of it, nor are quotes around all of it; a comma in quotes ends
/// no field.
pub(crate) struct CommaFields<'a> {
    /// The rest behind the last comma; none when the last field was taken.
    rest: Option<&'a [u8]>,
}

impl<'a> CommaFields<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { rest: Some(line) }
    }

    /// The next field as a decimal number of 64 bits.
    #[inline(always)]
    pub(crate) fn decimal(&mut self) -> Option<u64> {
        match self.plain_decimal() {
            Some(number) => Some(number),
            None => self.trimmed_decimal(),
        }
    }

    #[cold]
    fn trimmed_decimal(&mut self) -> Option<u64> {
        scan::decimal(self.next()?)
    }

    /// The next field as a decimal number if it is nothing but digits; otherwise nothing is taken.
    #[inline(always)]
    pub(crate) fn plain_decimal(&mut self) -> Option<u64> {
        self.take_leading(scan::leading_decimal)
    }

    /// The next field as a time in a unit of `unit_ns` nanoseconds, a power of ten, in nanoseconds.
    #[inline]
    pub(crate) fn time_ns(&mut self, unit_ns: u64) -> Option<u64> {
        match self.take_leading(|rest| scan::leading_time_ns(rest, unit_ns)) {
            Some(time_ns) => Some(time_ns),
            None => self.trimmed_time_ns(unit_ns),
        }
    }

    #[cold]
    fn trimmed_time_ns(&mut self, unit_ns: u64) -> Option<u64> {
        scan::time_ns(self.next()?, unit_ns)
    }

    /// The next field as what `read` finds at its start, if that is all of the field; otherwise nothing is taken.
    #[inline(always)]
    fn take_leading(&mut self, read: impl Fn(&'a [u8]) -> Option<(u64, &'a [u8])>) -> Option<u64> {
        let (value, behind) = read(self.rest?)?;
        self.rest = match behind {
            [b',', rest @ ..] => Some(rest),
            [] => None,
            _ => return None,
        };
        Some(value)
    }

    /// A field that begins with a quote; text may follow its end, as in `"a, b" (17)`.
    #[cold]
    fn quoted(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let mut in_quotes = false;
        let end = rest.iter().position(|&byte| {
            in_quotes ^= byte == b'"';
            byte == b',' && !in_quotes
        });
        self.rest = end.map(|end| &rest[end + 1..]);
        let field = scan::trimmed(&rest[..end.unwrap_or(rest.len())]);
        match field {
            [b'"', inside @ .., b'"'] if !inside.contains(&b'"') => scan::trimmed(inside),
            _ => field,
        }
    }

    /// Checks that there is no further field: nothing if there is one.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.next().is_none().then_some(())
    }
}

impl<'a> Iterator for CommaFields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        // Operations and types are one letter or digit.
        if let [byte, b',', behind @ ..] = rest
            && byte.is_ascii_alphanumeric()
        {
            self.rest = Some(behind);
            return Some(std::slice::from_ref(byte));
        }
        if scan::after_blanks(rest).starts_with(b"\"") {
            return Some(self.quoted(rest));
        }
        let field = match rest.iter().position(|&byte| byte == b',') {
            Some(length) => {
                self.rest = Some(&rest[length + 1..]);
                &rest[..length]
            }
            None => rest,
        };
        Some(scan::trimmed(field))
    }
}

/// Fields between runs of spaces and tabs.
pub(crate) struct BlankFields<'a> {
    rest: &'a [u8],
}

impl<'a> BlankFields<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The next field as a decimal number of 64 bits.
    #[inline]
    pub(crate) fn decimal(&mut self) -> Option<u64> {
        let (number, rest) = scan::leading_decimal(scan::after_blanks(self.rest))?;
        if !matches!(rest, [] | [b' ' | b'\t', ..]) {
            return None;
        }
        self.rest = rest;
        Some(number)
    }

    /// Checks that there is no further field: nothing if there is one.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.next().is_none().then_some(())
    }
}

impl<'a> Iterator for BlankFields<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = scan::after_blanks(self.rest);
        let length =
            rest.iter().position(|&byte| byte == b' ' || byte == b'\t').unwrap_or(rest.len());
        let field;
        (field, self.rest) = rest.split_at(length);
        (length > 0).then_some(field)
    }
}

impl<'a> DoubleEndedIterator for BlankFields<'a> {
    fn next_back(&mut self) -> Option<&'a [u8]> {
        let rest = scan::trimmed(self.rest);
        let start =
            rest.iter().rposition(|&byte| byte == b' ' || byte == b'\t').map_or(0, |end| end + 1);
        let field;
        (self.rest, field) = rest.split_at(start);
        (!field.is_empty()).then_some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_fields_are_trimmed_and_may_be_empty() {
        let fields: Vec<_> = CommaFields::new(b"a, b ,,\t7").collect();
        assert_eq!(fields, [&b"a"[..], b"b", b"", b"7"]);
        assert_eq!(CommaFields::new(b"").count(), 1);
    }

    #[test]
    fn a_comma_in_quotes_ends_no_field() {
        let line = br#"1, "a, b" (17) ,"2", "c,d" ,"#;
        let fields: Vec<_> = CommaFields::new(line).collect();
        assert_eq!(fields, [&b"1"[..], b"\"a, b\" (17)", b"2", b"c,d", b""]);
        let mut numbers = CommaFields::new(br#""12", 13"#);
        assert_eq!([numbers.decimal(), numbers.decimal()], [Some(12), Some(13)]);
    }

    #[test]
    fn blank_fields_are_never_empty_and_can_be_taken_from_both_ends() {
        let mut fields = BlankFields::new(b"  a \t b   c 7 ");
        assert_eq!(fields.next_back(), Some(&b"7"[..]));
        assert_eq!(fields.next(), Some(&b"a"[..]));
        assert_eq!(fields.next_back(), Some(&b"c"[..]));
        assert_eq!(fields.next(), Some(&b"b"[..]));
        assert_eq!((fields.next(), fields.next_back()), (None, None));
    }

    #[test]
    fn times_are_those_of_their_fields() {
        let texts = [
            "0",
            "1.5",
            "1.",
            ".5",
            "1.000000001",
            "1.0000000019",
            " 1.5",
            "1.5 ",
            "1.5x",
            "",
            "x",
            "1..5",
        ];
        let more = [
            "18446744073.709551615",
            "18446744073.709551616",
            "1.99999999999999999999",
            "99999999999999999999",
        ];
        for unit_ns in [1, 1_000, 1_000_000, 1_000_000_000] {
            for text in texts.into_iter().chain(more) {
                let expected = scan::time_ns(scan::trimmed(text.as_bytes()), unit_ns);
                let line = format!("{text},{text}");
                let mut fields = CommaFields::new(line.as_bytes());
                assert_eq!(fields.time_ns(unit_ns), expected, "{text} at {unit_ns}");
                assert_eq!(fields.time_ns(unit_ns), expected, "{text} at {unit_ns}, last");
                assert_eq!(fields.end(), Some(()), "{text} at {unit_ns}");
            }
        }
    }

    #[test]
    fn decimals_end_where_their_field_ends() {
        let mut fields = CommaFields::new(b"12, 13 ,14x,15");
        assert_eq!([fields.decimal(), fields.decimal()], [Some(12), Some(13)]);
        assert_eq!([fields.decimal(), fields.decimal(), fields.decimal()], [None, Some(15), None]);
        let mut fields = CommaFields::new(b"7");
        assert_eq!((fields.decimal(), fields.decimal(), fields.end()), (Some(7), None, Some(())));
        let mut fields = CommaFields::new(b"7,");
        assert_eq!(
            (fields.decimal(), fields.next(), fields.next()),
            (Some(7), Some(&b""[..]), None)
        );
        let mut fields = BlankFields::new(b" 12\t13 14x");
        assert_eq!(
            [fields.decimal(), fields.decimal(), fields.decimal()],
            [Some(12), Some(13), None]
        );
        assert_eq!(BlankFields::new(b"12 ").by_ref().map(<[u8]>::len).sum::<usize>(), 2);
    }
}
