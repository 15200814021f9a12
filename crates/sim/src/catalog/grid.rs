//! Which cells a study has, before any is run, each with the key that a dataset knows it by.
//!
//! Lists of options are combined in the order of the study's grid. The key of a cell is all of its options as they were
//! given, as one JSON text. Page policies are known by columns instead: by what their options come to on a trace.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Formatter;

use super::tables;
use crate::columns::{ColumnKind, column_of};
use crate::declaration::StudyDeclaration;
use crate::error::SimError;
use crate::memory_size::parse_page_bytes;
use crate::options::{Domain, StudyOption};
use crate::pages::{KEY_COLUMNS, PagesOptions, Row, key_options};
use crate::study::{Cells, Columns, Files, Given, PlannedCell};

/// The column of a cell's key.
const KEY: &str = "cell";

/// Options that may name a file, which keys know by its content, and columns of rows.
pub const FILE_OPTIONS: [&str; 5] = ["ssd", "device", "file_device", "tiers", "storage"];

impl StudyDeclaration {
    /// The options that hold lists, of which cells are made.
    pub fn listed(self) -> impl Iterator<Item = &'static str> {
        self.dimensions.iter().flat_map(|dimension| dimension.split(['|', '*']))
    }

    /// The columns of a cell's key.
    pub fn key_columns(self) -> &'static [&'static str] {
        if self.is_of_pages() { &KEY_COLUMNS } else { &[KEY] }
    }

    /// Options that are columns of the key behind those.
    pub fn key_options(self) -> impl Iterator<Item = &'static StudyOption> {
        let is_kept = move |option: &&StudyOption| {
            self.is_of_pages() && key_options().any(|name| name == option.name)
        };
        PagesOptions::OPTIONS.iter().filter(is_kept)
    }

    /// What a dataset keeps of a cell, in order; columns of the study's rows may be among them.
    pub fn kept_columns(self) -> Vec<(&'static str, ColumnKind)> {
        let options = self.key_options().map(|option| (option.name, kept_as(option.domain)));
        let interval = column_of(Row::COLUMNS, "interval");
        let of_cell = tables::Dataset::COLUMNS.iter().flat_map(|column| {
            let names = match column.name == KEY {
                true => self.key_columns(),
                false => std::slice::from_ref(&column.name),
            };
            names.iter().map(|name| (*name, column.kind))
        });
        options.chain([(interval.name, interval.kind)]).chain(of_cell).collect()
    }

    fn is_of_pages(self) -> bool {
        self.name == "pages"
    }

    /// The columns by which rows of a dataset are sorted, those of the key's options behind the device.
    pub fn order(self) -> Vec<&'static str> {
        let shared = if self.is_of_pages() { 2 } else { self.order.len() };
        let options = self.key_options().map(|option| option.name);
        let (first, last) = self.order.split_at(shared);
        first.iter().copied().chain(options).chain(last.iter().copied()).collect()
    }

    /// The cells of an experiment that was made of these options, in the order of its rows on any trace.
    ///
    /// # Errors
    ///
    /// A file that is named cannot be read.
    pub fn plan(
        self,
        given: &Given,
        experiment: &impl Cells,
    ) -> Result<Vec<PlannedCell>, SimError> {
        let mut files = Files::default();
        let items = |dimension: &&str| items_of(dimension, given, &|| experiment.sizes());
        let dimensions: Vec<Vec<Columns>> = self.dimensions.iter().map(items).collect();
        let listed: Vec<&str> = self.listed().collect();
        let is_single = |(name, _): &(&String, &Value)| !listed.contains(&name.as_str());
        let single: Columns = given
            .iter()
            .filter(is_single)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let cell = |point: Vec<usize>| {
            let mut options = single.clone();
            for (items, &position) in dimensions.iter().zip(&point) {
                options.extend(items[position].clone());
            }
            experiment.settle(&point, &mut options);
            // Cells know their page size in bytes, however it was written.
            if let Some(Value::String(size)) = options.get_mut("page_size") {
                *size = parse_page_bytes(size)?.to_string();
            }
            Ok(PlannedCell { named: self.named(&options), key: self.key(options, &mut files)? })
        };
        experiment.points().into_iter().map(cell).collect()
    }

    /// All options of a cell as one text.
    fn key(self, options: Columns, files: &mut Files) -> Result<Columns, SimError> {
        let is_left_out = |name: &str, value: &Value| {
            value.is_null() || self.newer.contains(&name) && *value == Value::Bool(false)
        };
        let mut known = Columns::new();
        for (name, value) in options {
            if !is_left_out(&name, &value) {
                known.insert(name, files.known_by(value)?);
            }
        }
        Ok(Columns::from([(KEY.to_owned(), spaced_json(&known).into())]))
    }

    /// The texts of options that are columns of the study's rows and may name a file.
    fn named(self, options: &Columns) -> Columns {
        let is_column = |name: &&str| self.columns.iter().any(|column| column.name == *name);
        let text = |name: &str| options.get(name).filter(|value| !value.is_null());
        let named = FILE_OPTIONS.into_iter().filter(is_column).filter_map(|name| {
            let or_that_of_pages = || text("device").filter(|_| name == "file_device");
            Some((name.to_owned(), text(name).or_else(or_that_of_pages)?.clone()))
        });
        named.collect()
    }
}

/// What a column of a dataset holds that keeps an option.
fn kept_as(domain: Domain) -> ColumnKind {
    match domain {
        Domain::Flag => ColumnKind::Bool,
        Domain::Whole { .. } => ColumnKind::U64,
        _ => ColumnKind::Text,
    }
}

/// The items of a dimension, each with the options that it sets.
fn items_of(dimension: &str, given: &Given, sizes: &impl Fn() -> Vec<String>) -> Vec<Columns> {
    let mut items = vec![Columns::new()];
    for joined in dimension.split('*') {
        let of_given = |name| Some((name, values_of(given.get(name)?, sizes)?));
        let found = joined.split('|').find_map(of_given);
        let (name, values) = found.unwrap_or((joined, vec![Value::Null]));
        let with = |item: &Columns, value: &Value| {
            let mut item = item.clone();
            item.insert(name.to_owned(), value.clone());
            item
        };
        items =
            items.iter().flat_map(|item| values.iter().map(|value| with(item, value))).collect();
    }
    items
}

/// The values of a list that cells are made of, if there are any; sizes are one text, with ranges.
fn values_of(given: &Value, sizes: &impl Fn() -> Vec<String>) -> Option<Vec<Value>> {
    match given {
        Value::Array(values) if !values.is_empty() => Some(values.clone()),
        Value::String(text) if !text.is_empty() => {
            Some(sizes().into_iter().map(Value::String).collect())
        }
        _ => None,
    }
}

/// JSON in one line with a space after each comma and colon, as datasets have it.
fn spaced_json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Spaced);
    value.serialize(&mut serializer).expect("values of JSON are written to memory");
    String::from_utf8(text).expect("JSON is text")
}

struct Spaced;

impl Spaced {
    fn separate<W: ?Sized + std::io::Write>(writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
}

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two sizes and two policies, of which one has no cell of the second size.
    struct Sizes;

    impl Cells for Sizes {
        fn lengths(&self) -> Vec<usize> {
            vec![2, 2]
        }

        fn sizes(&self) -> Vec<String> {
            vec!["8".to_owned(), "9".to_owned()]
        }

        fn has(&self, point: &[usize]) -> bool {
            point != [1, 1]
        }
    }

    fn given(options: Value) -> Given {
        options.as_object().unwrap().clone()
    }

    #[test]
    fn cells_are_known_by_all_options_but_unset_ones() {
        let options = json!({
            "frames": "8..9", "memory": null, "policy": ["lru", "clock"], "seed": 3, "file_device": null,
            "device": "hdd", "flush_at_end": false, "zero_clean": "drop",
        });
        let plan = crate::pagecache::STUDY.plan(&given(options), &Sizes).unwrap();
        let texts: Vec<&str> = plan.iter().map(|cell| cell.key["cell"].as_str().unwrap()).collect();
        let text = |frames, policy| {
            format!(
                "{{\"device\": \"hdd\", \"frames\": \"{frames}\", \"policy\": \"{policy}\", \"seed\": 3, \
                 \"zero_clean\": \"drop\"}}"
            )
        };
        assert_eq!(texts, [text(8, "lru"), text(8, "clock"), text(9, "lru")]);
        assert_eq!(
            plan[0].named,
            given(json!({"device": "hdd", "file_device": "hdd"})).into_iter().collect()
        );
    }

    #[test]
    fn a_dimension_may_join_lists_or_have_alternatives() {
        let options = given(
            json!({"tlb": ["8", "16"], "tlb2": ["32", "64"], "device": ["hdd"], "ratio": []}),
        );
        let items = |dimension| items_of(dimension, &options, &Vec::new);
        let joined =
            |tlb, tlb2| given(json!({"tlb": tlb, "tlb2": tlb2})).into_iter().collect::<Columns>();
        let all = [("8", "32"), ("8", "64"), ("16", "32"), ("16", "64")];
        assert_eq!(items("tlb*tlb2"), all.map(|(tlb, tlb2)| joined(tlb, tlb2)));
        assert_eq!(items("ratio|device"), [Columns::from([("device".to_owned(), json!("hdd"))])]);
        assert_eq!(items("promote"), [Columns::from([("promote".to_owned(), Value::Null)])]);
    }

    #[test]
    fn keys_are_written_as_python_writes_json() {
        let value = json!({"b": [1, true, null], "a": "é \" \n \u{7f} \u{1}"});
        let text = "{\"a\": \"é \\\" \\n \u{7f} \\u0001\", \"b\": [1, true, null]}";
        assert_eq!(spaced_json(&value), text);
    }
}
