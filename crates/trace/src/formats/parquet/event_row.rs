//! One row of a table of events.

use crate::decode::scan;
use crate::event::Action;
use crate::request::Op;
use crate::source::sample::quoted;

/// One row of a table of events.
pub(super) struct Cells<'a> {
    pub(super) op: &'a str,
    pub(super) by: &'a str,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) process: u32,
}

/// Which cell of a row no event can have.
pub(super) enum BadCellOf {
    Op,
    By,
    Size,
}

impl Cells<'_> {
    pub(super) fn action(&self) -> Result<Action, (BadCellOf, String)> {
        let Self { address, bytes, process, .. } = *self;
        if let Some(op) = scan::op(self.op.as_bytes()) {
            let bytes = u32::try_from(bytes)
                .map_err(|_| (BadCellOf::Size, "is above 4294967295".to_owned()))?;
            return Ok(match self.by {
                "memory" => Action::Memory { op, address, bytes },
                "call" => Action::Call { op, offset: address, bytes, process },
                "direct" => Action::Direct { op, offset: address, bytes },
                "forced" if op == Op::Write => Action::ForcedWrite { address, bytes },
                other => {
                    let reason = format!(
                        "is {}, none of memory, call, direct, and forced for writes",
                        quoted(other.as_bytes())
                    );
                    return Err((BadCellOf::By, reason));
                }
            });
        }
        Ok(match self.op {
            "length" => Action::Length { bytes },
            "sync" => Action::Sync,
            "sync-all" => Action::SyncAll,
            "truncate" => Action::Truncate { bytes },
            "delete" => Action::Delete,
            "release" => Action::Release { address, bytes },
            "release-all" => Action::ReleaseAll,
            "discard" => Action::Discard { address, bytes },
            other => {
                let reason = format!("is {}, no word for an event", quoted(other.as_bytes()));
                return Err((BadCellOf::Op, reason));
            }
        })
    }
}
