//! What planned cells are, and what their keys know of files.

use std::collections::BTreeMap;
use std::path::Path;

use clockhand_trace::file_sha256_hex;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::SimError;

/// Values by the names of columns or options.
pub type Columns = BTreeMap<String, Value>;

/// All options of a study by their names, as they were given.
pub type Given = Map<String, Value>;

/// A cell before it is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedCell {
    /// The columns that say which cell it is, but for those of the trace: cells with equal keys have equal rows.
    pub key: Columns,
    /// The columns whose text is the user's own: equal cells may be named otherwise.
    pub named: Columns,
}

/// An experiment that makes its cells of a grid.
pub trait Cells {
    /// The length of each dimension of the grid.
    fn lengths(&self) -> Vec<usize>;

    /// Its sizes of memory, each as text that is read as this size.
    fn sizes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether there is a cell at a point; where there is none, that of another point stands for it.
    fn has(&self, _point: &[usize]) -> bool {
        true
    }

    /// Settles options of the cell at a point that mean something else there.
    fn settle(&self, _point: &[usize], _options: &mut Columns) {}

    /// The points with a cell in the order of rows, each a position in every dimension.
    fn points(&self) -> Vec<Vec<usize>> {
        let mut points = vec![Vec::new()];
        for length in self.lengths() {
            let longer = |point: Vec<usize>| {
                (0..length).map(move |position| [&point[..], &[position]].concat())
            };
            points = points.into_iter().flat_map(longer).collect();
        }
        points.retain(|point| self.has(point));
        points
    }
}

/// The only cell of a study without a grid.
pub struct OneCell;

impl Cells for OneCell {
    fn lengths(&self) -> Vec<usize> {
        Vec::new()
    }
}

/// Digests of files, each read once.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<String, Option<String>>);

impl Files {
    /// A file's digest in the place of its name; anything else as it is.
    pub(crate) fn known_by(&mut self, value: Value) -> Result<Value, SimError> {
        let Value::String(text) = value else { return Ok(value) };
        let known = self.sha256(&text)?.map(|digest| {
            let settings = text.strip_prefix(file_of(&text)).unwrap_or_default();
            format!("sha256 {digest}{settings}")
        });
        Ok(Value::String(known.unwrap_or(text)))
    }

    /// The digest of the file that a text names, perhaps with options; `None` if it names none.
    pub(crate) fn sha256(&mut self, text: &str) -> Result<Option<String>, SimError> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let file = Path::new(file_of(text));
        let digest = file.is_file().then(|| file_sha256_hex(file)).transpose()?;
        Ok(self.0.entry(text.to_owned()).or_insert(digest).clone())
    }
}

/// The file in a text, as far as there is one: behind its last colon are options, if it is no file with them.
fn file_of(text: &str) -> &str {
    match Path::new(text).is_file() {
        true => text,
        false => text.rsplit_once(':').map_or("", |(file, _)| file),
    }
}
