//! Columns of the tables that Python makes: of what the engine counts, of what programs and servers did while they ran.

mod drives;
mod locality;
mod pages;
mod programs;

/// Declares the columns of a table, as `columns!` does those of a row.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:ident {
            $( $(#[doc = $doc:literal])* $name:ident: $value:ty $(= $from:ident)?, )+
        }
    ) => {
        $(#[doc = $about])+
        pub(in crate::catalog) const $table: &[$crate::columns::Column] = &[$(
            $crate::columns::columns!(@column [$name] [$value] [$($doc),*] [$($from)?]),
        )+];
    };
}

use table;

pub(super) use drives::*;
pub(super) use locality::*;
pub(super) use pages::*;
pub(super) use programs::*;
