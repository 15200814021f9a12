//! Keeps a program and its pager on one processor while they take turns.

use std::sync::Arc;
use std::time::Duration;

use clockhand_pager_protocol::PAGE_BYTES;

use crate::affinity::{Affinity, Load};
use crate::userfault::{FaultMessage, Userfault};
use crate::waker::{LATE, Waker};

/// Where the pager's thread runs, and how it lets the program go on.
pub(crate) struct Beside {
    userfault: Arc<Userfault>,
    affinity: Affinity,
    waker: Option<Waker>,
    load: Load,
    /// A processor was idle when this was checked last, to which the program would be sent.
    is_one_idle: bool,
    /// The fault that is being served ends with an order to the waking thread.
    leaves_waking: bool,
}

impl Beside {
    /// For the faults of a process, which this thread serves.
    pub(crate) fn new(userfault: &Arc<Userfault>, process: i32) -> Self {
        let waker = Waker::start(userfault);
        let affinity = Affinity::new(process, waker.as_ref().map(|waker| waker.id));
        Beside {
            userfault: userfault.clone(),
            affinity,
            waker,
            load: Load::new(),
            is_one_idle: false,
            leaves_waking: false,
        }
    }

    /// A fault of `thread` is going to be served, the only one that is known of or one of several.
    pub(crate) fn begin(&mut self, thread: i32, is_only: bool) {
        let has_looked = self.affinity.follow(thread);
        self.leaves_waking = false;
        if let Some(waker) = &mut self.waker {
            if has_looked {
                // This thread is at work.
                let own = 1 + usize::from(waker.is_at_work());
                self.is_one_idle = self.load.leaves_a_processor_idle(own);
            }
            let can_sleep = is_only && self.is_one_idle && self.affinity.is_beside();
            self.leaves_waking = waker.begin(thread, can_sleep);
        }
        self.userfault.hold_wakes(self.leaves_waking);
    }

    /// It has been served.
    pub(crate) fn end(&mut self, fault: &FaultMessage) {
        self.userfault.hold_wakes(false);
        if let Some(waker) = self.waker.as_mut().filter(|_| self.leaves_waking) {
            waker.order(fault.address & !(PAGE_BYTES as u64 - 1), fault.thread);
        }
    }

    /// How long to wait for the next fault before [`Beside::settle`].
    pub(crate) fn patience(&self) -> Duration {
        match &self.waker {
            Some(waker) if waker.is_open() => LATE,
            _ => Duration::MAX,
        }
    }

    /// There is no other fault: lets the program go on if the waking thread has not.
    pub(crate) fn settle(&mut self) {
        if let Some(waker) = &mut self.waker {
            waker.settle();
        }
    }
}
