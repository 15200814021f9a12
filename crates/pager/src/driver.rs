//! The thread that serves the faults of one paged memory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clockhand_pager_protocol::{
    CHANGED_MAPPING, ENDS_PROGRAM, ENDS_THREAD, PAGE_BYTES, Packet, Unmap,
};
use clockhand_policy::{Op, PageId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::control::{Channel, Command, ForkCopy, Progress};
use crate::given_away::GivenAway;
use crate::pace::{
    Affinity, Asked, Interrupts, LoadControl, Waits, code_of_deserted, during, is_running,
};
use crate::pager::Pager;
use crate::parts::PagerError;
use crate::userfault::Userfault;

/// The interval between two publications of the counts.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// So many faults may follow before commands, and the program's end, are looked for again.
const MOST_THAT_FOLLOW: u32 = 16;

/// Serves the faults of one memory, until it ends.
pub(crate) struct Driver {
    pub(crate) userfault: Arc<Userfault>,
    /// Where the program sees the first page.
    pub(crate) base: u64,
    pub(crate) pager: Pager,
    pub(crate) channel: Channel,
    /// Hangs up when the program has ended.
    pub(crate) program: Option<OwnedFd>,
    pub(crate) patience: Duration,
    /// The program's process id.
    pub(crate) process: i32,
    /// Those of the drive where the store is.
    pub(crate) interrupts: Option<Interrupts>,
    /// True if the program seemed to be [deserted](code_of_deserted) when it was looked at last.
    pub(crate) seems_deserted: bool,
    /// Where the program has mapped something else.
    pub(crate) given_away: GivenAway,
}

impl Driver {
    /// Serves until the program has ended, the pager is stopped, or the store fails for too long.
    pub(crate) fn run(mut self) -> Progress {
        self.channel.activity.follow_this_thread();
        let mut affinity =
            Affinity::new(self.process, self.program.is_some(), self.interrupts.take());
        let mut control = LoadControl::default();
        let mut published = Instant::now();
        let failure = loop {
            match self.turn(&mut control, &mut affinity) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break self.failure(error),
            }
            if published.elapsed() >= PUBLISH_EVERY {
                affinity.free_heirs();
                self.publish();
                published = Instant::now();
            }
        };
        affinity.release();
        if failure.is_none() {
            // Errors are expected here when the program has ended.
            let _ = self.pager.end();
        }
        self.publish();
        let mut progress = self.channel.progress.lock().expect("the lock is never poisoned");
        progress.failure = failure;
        progress.has_ended = true;
        progress.clone()
    }

    /// The outcome of an error; the end of the program is not a failure.
    fn failure(&self, error: PagerError) -> Option<String> {
        let has_ended =
            || self.program.as_ref().is_some_and(|program| has_hung_up(program.as_fd()));
        if self.userfault.is_mapping_changed() {
            self.end_in_program(ENDS_PROGRAM, 0);
            if let Some(program) = &self.program {
                wait_for_hang_up(program.as_fd());
            }
            return Some(CHANGED_MAPPING.to_owned());
        }
        match error {
            // A process loses its memory, which this error reports, before its socket is closed.
            PagerError::Memory(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
            PagerError::Memory(_) if has_ended() => None,
            error => Some(error.to_string()),
        }
    }

    /// Waits for something to do and does it; returns whether to go on.
    fn turn(
        &mut self,
        control: &mut LoadControl,
        affinity: &mut Affinity,
    ) -> Result<bool, PagerError> {
        if self.userfault.is_mapping_changed() {
            return Err(PagerError::Memory(io::Error::other(CHANGED_MAPPING)));
        }
        let program = self.program.as_ref().map(AsFd::as_fd);
        let time_left = control.time_left(Instant::now());
        let has_kept_faults = self.userfault.has_kept_faults();
        let patience = match has_kept_faults {
            true => Duration::ZERO,
            false => time_left.unwrap_or(PUBLISH_EVERY),
        };
        let [has_new_faults, has_commands, has_ended] =
            wait(self.userfault.as_fd(), self.channel.wake.as_fd(), program, patience)?;
        let has_faults = has_kept_faults || has_new_faults;
        if has_commands && !self.obey(affinity)? {
            return Ok(false);
        }
        if has_faults {
            self.learn(control)?;
        }
        if has_faults || time_left.is_some() {
            self.serve_all(control, affinity)?;
            self.serve_what_follows(control, affinity)?;
        } else {
            // The program does not take turns with this thread, or has ended, which exec does too.
            if !has_commands {
                affinity.release();
                self.look_for_others();
            }
            match self.pager.collect_finished_writes() {
                Err(error @ PagerError::Store { .. }) => self.store_failed(&error),
                result => result?,
            }
        }
        Ok(!has_ended)
    }

    /// Ends the program's last thread if it is the one that works for this pager.
    fn look_for_others(&mut self) {
        let code = self.program.as_ref().and_then(|_| code_of_deserted(self.process));
        // One look may have missed a thread that was just made.
        if let Some(code) = code.filter(|_| self.seems_deserted) {
            self.end_in_program(ENDS_THREAD, code);
        }
        self.seems_deserted = code.is_some();
    }

    /// Has the program's thread that works for this pager end, or end the program.
    fn end_in_program(&self, ends: u16, code: u16) {
        let order = Unmap { ends, code, ..Unmap::ZERO };
        if let Some(program) = &self.program {
            // A program that has ended needs no order.
            let _ = retry_on_intr(|| send(program, order.used_bytes(), SendFlags::NOSIGNAL));
        }
    }

    /// Serves the faults that need not wait for another thread's turn to end.
    fn serve_all(
        &mut self,
        control: &mut LoadControl,
        affinity: &mut Affinity,
    ) -> Result<(), PagerError> {
        let process = self.process;
        let is_running = |thread| is_running(process, thread);
        while let Some((fault, learned)) = control.next(Instant::now(), is_running) {
            affinity.follow(fault.thread);
            let offset = fault.address - self.base;
            let page = PageId((offset / PAGE_BYTES as u64) as u32);
            self.channel.activity.begin(Asked::Page(page.0));
            let is_miss = self.serve(offset, fault.op)?;
            self.channel.activity.end();
            let now = Instant::now();
            control.served(fault.thread, page, is_miss, now);
            self.pager.fault_served(now - learned);
        }
        Ok(())
    }

    /// Serves the next faults of a program that is held on this thread's processor: it has run when it was woken, or runs when
    /// this thread makes way, until it needs a page. To be woken for each message would take longer.
    fn serve_what_follows(
        &mut self,
        control: &mut LoadControl,
        affinity: &mut Affinity,
    ) -> Result<(), PagerError> {
        for _ in 0..MOST_THAT_FOLLOW {
            if !affinity.is_holding() || control.time_left(Instant::now()).is_some() {
                break;
            }
            let mut has_faults = self.learn(control)?;
            if !has_faults {
                thread::yield_now();
                has_faults = self.learn(control)?;
            }
            if !has_faults {
                break;
            }
            self.serve_all(control, affinity)?;
        }
        Ok(())
    }

    /// Takes the messages that are there; returns whether there are any.
    fn learn(&self, control: &mut LoadControl) -> io::Result<bool> {
        let learned = Instant::now();
        let mut has_faults = false;
        self.userfault.read(|fault| {
            control.add(fault, learned);
            has_faults = true;
        })?;
        Ok(has_faults)
    }

    /// Serves an access, trying a failing store again until the patience is used up.
    fn serve(&mut self, offset: u64, op: Op) -> Result<bool, PagerError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            match self.pager.serve_at(offset, op) {
                Err(error @ PagerError::Store { .. }) if started.elapsed() < self.patience => {
                    self.store_failed(&error);
                    during(Waits::ForFailingStore, || thread::sleep(pause));
                    pause = (2 * pause).min(Duration::from_millis(100));
                }
                result => return result,
            }
        }
    }

    /// Publishes the error at once: trying again may take as long as the patience lasts.
    fn store_failed(&self, error: &PagerError) {
        let mut progress = self.channel.progress.lock().expect("the lock is never poisoned");
        progress.store_error = Some(error.to_string());
        progress.counts = self.pager.counts();
    }

    /// Carries out commands; returns whether to go on.
    fn obey(&mut self, affinity: &mut Affinity) -> Result<bool, PagerError> {
        let mut count = [0; 8];
        // The event only wakes this thread: what to do is in the channel.
        let _ = rustix::io::read(&*self.channel.wake, &mut count);
        let mut is_frozen = false;
        loop {
            let command = match is_frozen {
                // No fault is served until the child has been forked.
                true => self.channel.commands.recv_timeout(FORK_PATIENCE).ok(),
                false => self.channel.commands.try_recv().ok(),
            };
            match command {
                None if is_frozen
                    && self
                        .program
                        .as_ref()
                        .is_some_and(|program| !has_hung_up(program.as_fd())) => {}
                None => return Ok(true),
                Some(Command::Discard { first, pages, is_given_away, done }) => {
                    let _ = done.send(match is_given_away {
                        true => self.pager.give_away(first, pages),
                        false => self.pager.discard(first, pages),
                    });
                }
                Some(Command::Part { for_good, done }) => {
                    affinity.release();
                    if for_good {
                        affinity.part();
                    }
                    let _ = done.send(());
                }
                Some(Command::BeginFork { done }) => {
                    // The child is to run wherever the program may.
                    affinity.release();
                    self.channel.activity.begin(Asked::Fork);
                    let copies = self.pager.copy_for_fork();
                    is_frozen = copies.is_ok();
                    let given_away = self.given_away.copied();
                    let copies = copies.map(|pages| ForkCopy { pages, given_away });
                    if !is_frozen {
                        self.channel.activity.end();
                    }
                    let _ = done.send(copies);
                }
                Some(Command::EndFork) => {
                    is_frozen = false;
                    self.channel.activity.end();
                }
                Some(Command::Stop) => return Ok(false),
            }
        }
    }

    fn publish(&self) {
        let mut gauges = Vec::new();
        self.pager.gauges(&mut |name, value| gauges.push((name, value)));
        let mut progress = self.channel.progress.lock().expect("the lock is never poisoned");
        progress.counts = self.pager.counts();
        progress.times = self.pager.times().clone();
        progress.gauges = gauges;
        progress.occupied_bytes = self.pager.occupied_bytes();
    }
}

/// The interval between two checks that a forking program is still there.
const FORK_PATIENCE: Duration = Duration::from_millis(100);

/// Waits for faults, for commands, or for the program's end, as long as the patience lasts; returns which of the three happened.
fn wait(
    faults: BorrowedFd<'_>,
    commands: BorrowedFd<'_>,
    program: Option<BorrowedFd<'_>>,
    patience: Duration,
) -> io::Result<[bool; 3]> {
    // The program's socket is polled for no events: an unread answer of the program would keep it ready and make this a
    // busy loop. A hang-up is reported regardless. Without a program, its entry repeats another descriptor.
    let mut polled = [
        PollFd::from_borrowed_fd(faults, PollFlags::IN),
        PollFd::from_borrowed_fd(commands, PollFlags::IN),
        PollFd::from_borrowed_fd(program.unwrap_or(commands), PollFlags::empty()),
    ];
    let timeout = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
    match poll(&mut polled, Some(&timeout)) {
        Err(Errno::INTR) => return Ok([false; 3]),
        result => result?,
    };
    let is_ready = |descriptor: &PollFd<'_>, meaning| descriptor.revents().intersects(meaning);
    let hung_up = PollFlags::HUP | PollFlags::ERR;
    let has_ended = program.is_some() && is_ready(&polled[2], hung_up);
    Ok([is_ready(&polled[0], PollFlags::all()), is_ready(&polled[1], PollFlags::IN), has_ended])
}

/// The time that a program may take to end after it was asked to.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Reads the program's answers until it has closed its side, so that it reads the last order: if this side were closed
/// before, to send an answer would fail there, and the program would not know why it ends.
fn wait_for_hang_up(program: BorrowedFd<'_>) {
    let began = Instant::now();
    while let Some(left) = END_PATIENCE.checked_sub(began.elapsed()) {
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut polled = [PollFd::from_borrowed_fd(program, PollFlags::IN)];
        let _ = poll(&mut polled, Some(&timeout));
        let mut answer = [0];
        match recv(program, &mut answer, RecvFlags::DONTWAIT) {
            Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// Returns whether the other side of a socket has been closed.
fn has_hung_up(socket: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    let timeout = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&timeout)).is_ok_and(|ready| ready > 0)
        && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
