//! Policies in shared libraries of the user's own, as entries beside those of the catalog.
//!
//! A library is loaded once and stays to the end of the process. It is loaded from a copy in memory of a file that only
//! the user and root can write. So the results name the digest of the code that runs.

mod file;
mod host_frames;
mod instance;
mod library;
mod refusal;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clockhand_policy::catalog::{self, Entry};

pub use file::own_code;
use library::Library;
pub use refusal::Refusal;

/// What stands between the file and the policy in a name.
pub const IN_FILE: &str = ".so:";

/// The parameter that tells versions of a library apart; of such entries it is the last.
pub const DIGEST: &str = "sha256";

/// Returns whether a text names a policy of a library, or a library alone.
pub fn is_named(name: &str) -> bool {
    name.contains(IN_FILE) || name.ends_with(".so")
}

/// Loaded policies: each name as it was written, its library and its entry.
static LOADED: Mutex<Loaded> = Mutex::new(Loaded { libraries: Vec::new(), entries: Vec::new() });

struct Loaded {
    libraries: Vec<Library>,
    entries: Vec<(String, &'static Entry)>,
}

/// The entry of `FILE.so:NAME`; its library is loaded if it has not been, or has changed since.
///
/// # Errors
///
/// A sentence that says what is wrong with the file, the library or the name.
pub fn find(name: &str) -> Result<&'static Entry, Refusal> {
    let refused = |wrong: String| Refusal::of(name, wrong);
    let (file, policy) = match name.split_once(IN_FILE) {
        Some((file, policy)) => (format!("{file}.so"), policy),
        None => (name.to_owned(), ""),
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let position = loaded.position_of(Path::new(&file)).map_err(refused)?;
    let library = &loaded.libraries[position];
    let digest = library.digest.clone();
    let newest = loaded.entries.iter().rev().find(|(known, _)| known == name);
    if let Some((_, entry)) = newest
        && library::digest_of(entry) == Some(&digest)
    {
        return Ok(entry);
    }
    let entry = library.entry(name, policy).map_err(refused)?;
    loaded.entries.push((name.to_owned(), entry));
    Ok(entry)
}

/// Loads a library, so that its policies are found by their own names from now on; these names.
///
/// # Errors
///
/// A sentence that says what is wrong with the file, the library or a name.
pub fn use_library(file: &str) -> Result<Vec<&'static str>, Refusal> {
    let refused = |wrong: String| Refusal::of(file, wrong);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let position = loaded.position_of(Path::new(file)).map_err(refused)?;
    let library = &loaded.libraries[position];
    let names: Vec<&'static str> = library.names().collect();
    let mut entries = Vec::new();
    for name in &names {
        if catalog::find(name).is_some() {
            return Err(refused(format!(
                "the catalog has a policy {name:?} too; give that of the library as {file}:{name}"
            )));
        }
        entries.push(((*name).to_owned(), library.entry(name, name).map_err(refused)?));
    }
    loaded.entries.extend(entries);
    Ok(names)
}

/// The entry of a policy whose library is [in use](use_library).
pub fn in_use(name: &str) -> Option<&'static Entry> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let newest = loaded.entries.iter().rev().find(|(known, _)| known == name);
    newest.map(|(_, entry)| *entry)
}

/// The entries that have been found, the newest of each name.
pub fn found() -> Vec<&'static Entry> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut newest: Vec<&(String, &'static Entry)> = Vec::new();
    for pair in &loaded.entries {
        newest.retain(|(name, _)| *name != pair.0);
        newest.push(pair);
    }
    newest.into_iter().map(|(_, entry)| *entry).collect()
}

impl Loaded {
    /// The place of a file's library, loaded now if it has not been.
    fn position_of(&mut self, file: &Path) -> Result<usize, String> {
        let content = file::content(file)?;
        let digest = file::digest(&content);
        let known = self.libraries.iter().position(|library| library.digest == digest);
        if let Some(position) = known {
            return Ok(position);
        }
        self.libraries.push(Library::load(&content, digest)?);
        Ok(self.libraries.len() - 1)
    }
}
