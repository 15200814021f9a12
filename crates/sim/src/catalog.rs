//! What there is: the options of every study, and the columns of every table.

mod grid;
mod tables;

pub use grid::Grid;

use crate::columns::Column;
use crate::options::StudyOption;

/// The options of every study, by the name of the study, and those of reading traces.
pub const OPTIONS: &[(&str, &[StudyOption])] = &[
    ("pages", crate::pages::PagesOptions::OPTIONS),
    ("ssd", crate::ssd::SsdOptions::OPTIONS),
    ("translate", crate::translate::TranslateOptions::OPTIONS),
    ("filecache", crate::filecache::FileCacheOptions::OPTIONS),
    ("pagecache", crate::pagecache::PageCacheSettings::OPTIONS),
    ("tier", crate::tier::TierOptions::OPTIONS),
    ("locality", crate::locality::LocalityOptions::OPTIONS),
    ("reading", crate::reading::ReadingOptions::OPTIONS),
];

/// The columns of every table, by its name: that of its study, if these are the rows of the study.
pub const TABLES: &[(&str, &[Column])] = &[
    ("pages", crate::pages::Row::COLUMNS),
    ("pages gauges", tables::Gauges::COLUMNS),
    ("pages situations", tables::Situations::COLUMNS),
    ("ssd", crate::ssd::SsdRow::COLUMNS),
    ("ssd wear", tables::SsdWear::COLUMNS),
    ("ssd classes", tables::SsdClasses::COLUMNS),
    ("ssd moments", tables::SsdMoments::COLUMNS),
    ("ssd parts", tables::SsdParts::COLUMNS),
    ("ssd sizes", tables::BufferSizes::COLUMNS),
    ("serve", crate::ssd::ServeRow::COLUMNS),
    ("serve samples", tables::ServeSamples::COLUMNS),
    ("translate", crate::translate::TranslateRow::COLUMNS),
    ("filecache", crate::filecache::FileCacheRow::COLUMNS),
    ("break-even", crate::filecache::BreakEvenRow::COLUMNS),
    ("pagecache", crate::pagecache::PageCacheRow::COLUMNS),
    ("tier", crate::tier::TierRow::COLUMNS),
    ("locality summary", tables::Summary::COLUMNS),
    ("locality ranks", tables::Ranks::COLUMNS),
    ("locality inversions", tables::Inversions::COLUMNS),
    ("locality miss-curve", tables::MissCurve::COLUMNS),
    ("locality working-set", tables::WorkingSet::COLUMNS),
    ("locality recency", tables::Recency::COLUMNS),
    ("locality intervals", tables::Intervals::COLUMNS),
    ("locality window", tables::Window::COLUMNS),
    ("run", tables::Run::COLUMNS),
    ("run samples", tables::RunSamples::COLUMNS),
    ("run gauges", tables::RunGauges::COLUMNS),
    ("compare", tables::Comparison::COLUMNS),
    ("compare samples", tables::ComparisonSamples::COLUMNS),
    ("check-policy", tables::CheckedRules::COLUMNS),
    ("dataset", tables::Dataset::COLUMNS),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Domain;

    #[test]
    fn every_option_has_a_name_of_its_own_and_says_what_it_means() {
        for (study, options) in OPTIONS {
            for (position, option) in options.iter().enumerate() {
                let others = &options[..position];
                assert!(
                    others.iter().all(|other| other.name != option.name),
                    "{study}: {option:?}"
                );
                assert!(option.help.trim_end().ends_with('.'), "{study}: {option:?}");
            }
        }
    }

    #[test]
    fn a_default_is_in_the_domain_of_its_option() {
        for (study, options) in OPTIONS {
            for option in *options {
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
        for (table, columns) in TABLES {
            for (position, column) in columns.iter().enumerate() {
                let others = &columns[..position];
                assert!(
                    others.iter().all(|other| other.name != column.name),
                    "{table}: {column:?}"
                );
                assert!(column.doc.trim_end().ends_with('.'), "{table}: {column:?}");
            }
        }
    }
}
