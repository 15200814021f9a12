//! A line of the text format `events`, as the twin reads it.

/// What a line says.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) time_ns: Option<u64>,
    pub(super) word: String,
    pub(super) object: String,
    pub(super) numbers: Vec<u64>,
}

impl Line {
    pub(super) fn of(text: &str) -> Line {
        let mut words = text.split_whitespace().peekable();
        let mut time_ns = None;
        if words.peek().is_some_and(|word| word.starts_with('@')) {
            let seconds: f64 = words.next().unwrap()[1..].parse().unwrap();
            time_ns = Some((seconds * 1e9).round() as u64);
        }
        let word = words.next().unwrap().to_owned();
        let object = words.next().unwrap().to_owned();
        let number = |word: &str| match word.strip_suffix('p') {
            Some(pages) => pages.parse::<u64>().unwrap() * 4096,
            None => word.parse().unwrap(),
        };
        Line { time_ns, word, object, numbers: words.map(number).collect() }
    }

    /// The numbers of the pages that the line refers to.
    pub(super) fn pages(&self) -> Vec<u64> {
        match (self.word.as_str(), self.numbers.as_slice()) {
            ("mr" | "mw" | "cr" | "cw" | "dr" | "dw", &[offset, size, ..]) if size > 0 => {
                (offset / 4096..=(offset + size - 1) / 4096).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether the second number, where there is one, is a size of 0.
    pub(super) fn is_of_size_zero(&self) -> bool {
        self.numbers.get(1) == Some(&0)
    }

    pub(super) fn refers(&self) -> bool {
        matches!(self.word.as_str(), "mr" | "mw" | "cr" | "cw")
    }
}
