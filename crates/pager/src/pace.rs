//! What lets a pager in user space keep pace with the program: where and for how long both run, whose turn it is, and who is told
//! if an answer is late.

mod affinity;
mod interrupts;
mod load_control;
mod slice;
mod watchdog;

pub(crate) use self::affinity::{Affinity, code_of_deserted, is_running, threads_of};
pub(crate) use self::interrupts::Interrupts;
pub(crate) use self::load_control::LoadControl;
pub(crate) use self::watchdog::{Activity, Asked, Waits, Watchdog, during};
