//! The columns of a study's rows, declared once: the struct that the engine fills is also what Python builds its
//! tables from and what `docs/columns.md` says of them.

use serde::Serialize;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Text.
    Text,
    /// A whole number from 0, of 32 bits.
    U32,
    /// A whole number from 0, of 64 bits.
    U64,
    /// A whole number of 64 bits.
    I64,
    /// A number in binary64.
    F64,
    /// Yes or no.
    Bool,
}

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name, the unit last; scripts rely on it.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// True if a row may have no value here.
    pub nullable: bool,
    /// What it means, in a sentence or two; its lines begin with a space.
    pub doc: &'static str,
}

/// A type that a field of a row may have.
pub(crate) trait ColumnValue {
    /// What the column holds.
    const KIND: ColumnKind;
    /// True if a row may have no value there.
    const NULLABLE: bool = false;
}

impl ColumnValue for String {
    const KIND: ColumnKind = ColumnKind::Text;
}

impl ColumnValue for &'static str {
    const KIND: ColumnKind = ColumnKind::Text;
}

impl ColumnValue for u64 {
    const KIND: ColumnKind = ColumnKind::U64;
}

impl ColumnValue for u32 {
    const KIND: ColumnKind = ColumnKind::U64;
}

impl ColumnValue for i64 {
    const KIND: ColumnKind = ColumnKind::I64;
}

impl ColumnValue for f64 {
    const KIND: ColumnKind = ColumnKind::F64;
}

impl ColumnValue for bool {
    const KIND: ColumnKind = ColumnKind::Bool;
}

impl<T: ColumnValue> ColumnValue for Option<T> {
    const KIND: ColumnKind = T::KIND;
    const NULLABLE: bool = true;
}

/// The column of this name.
///
/// # Panics
///
/// If there is none.
pub(crate) const fn column_of(columns: &[Column], name: &str) -> Column {
    let mut index = 0;
    while index < columns.len() {
        if is_same(columns[index].name.as_bytes(), name.as_bytes()) {
            return columns[index];
        }
        index += 1;
    }
    panic!("a row takes over a column that the other one has")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Declares the row of a study: the struct, and its `COLUMNS` in the order of the fields. The doc comment of a field
/// is what users read about the column; `= ROW` takes a column over from another row. With `of intervals` a row may be
/// of
/// one interval of a trace, and tells which.
macro_rules! columns {
    (
        $(#[doc = $about:literal])+
        pub struct $row:ident of intervals {
            $($fields:tt)+
        }
    ) => {
        $crate::columns::columns!(
            $(#[doc = $about])+
            pub struct $row {
                $($fields)+
                /// Number of the interval, from 0, with `--every`; an interval without references has no row.
                pub interval: Option<u64>,
                /// References before the interval.
                pub from_reference: Option<u64>,
                /// Start of the interval, in microseconds from the trace's first request, if it has times.
                pub from_us: Option<f64>,
            }
        );

        impl $crate::intervals::IntervalRow for $row {
            fn of_interval(mut self, cut: $crate::intervals::Cut) -> Self {
                (self.interval, self.from_reference, self.from_us) = cut.columns();
                self
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        pub struct $row:ident {
            $( $(#[doc = $doc:literal])* pub $name:ident: $value:ty $(= $from:ident)?, )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
        pub struct $row {
            $(
                $(#[doc = $doc])*
                $(#[doc = concat!("As in [`", stringify!($from), "`].")])?
                pub $name: $value,
            )+
        }

        impl $row {
            /// The columns, in the order of the fields.
            pub const COLUMNS: &'static [$crate::columns::Column] = &[$(
                $crate::columns::columns!(@column [$name] [$value] [$($doc),*] [$($from)?]),
            )+];
        }
    };
    (@column [$name:ident] [$value:ty] [] [$from:ident]) => {
        $crate::columns::column_of($from::COLUMNS, stringify!($name))
    };
    (@column [$name:ident] [$value:ty] [$($doc:literal),+] []) => {
        $crate::columns::Column {
            name: stringify!($name),
            kind: <$value as $crate::columns::ColumnValue>::KIND,
            nullable: <$value as $crate::columns::ColumnValue>::NULLABLE,
            doc: concat!($($doc),+),
        }
    };
}

pub(crate) use columns;
