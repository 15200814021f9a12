//! Columns of the tables that Python makes: of what the engine counts, of what programs and servers did while they ran.

mod datasets;
mod drives;
mod locality;
mod pages;
mod programs;

/// Declares the columns of a table, as `columns!` does those of a row, also by those of another table.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:ident {
            $( $(#[doc = $doc:literal])* $name:ident: $value:ty $(= $from:ident)?, )+
        }
    ) => {
        $(#[doc = $about])+
        pub(in crate::catalog) struct $table;

        impl $table {
            /// The columns, in their order.
            pub(in crate::catalog) const COLUMNS: &'static [$crate::columns::Column] = &[$(
                $crate::columns::columns!(@column [$name] [$value] [$($doc),*] [$($from)?]),
            )+];
        }
    };
}

use table;

pub(super) use datasets::*;
pub(super) use drives::*;
pub(super) use locality::*;
pub(super) use pages::*;
pub(super) use programs::*;
