//! Page policies as write buffers: the twin of the page policy, whose evictions are batches of one page.

use std::collections::BTreeSet;

use super::{BufferEvent, BufferPages, BufferRequest, BufferStep, BufferTwin, Flushed, Place};
use crate::{Op, State, Twin};

/// Reads and writes only: a page twin knows no write-back at another's wish.
pub(super) struct PageLevel {
    twin: Box<dyn Twin>,
    cache_reads: bool,
    dirty: BTreeSet<u64>,
}

impl PageLevel {
    pub(super) fn new(name: &str, pages: BufferPages, parameters: &[(&str, &str)]) -> PageLevel {
        let own = ["cache_reads", "commands", "cluster"];
        let (own, policy): (Vec<_>, Vec<_>) =
            parameters.iter().partition(|(name, _)| own.contains(name));
        let value = |name: &str| own.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        assert!(value("cluster").is_none_or(|cluster| cluster == "page"), "no clusters here");
        assert!(value("commands").is_none_or(|commands| commands != "safe"), "no commands here");
        PageLevel {
            twin: crate::build(name, pages.total, &policy, &[]),
            cache_reads: value("cache_reads") != Some("false"),
            dirty: BTreeSet::new(),
        }
    }

    fn access(&mut self, page: u64, op: Op) -> BufferEvent {
        let resident = self.twin.resident().contains(&page);
        if op == Op::Read && !self.cache_reads && !resident {
            return BufferEvent::default();
        }
        let event = self.twin.reference(page, op);
        let mut steps = Vec::new();
        let flush = |page, stays| {
            BufferStep::Flush(vec![Flushed { page, dirty: true, from: Place::Dram, stays }])
        };
        for page in event.written_back {
            self.dirty.remove(&page);
            steps.push(flush(page, true));
        }
        for (page, dirty) in event.evicted {
            self.dirty.remove(&page);
            steps.push(if dirty { flush(page, false) } else { BufferStep::Drop(vec![page]) });
        }
        if op == Op::Write {
            self.dirty.insert(page);
        }
        BufferEvent { steps, hit: event.hit.then_some(Place::Dram), nvm_writes: 0 }
    }
}

impl BufferTwin for PageLevel {
    fn request(&mut self, request: BufferRequest) -> BufferEvent {
        match request {
            BufferRequest::Read(page) => self.access(page, Op::Read),
            BufferRequest::Write(page) | BufferRequest::ForceUnitAccess(page) => {
                self.access(page, Op::Write)
            }
            BufferRequest::Flush => BufferEvent::default(),
            BufferRequest::Trim(_) | BufferRequest::Drain => panic!("reads and writes only"),
        }
    }

    fn state(&self) -> State {
        self.twin.state()
    }

    fn dirty(&self) -> Vec<u64> {
        self.dirty.iter().copied().collect()
    }
}
