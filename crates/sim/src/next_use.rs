//! The future, for policies that need it: the next record of the same page.

use clockhand_trace::Record;

use crate::SimError;

/// No other record of this page follows.
pub(crate) const NEVER: u32 = u32::MAX;

/// For each record, the position of the next one of the same page, or [`NEVER`].
pub(crate) fn next_use(records: &[Record], pages: u32) -> Vec<u32> {
    let mut seen = vec![NEVER; pages as usize];
    let mut next = vec![NEVER; records.len()];
    for (position, record) in records.iter().enumerate().rev() {
        let page = record.page() as usize;
        next[position] = std::mem::replace(&mut seen[page], position as u32);
    }
    next
}

/// Whether this many records can be numbered.
pub(crate) fn check_steps(records: usize) -> Result<(), SimError> {
    if records < NEVER as usize {
        return Ok(());
    }
    Err(SimError::Usage(
        "the trace has more than 2^32 steps, which policies that know the future and the bracket of the optimum \
         cannot number; take a part of it with --limit"
            .to_owned(),
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
