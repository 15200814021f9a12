//! What studies declare of themselves.

use clockhand_sim::{Domain, OTHER_TABLES, ReadingOptions, STUDIES, StudyOption};

/// The options of every study, and those of reading traces.
fn options() -> impl Iterator<Item = (&'static str, &'static [StudyOption])> {
    let of_studies = STUDIES.into_iter().map(|study| (study.name, study.options));
    of_studies.chain([("reading", ReadingOptions::OPTIONS)])
}

#[test]
fn every_option_has_a_name_of_its_own_and_says_what_it_means() {
    for (study, options) in options() {
        for (position, option) in options.iter().enumerate() {
            let others = &options[..position];
            assert!(others.iter().all(|other| other.name != option.name), "{study}: {option:?}");
            assert!(option.help.trim_end().ends_with('.'), "{study}: {option:?}");
        }
    }
}

#[test]
fn a_default_is_in_the_domain_of_its_option() {
    for (study, options) in options() {
        for option in options {
            let Some(default) = option.default else { continue };
            let fits = match option.domain {
                Domain::Word { words } => words.contains(&default),
                Domain::Whole { least, most } => {
                    default.parse().is_ok_and(|value| (least..=most).contains(&value))
                }
                Domain::Flag => false,
                _ => true,
            };
            assert!(fits, "{study}: {option:?}");
        }
    }
}

#[test]
fn every_column_has_a_name_of_its_own_and_says_what_it_means() {
    let rows = STUDIES.map(|study| (study.name, study.columns));
    for (table, columns) in rows.iter().chain(OTHER_TABLES) {
        for (position, column) in columns.iter().enumerate() {
            let others = &columns[..position];
            assert!(others.iter().all(|other| other.name != column.name), "{table}: {column:?}");
            assert!(column.doc.trim_end().ends_with('.'), "{table}: {column:?}");
        }
    }
}
