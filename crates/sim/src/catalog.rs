//! How datasets know the cells of a study, and the columns of tables that are not rows of a study.

mod grid;
mod tables;

pub use grid::FILE_OPTIONS;

use crate::columns::Column;

/// The columns of tables beside the rows of studies, by the names of the tables.
pub const OTHER_TABLES: &[(&str, &[Column])] = &[
    ("pages gauges", tables::Gauges::COLUMNS),
    ("pages situations", tables::Situations::COLUMNS),
    ("ssd wear", tables::SsdWear::COLUMNS),
    ("ssd classes", tables::SsdClasses::COLUMNS),
    ("ssd moments", tables::SsdMoments::COLUMNS),
    ("ssd parts", tables::SsdParts::COLUMNS),
    ("ssd sizes", tables::BufferSizes::COLUMNS),
    ("serve", crate::ssd::ServeRow::COLUMNS),
    ("serve samples", tables::ServeSamples::COLUMNS),
    ("break-even", crate::filecache::BreakEvenRow::COLUMNS),
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
