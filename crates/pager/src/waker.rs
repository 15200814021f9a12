//! Lets the program go on without sending it to another processor.
//!
//! The scheduler sends a thread that is woken to an idle processor, if there is one, and not to its own while the one that
//! wakes it still runs there. So the program would leave the processor on which the pager has just answered, and
//! waking the sleeping one takes longer than the answer; see `benches/README.md`. A processor that runs nothing
//! but threads of `SCHED_IDLE` counts as idle, though. So a thread of this kind wakes the program: it gets the processor when
//! the pager's thread has gone to sleep, and gives it to the program at once.
//!
//! On a processor with other work such a thread hardly ever runs. If it is late, the pager's thread wakes the program itself,
//! now and at the next faults.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use clockhand_pager_protocol::PAGE_BYTES;
use rustix::process::Pid;
use rustix::thread::gettid;

use crate::userfault::Userfault;

/// A program that waits this long for the waking thread is woken by the pager's.
pub(crate) const LATE: Duration = Duration::from_micros(100);

/// After the waking thread was late it is not asked at this many faults, and at twice as many each time that it is late
/// again, up to the most.
const LEAST_FAULTS_WITHOUT: u32 = 64;
const MOST_FAULTS_WITHOUT: u32 = 8192;

/// After this many orders that were carried out in time, a new start is made.
const ORDERS_IN_TIME: u32 = 256;

/// What both threads know.
#[derive(Default)]
struct Orders {
    /// The page whose threads are to be woken.
    address: AtomicU64,
    /// How many orders were given, begun and carried out, modulo 2³².
    given: AtomicU32,
    begun: AtomicU32,
    done: AtomicU32,
    has_ended: AtomicU32,
}

/// A page whose threads the waking thread was told to wake.
struct Order {
    address: u64,
    /// The thread whose fault it was.
    thread: i32,
}

/// The pager's side of the thread that wakes.
pub(crate) struct Waker {
    orders: Arc<Orders>,
    waking: Thread,
    /// The waking thread's number.
    pub(crate) id: Pid,
    userfault: Arc<Userfault>,
    /// Given, and not known to be carried out.
    open: Option<Order>,
    faults_without: u32,
    next_faults_without: u32,
    orders_in_time: u32,
}

impl Waker {
    /// Starts the thread; none if this system has no such threads.
    pub(crate) fn start(userfault: &Arc<Userfault>) -> Option<Self> {
        let orders = Arc::new(Orders::default());
        let (ready, is_ready) = channel();
        let (its_orders, its_userfault) = (orders.clone(), Arc::downgrade(userfault));
        let thread = thread::Builder::new()
            .name("clockhand waker".to_owned())
            .spawn(move || run(&its_orders, &its_userfault, &ready))
            .ok()?;
        let id = is_ready.recv().ok()?;
        Some(Waker {
            orders,
            waking: thread.thread().clone(),
            id,
            userfault: userfault.clone(),
            open: None,
            faults_without: 0,
            next_faults_without: LEAST_FAULTS_WITHOUT,
            orders_in_time: 0,
        })
    }

    /// A fault of `thread` is going to be served. Returns whether its answer is to be left to the waking thread, which can
    /// only be if this thread is to sleep afterwards, on the processor of the program.
    pub(crate) fn begin(&mut self, thread: i32, can_sleep: bool) -> bool {
        match &self.open {
            // A thread that faults again has been woken.
            Some(open) if open.thread == thread => self.was_in_time(),
            _ => self.settle(),
        }
        self.open = None;
        if self.faults_without > 0 {
            self.faults_without -= 1;
            return false;
        }
        can_sleep
    }

    /// The fault has been served: its thread is to be woken.
    pub(crate) fn order(&mut self, address: u64, thread: i32) {
        self.open = Some(Order { address, thread });
        self.orders.address.store(address, Ordering::Relaxed);
        self.orders.given.fetch_add(1, Ordering::Release);
        self.waking.unpark();
    }

    /// Whether an order may not have been carried out, so that [`Waker::settle`] is to be called after [`LATE`].
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the waking thread is at work, as far as it has told: it runs, or waits for the processor.
    pub(crate) fn is_at_work(&self) -> bool {
        self.orders.done.load(Ordering::Relaxed) != self.orders.given.load(Ordering::Relaxed)
    }

    fn was_in_time(&mut self) {
        self.orders_in_time += 1;
        if self.orders_in_time == ORDERS_IN_TIME {
            self.orders_in_time = 0;
            self.next_faults_without = LEAST_FAULTS_WITHOUT;
        }
    }

    /// Carries out an open order if the waking thread has not.
    pub(crate) fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        let given = self.orders.given.load(Ordering::Relaxed);
        if self.orders.begun.load(Ordering::Acquire) == given {
            self.was_in_time();
        } else {
            self.orders_in_time = 0;
            self.faults_without = self.next_faults_without;
            self.next_faults_without = (2 * self.next_faults_without).min(MOST_FAULTS_WITHOUT);
        }
        if self.orders.done.load(Ordering::Acquire) == given {
            return;
        }
        // If the order has been begun, the program has most likely been woken, and took the processor. To wake nobody is
        // harmless.
        // An error means that the program has ended, which others notice.
        let _ = self.userfault.wake(open.address, PAGE_BYTES as u64);
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.settle();
        // Not joined: on a busy processor it takes long until the thread runs.
        self.orders.has_ended.store(1, Ordering::Release);
        self.waking.unpark();
    }
}

/// What the waking thread does.
fn run(orders: &Orders, userfault: &Weak<Userfault>, ready: &Sender<Pid>) {
    if !yields_to_all() || ready.send(gettid()).is_err() {
        return;
    }
    let mut done = 0;
    while orders.has_ended.load(Ordering::Acquire) == 0 {
        let given = orders.given.load(Ordering::Acquire);
        if given == done {
            thread::park();
            continue;
        }
        orders.begun.store(given, Ordering::Release);
        let Some(userfault) = userfault.upgrade() else { return };
        let _ = userfault.wake(orders.address.load(Ordering::Relaxed), PAGE_BYTES as u64);
        orders.done.store(given, Ordering::Release);
        done = given;
    }
}

/// Makes this thread one that runs when nothing else wants to; returns whether it is.
fn yields_to_all() -> bool {
    // SAFETY: the structure is made of numbers, for which all bits 0 is a value.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread, and the parameters live through the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::thread::JoinHandle;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    use super::*;
    use crate::store::Page;

    /// A thread that waits for a page which it could read, and its number.
    struct Waiting {
        userfault: Arc<Userfault>,
        address: u64,
        thread: JoinHandle<u8>,
        number: i32,
    }

    fn waiting() -> Option<Waiting> {
        let userfault = match Userfault::new() {
            Ok(userfault) => Arc::new(userfault),
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: the kernel chooses a free address range, which stays this test's alone.
        let memory = unsafe { mmap_anonymous(ptr::null_mut(), PAGE_BYTES, protection, flags) };
        let address = memory.expect("there is memory") as u64;
        userfault.register(address, PAGE_BYTES as u64, false).expect("it can be watched");
        // SAFETY: the page is mapped until the process ends.
        let thread = thread::spawn(move || unsafe { (address as *const u8).read_volatile() });
        let mut polled = [PollFd::new(&*userfault, PollFlags::IN)];
        poll(&mut polled, None).expect("a fault comes");
        let mut faults = Vec::new();
        userfault.read(&mut faults).expect("it is told");
        userfault.hold_wakes(true);
        let mut content = Page([7; PAGE_BYTES]);
        userfault.copy(address, &mut content, true).expect("it gets content");
        userfault.hold_wakes(false);
        Some(Waiting { userfault, address, thread, number: faults[0].thread })
    }

    /// A waker whose thread never gets a processor.
    fn starved(userfault: &Arc<Userfault>) -> Waker {
        Waker {
            orders: Arc::new(Orders::default()),
            waking: thread::current(),
            id: gettid(),
            userfault: userfault.clone(),
            open: None,
            faults_without: 0,
            next_faults_without: LEAST_FAULTS_WITHOUT,
            orders_in_time: 0,
        }
    }

    #[test]
    fn the_waking_thread_lets_a_thread_go_on() {
        let Some(waiting) = waiting() else { return };
        let Some(mut waker) = Waker::start(&waiting.userfault) else {
            eprintln!("SKIPPED: there are no threads that yield to all others");
            return;
        };
        assert!(!waker.begin(waiting.number, false), "this thread cannot sleep");
        assert!(waker.begin(waiting.number, true));
        assert!(!waiting.thread.is_finished(), "its answer left it waiting");
        waker.order(waiting.address, waiting.number);
        assert_eq!(waiting.thread.join().expect("it has read"), 7);
    }

    #[test]
    fn a_late_order_is_carried_out_here_and_none_is_given_at_the_next_faults() {
        let Some(waiting) = waiting() else { return };
        let mut waker = starved(&waiting.userfault);
        waker.order(waiting.address, waiting.number);
        assert!(waker.is_open() && waker.is_at_work());
        waker.settle();
        assert_eq!(waiting.thread.join().expect("it has read"), 7);
        for expected in [LEAST_FAULTS_WITHOUT, 2 * LEAST_FAULTS_WITHOUT] {
            let without = (0..).take_while(|_| !waker.begin(waiting.number, true)).count();
            assert_eq!(without, expected as usize);
            waker.order(waiting.address, waiting.number);
            waker.settle();
        }
    }

    #[test]
    fn the_fault_of_another_thread_does_not_let_an_order_be_forgotten() {
        let Some(waiting) = waiting() else { return };
        let mut waker = starved(&waiting.userfault);
        waker.order(waiting.address, waiting.number);
        waker.begin(waiting.number + 1, true);
        assert_eq!(waiting.thread.join().expect("it has read"), 7);
    }

    #[test]
    fn orders_in_time_end_the_doubling() {
        let Some(waiting) = waiting() else { return };
        let mut waker = starved(&waiting.userfault);
        waker.order(waiting.address, waiting.number);
        waker.settle();
        waiting.thread.join().expect("it has read");
        while !waker.begin(waiting.number, true) {}
        for _ in 0..ORDERS_IN_TIME {
            waker.order(waiting.address, waiting.number);
            assert!(waker.begin(waiting.number, true), "it faulted again, so it was woken");
        }
        assert_eq!(waker.next_faults_without, LEAST_FAULTS_WITHOUT);
    }
}
