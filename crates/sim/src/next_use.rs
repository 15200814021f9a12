//! The future, for policies that need it: the next record of the same page.

use clockhand_quantity::{Text, option};
use std::path::Path;

use clockhand_trace::{Drop, PageView, Record, ScratchColumn};

use crate::chunk::CHUNK_RECORDS;
use crate::error::SimError;
use clockhand_trace::progress::Progress;

/// No other record of this page follows.
pub(crate) const NEVER: u32 = u32::MAX;

/// For each record, the position of the next one of the same page, or [`NEVER`].
#[cfg(test)]
pub(crate) fn next_use(records: &[Record], pages: u32) -> Vec<u32> {
    next_use_within(records, pages, &[])
}

/// The same where pages are dropped: what comes behind a drop is no use of what the page held before.
fn next_use_within(records: &[Record], pages: u32, drops: &[Drop]) -> Vec<u32> {
    let mut seen = vec![NEVER; pages as usize];
    let mut next = vec![NEVER; records.len()];
    let mut drops = drops.iter().rev().peekable();
    for (position, record) in records.iter().enumerate().rev() {
        while let Some(drop) = drops.next_if(|drop| drop.before > position) {
            seen[drop.pages.start as usize..drop.pages.end as usize].fill(NEVER);
        }
        let page = record.page() as usize;
        next[position] = std::mem::replace(&mut seen[page], position as u32);
    }
    next
}

/// The next use of each record of a view, in memory or, as the view itself, in a file.
pub(crate) enum NextUse {
    InMemory(Vec<u32>),
    OnScratch(ScratchColumn),
}

impl NextUse {
    pub(crate) fn of(view: &PageView, progress: &Progress) -> Result<Self, SimError> {
        check_steps(view.record_count())?;
        match view.scratch_folder() {
            None => {
                let (records, pages) = (view.records(), view.footprint_pages());
                Ok(NextUse::InMemory(next_use_within(records, pages, view.drops())))
            }
            Some(folder) => Ok(NextUse::OnScratch(on_scratch(view, folder, progress)?)),
        }
    }

    /// The entries of `count` records from the one at `first` on, in `entries`; `bytes` is room to work in.
    pub(crate) fn get(
        &self,
        first: usize,
        count: usize,
        bytes: &mut Vec<u8>,
        entries: &mut Vec<u32>,
    ) -> Result<(), SimError> {
        match self {
            NextUse::InMemory(all) => {
                entries.clear();
                entries.extend_from_slice(&all[first..first + count]);
            }
            NextUse::OnScratch(all) => all.get(first as u64, count, |next| next, bytes, entries)?,
        }
        Ok(())
    }
}

/// One pass over the view from its end, which writes from the end.
fn on_scratch(
    view: &PageView,
    folder: &Path,
    progress: &Progress,
) -> Result<ScratchColumn, SimError> {
    let mut column = ScratchColumn::create(folder)?;
    let mut seen = vec![NEVER; view.footprint_pages() as usize];
    for first in (0..view.record_count()).step_by(CHUNK_RECORDS).rev() {
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        let mut chunk = view.chunks_from(first, CHUNK_RECORDS);
        let chunk = chunk.next()?.expect("the view has so many records");
        let mut next = vec![NEVER; chunk.records.len()];
        for (position, record) in chunk.records.iter().enumerate().rev() {
            let page = record.page() as usize;
            next[position] = std::mem::replace(&mut seen[page], (first + position) as u32);
        }
        column.put(first as u64, next.into_iter())?;
    }
    Ok(column)
}

/// Whether this many records can be numbered.
pub(crate) fn check_steps(records: usize) -> Result<(), SimError> {
    if records < NEVER as usize {
        return Ok(());
    }
    Err(SimError::usage(
        "the trace has more than 2^32 steps, which policies that know the future and the bracket \
         of the optimum cannot number",
        Text::from("take a part of it with ") + option("limit"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_steps_than_can_be_numbered_are_refused() {
        assert!(check_steps(NEVER as usize - 1).is_ok());
        let message = check_steps(NEVER as usize).unwrap_err().to_string();
        assert!(
            message.contains("more than 2^32 steps") && message.contains("--limit"),
            "{message}"
        );
    }
}
