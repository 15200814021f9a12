//! Parameter values from text.

use num_rational::Ratio;

use crate::visibility::Visibility;

/// Parameters as given, and which of them the policy has asked for.
pub(crate) struct Parameters<'a> {
    policy: &'a str,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(policy: &'a str, given: &[(&'a str, &'a str)]) -> Parameters<'a> {
        Parameters { policy, given: given.to_vec() }
    }

    /// Takes the value of `name`, if given.
    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        let index = self.given.iter().position(|(given, _)| *given == name)?;
        Some(self.given.remove(index).1)
    }

    pub(crate) fn integer(&mut self, name: &str) -> Option<usize> {
        let value = self.text(name)?;
        let integer = value.parse();
        Some(integer.unwrap_or_else(|_| panic!("`{name}={value}` must be a whole number")))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.text(name)? {
            "0" | "false" => Some(false),
            "1" | "true" => Some(true),
            value => panic!("`{name}={value}` must be true or false"),
        }
    }

    /// An exact rational, written `8`, `13.3` or `1/3`.
    pub(crate) fn rational(&mut self, name: &str) -> Option<Ratio<i128>> {
        let value = self.text(name)?;
        let rational = parse_rational(value);
        Some(rational.unwrap_or_else(|| panic!("`{name}={value}` must read like 8, 13.3 or 1/3")))
    }

    /// The index of the value among the `choices`; the first one is the default.
    pub(crate) fn choice(&mut self, name: &str, choices: &[&str]) -> usize {
        let Some(value) = self.text(name) else {
            return 0;
        };
        let index = choices.iter().position(|choice| *choice == value);
        index.unwrap_or_else(|| panic!("`{name}={value}` must be one of {choices:?}"))
    }

    /// A window in pages: `window_pages`, or floor(`window_share` × S), default share 1/3; clamped to
    /// [0, S].
    pub(crate) fn window_pages(&mut self, frames: usize) -> usize {
        let pages = self.integer("window_pages");
        let share = self.rational("window_share");
        assert!(pages.is_none() || share.is_none(), "give window_pages or window_share, not both");
        let share = share.unwrap_or(Ratio::new(1, 3));
        assert!(share >= Ratio::from(0), "`window_share` must not be negative");
        let from_share = (share * frames as i128).to_integer() as usize;
        pages.unwrap_or(from_share).min(frames)
    }

    /// The share `name` of `whole` pages, rounded down; `default` is a numerator and a denominator.
    pub(crate) fn share(&mut self, name: &str, default: (i128, i128), whole: usize) -> usize {
        let share = self.rational(name).unwrap_or(Ratio::new(default.0, default.1));
        assert!(
            share >= Ratio::from(0) && share <= Ratio::from(1),
            "`{name}` must be a share, from 0 to 1"
        );
        (share * whole as i128).to_integer() as usize
    }

    /// Which accesses set bits: `bits=exact`, `bits=mapped` or `bits=sensed`.
    pub(crate) fn visibility(&mut self) -> Visibility {
        match self.choice("bits", &["exact", "mapped", "sensed"]) {
            0 => Visibility::Exact,
            1 => Visibility::Mapped,
            _ => Visibility::Sensed,
        }
    }

    pub(crate) fn expect_all_taken(&self) {
        if let Some((name, _)) = self.given.first() {
            panic!("policy `{}` takes no parameter `{name}`", self.policy);
        }
    }
}

fn parse_rational(text: &str) -> Option<Ratio<i128>> {
    if let Some((numerator, denominator)) = text.split_once('/') {
        let (numerator, denominator) = (numerator.parse().ok()?, denominator.parse().ok()?);
        return (denominator > 0).then(|| Ratio::new(numerator, denominator));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(Ratio::new(digits, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rationals_are_read_exactly() {
        assert_eq!(parse_rational("8"), Some(Ratio::from(8)));
        assert_eq!(parse_rational("13.3"), Some(Ratio::new(133, 10)));
        assert_eq!(parse_rational("1/3"), Some(Ratio::new(1, 3)));
        assert_eq!(parse_rational("1/0"), None);
        assert_eq!(parse_rational("eight"), None);
    }

    #[test]
    fn a_share_of_the_frames_is_rounded_down_and_clamped() {
        let window = |given: &[(&str, &str)]| Parameters::new("cflru", given).window_pages(8);
        assert_eq!(window(&[]), 2);
        assert_eq!(window(&[("window_share", "0.5")]), 4);
        assert_eq!(window(&[("window_share", "2")]), 8);
        assert_eq!(window(&[("window_pages", "9")]), 8);
    }
}
