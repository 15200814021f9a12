//! A library that is loaded, and the entries of its policies.

use std::ffi::{CStr, CString};
use std::os::fd::{IntoRawFd, OwnedFd};

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Description, Entry, Kind};
use clockhand_policy::parameters::{Default, Domain, Parameter};
use clockhand_policy_library::abi;

use crate::DIGEST;
use crate::file::sealed_copy;
use crate::instance::Maker;

/// A library that says it has more has another interface.
const MOST_POLICIES: u32 = 1000;
const MOST_PARAMETERS: u32 = 1000;
const MOST_TEXT_BYTES: usize = 1 << 20;

/// A library, which is never unloaded.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) digest: String,
    policies: &'static [abi::Policy],
}

impl Library {
    /// Loads a library from its content.
    pub(crate) fn load(content: &[u8], digest: String) -> Result<Self, String> {
        if !content.starts_with(b"\x7fELF") {
            return Err("it is no shared library; build one with: clockhand new-policy".to_owned());
        }
        let copy = sealed_copy(content);
        let copy = copy.map_err(|error| format!("no copy of it fits into memory ({error})"))?;
        let table = opened(copy)?;
        // SAFETY: the version is the first field in every version, and the table stays as it is.
        let version = unsafe { (*table).version };
        if version != abi::VERSION {
            return Err(format!(
                "it was built for version {version} of the interface, and this Clockhand has version {}; build it with \
                 clockhand-policy-library {}",
                abi::VERSION,
                env!("CARGO_PKG_VERSION")
            ));
        }
        // SAFETY: it is a table of this version.
        let abi::Library { policy_count, policies, .. } = unsafe { &*table };
        if *policy_count == 0 || *policy_count > MOST_POLICIES || policies.is_null() {
            return Err("it has no policies; export them with: export! { ... }".to_owned());
        }
        // SAFETY: the table says how many there are, and that they stay.
        let policies = unsafe { std::slice::from_raw_parts(*policies, *policy_count as usize) };
        policies.iter().try_for_each(|policy| text(policy.name).map(drop))?;
        Ok(Library { digest, policies })
    }

    /// The names of its policies.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.policies.iter().filter_map(|policy| text(policy.name).ok())
    }

    /// An entry for the policy `word`, under the name that the user wrote.
    pub(crate) fn entry(&self, name: &str, word: &str) -> Result<&'static Entry, String> {
        let Some(position) = self.names().position(|known| known == word) else {
            let names: Vec<&str> = self.names().collect();
            return Err(match word {
                "" => format!(
                    "it names no policy; give FILE.so:NAME, there are: {}",
                    names.join(", ")
                ),
                _ => format!("the library has no policy {word:?}; there are: {}", names.join(", ")),
            });
        };
        let policy = &self.policies[position];
        let kind = match policy.kind {
            abi::BIT_DRIVEN => Kind::BitDriven,
            abi::ACCESS_DRIVEN => Kind::AccessDriven,
            other => {
                return Err(format!("its kind is {other}, which there is not; build it again"));
            }
        };
        let page: String = text(policy.page)?.lines().map(|line| format!("//! {line}\n")).collect();
        let entry = Entry {
            description: Description {
                name: kept(name.to_owned()),
                summary: text(policy.summary)?,
                paper: text(policy.paper)?,
                parameters: self.parameters(policy)?.leak(),
                source: kept(page),
            },
            kind,
            can_peek: false,
            own: None,
        };
        let name = entry.description.name;
        Ok(Box::leak(Box::new(Entry {
            own: Some(Box::leak(Box::new(Maker { name, policy }))),
            ..entry
        })))
    }

    fn parameters(&self, policy: &abi::Policy) -> Result<Vec<Parameter>, String> {
        let given = match policy.parameter_count {
            0 => &[],
            count if count > MOST_PARAMETERS || policy.parameters.is_null() => {
                return Err("its parameters cannot be; build it again".to_owned());
            }
            // SAFETY: the table says how many there are.
            count => unsafe { std::slice::from_raw_parts(policy.parameters, count as usize) },
        };
        let mut parameters: Vec<Parameter> =
            given.iter().map(parameter).collect::<Result<_, _>>()?;
        if parameters.iter().any(|parameter| parameter.name == DIGEST) {
            return Err(format!(
                "{DIGEST} is kept for the digest of the library; give the parameter another name"
            ));
        }
        let digest = kept(self.digest.clone());
        parameters.push(Parameter {
            name: DIGEST,
            summary: "which version of the library it is; checks it if given",
            domain: Domain::Choice(Box::leak(Box::new([digest]))),
            default: Default::Value(digest),
            only_with: None,
        });
        Ok(parameters)
    }
}

/// The digest of the library that an entry of this crate is from.
pub(crate) fn digest_of(entry: &Entry) -> Option<&'static str> {
    let parameters = entry.description.parameters.last()?;
    match parameters.default {
        Default::Value(digest) if parameters.name == DIGEST => Some(digest),
        _ => None,
    }
}

/// The table of a library in a file that stays open, so that no other is ever loaded under its name.
fn opened(copy: OwnedFd) -> Result<*const abi::Library, String> {
    let path = format!("/proc/self/fd/{}", copy.into_raw_fd());
    let path = CString::new(path).expect("it has no zero byte");
    // SAFETY: the path is a string of C. Code of the library runs: the user named it for that.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(format!("it cannot be loaded ({}); build it for this machine", last_error()));
    }
    // SAFETY: the handle is that of a library that stays loaded.
    let entrance = unsafe { libc::dlsym(handle, abi::SYMBOL.as_ptr()) };
    if entrance.is_null() {
        return Err("it exports no policies; write one with: clockhand new-policy".to_owned());
    }
    // SAFETY: this name is kept for a function of this type.
    let table = unsafe { std::mem::transmute::<*mut libc::c_void, abi::Entrance>(entrance)() };
    if table.is_null() {
        Err("it gives no table of policies; build it again".to_owned())
    } else {
        Ok(table)
    }
}

fn last_error() -> String {
    // SAFETY: the text stays until the next call of such a function in this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A text of the library's.
fn text(given: abi::Text) -> Result<&'static str, String> {
    if given.length == 0 {
        return Ok("");
    }
    if given.start.is_null() || given.length > MOST_TEXT_BYTES {
        return Err("one of its texts cannot be; build it again".to_owned());
    }
    // SAFETY: the library says how many bytes it has, and that they stay.
    let bytes = unsafe { std::slice::from_raw_parts(given.start, given.length) };
    str::from_utf8(bytes).map_err(|_| "one of its texts is not UTF-8; build it again".to_owned())
}

fn parameter(given: &abi::Parameter) -> Result<Parameter, String> {
    let name = text(given.name)?;
    let wrong = || format!("its parameter {name} cannot be; build it again");
    let ratio = |fraction: abi::Fraction| {
        Ratio::new(fraction.numerator.into(), fraction.denominator.into()).map_err(|_| wrong())
    };
    let words = text(given.words)?;
    let domain = match given.domain {
        abi::COUNT => Domain::Count { min: given.least.numerator, max: given.most.numerator },
        abi::RATIO => {
            let max = (given.most.denominator != 0).then(|| ratio(given.most)).transpose()?;
            Domain::Ratio { min: ratio(given.least)?, max }
        }
        abi::CHOICE => Domain::Choice(words.split(',').collect::<Vec<_>>().leak()),
        abi::FLAG => Domain::Flag,
        _ => return Err(wrong()),
    };
    let number = u32::try_from(given.default_number).map_err(|_| wrong())?;
    let default = match given.default {
        abi::VALUE => Default::Value(text(given.default_value)?),
        abi::DEVICE_RATIO => Default::DeviceRatio,
        abi::FRAMES_OVER if number > 0 => Default::FramesOver(number),
        abi::FRAMES_TIMES => Default::FramesTimes(number),
        abi::QUARTER_OF_FRAMES if number > 0 => Default::QuarterOfFrames { most: number },
        abi::SEED => Default::Seed,
        abi::INSTEAD_OF => Default::InsteadOf(text(given.default_value)?),
        _ => return Err(wrong()),
    };
    let only_with = match text(given.only_with)? {
        "" => None,
        other => Some((other, text(given.only_with_value)?)),
    };
    Ok(Parameter { name, summary: text(given.summary)?, domain, default, only_with })
}
