//! Reads `NAME[:option=value,...]`, where NAME is a built-in device or a path.

use std::path::Path;

use crate::error::DeviceError;

/// The user's words, before any profile is read.
pub(crate) struct Selection<'a> {
    /// A built-in name or a path.
    pub(crate) target: &'a str,
    /// Options in the order given.
    pub(crate) options: Vec<(&'a str, &'a str)>,
}

impl<'a> Selection<'a> {
    /// Splits off the options. A path may hold a colon itself, so only a last part with `=` in it, or
    /// one after something that is not a file, counts as options.
    pub(crate) fn parse(text: &'a str) -> Result<Self, DeviceError> {
        let whole = Selection { target: text, options: Vec::new() };
        let Some((target, options)) = text.rsplit_once(':') else {
            return Ok(whole);
        };
        let is_path =
            Path::new(text).is_file() || (!options.contains('=') && has_toml_extension(text));
        if is_path {
            return Ok(whole);
        }
        let options = parse_options(target, options)?;
        Ok(Selection { target, options })
    }

    /// Returns whether the target, which is not a built-in name, is meant as a file.
    pub(crate) fn is_file(&self) -> bool {
        has_toml_extension(self.target) || Path::new(self.target).is_file()
    }
}

fn has_toml_extension(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "toml")
}

pub(crate) fn parse_options<'a>(
    device: &str,
    text: &'a str,
) -> Result<Vec<(&'a str, &'a str)>, DeviceError> {
    let fault = |problem| DeviceError::Option { device: device.to_owned(), problem };
    let mut options: Vec<(&str, &str)> = Vec::new();
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=') else {
            return Err(fault(format!("'{part}' is not an option, write it as option=value")));
        };
        if options.iter().any(|(known, _)| *known == key) {
            return Err(fault(format!("option {key} is given twice, keep one")));
        }
        options.push((key, value));
    }
    Ok(options)
}
