//! The options of a study, declared once: the struct that the engine takes is also what the command's help, the signatures
//! and texts of Python's functions and the keys of experiments are made of.

use clockhand_policy::parameters::one_of;
use clockhand_quantity::option;
use serde::Serialize;

use crate::error::SimError;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Domain {
    /// Text, which the study reads.
    Text,
    /// One of these words.
    Word {
        /// The words.
        words: &'static [&'static str],
    },
    /// A whole number.
    Whole {
        /// The least.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number, perhaps with a unit, that is exact as text; or a word in its place.
    Number,
    /// Yes or no.
    Flag,
    /// Yes, no, or as it usually is if not given.
    Answer,
    /// Sizes, shares and ranges in one text with commas.
    Sizes,
    /// A list, a text per item.
    List,
    /// A list of names with parameters; a pattern stands for all names that match it.
    Names {
        /// What there is: `policies`, `devices`, `write_buffers`, `ssds`, `admissions`, `readings` or `arrivals`.
        of: &'static str,
    },
    /// A device or the file of one.
    Device,
    /// A file or folder.
    File,
    /// A trace format, or the columns of a table.
    Format,
}

/// An option of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StudyOption {
    /// Its name, with underscores; the command has hyphens.
    pub name: &'static str,
    /// Its name as an argument of Python's functions.
    pub keyword: &'static str,
    /// Its name in the file of an experiment.
    pub key: &'static str,
    /// True if a call has to give it.
    pub required: bool,
    /// What it takes.
    #[serde(flatten)]
    pub domain: Domain,
    /// The default as users write it; `None` for none.
    pub default: Option<&'static str>,
    /// What it means: a paragraph for the command's help and, where Python says it in other words, one for Python. Lines
    /// begin with a space.
    pub help: &'static str,
}

/// A type that a field of the options may have.
pub(crate) trait OptionValue {
    /// The value of a default as users write it.
    fn of_default(text: Option<&'static str>) -> Self;
}

impl OptionValue for String {
    fn of_default(text: Option<&'static str>) -> Self {
        text.unwrap_or_default().to_owned()
    }
}

impl OptionValue for Vec<String> {
    fn of_default(text: Option<&'static str>) -> Self {
        text.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }
}

impl OptionValue for bool {
    fn of_default(_: Option<&'static str>) -> Self {
        false
    }
}

impl OptionValue for u32 {
    fn of_default(text: Option<&'static str>) -> Self {
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

impl OptionValue for u64 {
    fn of_default(text: Option<&'static str>) -> Self {
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn of_default(text: Option<&'static str>) -> Self {
        text.map(|text| T::of_default(Some(text)))
    }
}

/// Declares the options of a study: the struct, its default, and its `OPTIONS` in the order of the fields.
///
/// The first paragraph of a field's doc comment is the command's help; the second, if there is one, is what Python's
/// help says instead. Write `as "policies"` for its name in Python and in experiments, `in "page_sizes"` for that in
/// experiments alone, and `required` if a call has to give it. The line `grid of "policies";` stands for the options of
/// every grid of policies, memory sizes and a device. Every study has a warm-up and intervals beside its own; what is
/// `@declared` has not.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        pub struct $options:ident {
            grid of $names:literal;
            $($others:tt)*
        }
    ) => {
        $crate::options::options! {
            $(#[doc = $about])+
            pub struct $options {
                /// NAME or NAME:parameter=value,...; several with commas, all, or a pattern such as 'clock*'. See: clockhand policies.
                ///
                /// Names with parameters, such as ``"craw:c=8,ghosts=literal"``; lists with commas, ``"all"`` and
                /// patterns such as ``"clock*"`` too.
                policy as "policies", required: Vec<String> = $crate::options::Domain::Names { of: $names };
                /// Page frames, such as 64,128.
                ///
                /// Memory sizes in page frames, at least 1.
                frames: Option<String> = $crate::options::Domain::Sizes;
                /// Shares of the footprint or sizes, such as 5%,20%,64MiB or 1%..100%.
                ///
                /// Memory sizes as shares of the footprint (``0.05``, ``"5%"``, ``"1%..100%"``) or in bytes
                /// (``"64MiB"``). Give either this or ``frames``.
                memory: Option<String> = $crate::options::Domain::Sizes;
                /// Page size in bytes, a power of two.
                ///
                /// Bytes, a power of two, or text such as ``"4KiB"``.
                page_size in "page_sizes": String = $crate::options::Domain::Number, "4KiB";
                /// NAME[:option=value,...] or FILE.toml. See: clockhand devices.
                ///
                /// Name with options, such as ``"scm:ratio=100"``, or a TOML file.
                device in "devices": String = $crate::options::Domain::Device, "slc-nand";
                $($others)*
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        pub struct $options:ident {
            $($fields:tt)+
        }
    ) => {
        $crate::options::options! {
            @declared
            $(#[doc = $about])+
            pub struct $options {
                $($fields)+
                /// Count only after this number of references (10000), share of them (20%) or time (10s), so that memory
                /// is filled before.
                ///
                /// Counts begin after this number of references, share of them (``"20%"``) or time (``"10s"``), so that
                /// memory is filled before.
                warm_up: Option<String> = $crate::options::Domain::Number;
                /// A row for each interval of references (10000) or of trace time (10ms, 2.5s), instead of one for the
                /// trace.
                ///
                /// A row for each interval, in references or in the trace's time (``"10ms"``), instead of one for
                /// the trace; ``cells`` of the result has those.
                every: Option<String> = $crate::options::Domain::Number;
            }
        }

        impl $options {
            /// From where counts are taken, and whether for each interval too.
            pub(crate) fn intervals(&self) -> Result<$crate::intervals::Intervals, $crate::error::SimError> {
                $crate::intervals::Intervals::parse(self.warm_up.as_deref(), self.every.as_deref())
            }
        }
    };
    (
        @declared
        $(#[doc = $about:literal])+
        pub struct $options:ident {
            $(
                $(#[doc = $doc:literal])+
                $name:ident $(as $keyword:literal)? $(in $key:literal)? $(, $required:ident)?: $value:ty
                    = $domain:expr $(, $default:literal)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        // The text is the command's help: its brackets are around what can be left out, and link to nothing.
        #[allow(rustdoc::broken_intra_doc_links)]
        pub struct $options {
            $( $(#[doc = $doc])+ pub $name: $value, )+
        }

        impl Default for $options {
            fn default() -> Self {
                $options {
                    $( $name: $crate::options::OptionValue::of_default(
                        $crate::options::options!(@default $($default)?),
                    ), )+
                }
            }
        }

        impl $options {
            /// The options, in the order of the fields.
            pub const OPTIONS: &'static [$crate::options::StudyOption] = &[$(
                $crate::options::StudyOption {
                    name: stringify!($name),
                    keyword: $crate::options::options!(@first $($keyword,)? stringify!($name)),
                    key: $crate::options::options!(@first $($key,)? $($keyword,)? stringify!($name)),
                    required: $crate::options::options!(@is $($required)?),
                    domain: $domain,
                    default: $crate::options::options!(@default $($default)?),
                    help: concat!($($doc, "\n"),+),
                },
            )+];
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@first $first:expr $(, $others:expr)*) => { $first };
    (@is) => { false };
    (@is required) => { true };
}

pub(crate) use options;

/// One of some words, of the option of this name.
///
/// # Errors
///
/// It is none of them.
pub fn choose<T: Copy, const N: usize>(
    name: &'static str,
    word: &str,
    choices: [(&str, T); N],
) -> Result<T, SimError> {
    let chosen = choices.iter().find(|(choice, _)| *choice == word);
    chosen.map(|&(_, value)| value).ok_or_else(|| {
        let words = choices.map(|(choice, _)| choice);
        SimError::usage(
            option(name) + format!(" {word:?} is unknown"),
            format!("give {}", one_of(&words)),
        )
    })
}
