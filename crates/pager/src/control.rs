//! How other threads reach the thread of a pager, and what it tells them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use clockhand_policy::PageId;
use rustix::event::{EventfdFlags, eventfd};

use crate::given_away::GivenAway;
use crate::pace::Activity;
use crate::parts::{InitialPages, PagerError};
use crate::statistics::{Counts, Times};

/// What other threads ask of a pager's thread.
pub(crate) enum Command {
    /// Forget these pages, and watch them no longer if they are given away.
    Discard { first: PageId, pages: u32, is_given_away: bool, done: Sender<Result<(), PagerError>> },
    /// Let the program's threads run where they may, for good or for now.
    Part { for_good: bool, done: Sender<()> },
    /// Copy all pages and let none change.
    BeginFork { done: Sender<Result<ForkCopy, PagerError>> },
    /// Let pages change again.
    EndFork,
    /// End.
    Stop,
}

/// What the memory of a forked child begins with.
#[derive(Default)]
pub(crate) struct ForkCopy {
    pub(crate) pages: InitialPages,
    /// Where the program has mapped something else.
    pub(crate) given_away: GivenAway,
}

/// What is known of a paged memory outside its thread.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// What was counted.
    pub counts: Counts,
    /// Where time went.
    pub times: Times,
    /// The values by which the policy adapts.
    pub gauges: Vec<(&'static str, f64)>,
    /// Bytes that the store occupies.
    pub occupied_bytes: u64,
    /// The store's last error, if it has failed: the operation was, or is being, tried again.
    pub store_error: Option<String>,
    /// Why the pager gave up.
    pub failure: Option<String>,
    /// True if the memory has ended.
    pub has_ended: bool,
}

/// Sends commands to a pager's thread and reads what it publishes.
#[derive(Clone)]
pub(crate) struct Control {
    commands: Sender<Command>,
    wake: Arc<OwnedFd>,
    progress: Arc<Mutex<Progress>>,
    activity: Activity,
}

impl Control {
    pub(crate) fn command(&self, command: Command) -> io::Result<()> {
        let ended = |_| io::Error::new(io::ErrorKind::NotConnected, "the paged memory has ended");
        self.commands.send(command).map_err(ended)?;
        rustix::io::write(&*self.wake, &1u64.to_ne_bytes())?;
        Ok(())
    }

    /// The thread's current work.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The number of pages that have been evicted, by what it has published.
    pub(crate) fn evictions(&self) -> u64 {
        let counts = self.progress.lock().expect("the lock is never poisoned").counts;
        counts.clean_evictions + counts.dirty_evictions
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.lock().expect("the lock is never poisoned").clone()
    }
}

/// Connects the thread and the rest of the process.
pub(crate) struct Channel {
    pub(crate) commands: Receiver<Command>,
    pub(crate) wake: Arc<OwnedFd>,
    pub(crate) progress: Arc<Mutex<Progress>>,
    pub(crate) activity: Activity,
}

pub(crate) fn channel_of_control() -> io::Result<(Control, Channel)> {
    let (sender, commands) = channel();
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let progress = Arc::new(Mutex::new(Progress::default()));
    let activity = Activity::default();
    let control = Control {
        commands: sender,
        wake: wake.clone(),
        progress: progress.clone(),
        activity: activity.clone(),
    };
    Ok((control, Channel { commands, wake, progress, activity }))
}
