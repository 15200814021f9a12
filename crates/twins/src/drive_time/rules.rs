//! Input and output of a drive in time.

/// A page's memory: DRAM (0) or NVM (1).
pub type TimedMedium = usize;

/// An operation of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedFlash {
    /// The host's page is programmed.
    Program {
        /// Physical page.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// Collection, a merge or a fold moves a page, the host's or a translation page.
    Relocate {
        /// Physical page read.
        from: u32,
        /// Physical page programmed.
        to: u32,
        /// Logical page.
        page: u32,
    },
    /// A block is erased.
    Erase {
        /// The block.
        block: u32,
        /// Whether by collection, and not because the host resets a zone.
        collects: bool,
    },
    /// A translation page is read because the host wants an entry.
    Load {
        /// Physical page.
        from: u32,
        /// Translation page.
        page: u32,
        /// The logical page that waits for it.
        wanted: u32,
    },
    /// A translation page is read so that it can be programmed again.
    Update {
        /// Physical page.
        from: u32,
        /// Translation page.
        page: u32,
    },
    /// A translation page is programmed.
    Translation {
        /// Physical page.
        to: u32,
        /// Translation page.
        page: u32,
    },
}

/// Where a programmed page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgrammedFrom {
    /// The request, which is done with the program.
    Request,
    /// A memory; whether it stays there.
    Memory(TimedMedium, bool),
    /// Flash, where it was at this physical page, if anywhere.
    Padding(Option<u32>),
}

/// One step of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimedStep {
    /// A page is read from flash, and perhaps placed in a memory.
    Read {
        /// Logical page.
        page: u32,
        /// Physical page, if it is anywhere.
        from: Option<u32>,
        /// The memory.
        into: Option<TimedMedium>,
    },
    /// A page is read in a memory.
    Hit {
        /// Logical page.
        page: u32,
        /// The memory.
        medium: TimedMedium,
    },
    /// A page is written in a memory.
    Put {
        /// Logical page.
        page: u32,
        /// The memory.
        medium: TimedMedium,
        /// True if the request's page is done then.
        completes: bool,
    },
    /// A page is programmed.
    Program {
        /// Logical page.
        page: u32,
        /// Where its content comes from.
        from: ProgrammedFrom,
        /// What the flash does, the program last.
        flash: Vec<TimedFlash>,
    },
    /// The flash does something other than program a page of the host: look-ups in its map, resets.
    Flash(Vec<TimedFlash>),
    /// A page moves from DRAM to NVM.
    Migrate(u32),
    /// A page leaves a memory at once.
    Leave(u32, TimedMedium),
    /// The request waits until all is persistent.
    Flush,
}

/// A request.
#[derive(Clone, Debug)]
pub struct TimedRequest {
    /// When it arrives; none if when another one is complete.
    pub arrival: Option<u64>,
    /// Its time in the front end.
    pub front: u64,
}

/// Who decides, in the order of time.
pub trait TimedDecisions {
    /// What a request means.
    fn decide(&mut self, request: usize) -> Vec<TimedStep>;

    /// A pool has rested for long enough: its step of collection, if there is one.
    fn background(&mut self, pool: usize) -> Vec<TimedFlash> {
        let _ = pool;
        Vec::new()
    }
}

/// The drive's parts and times, in nanoseconds.
#[derive(Clone, Debug)]
pub struct TimedRules {
    /// Channels and dies.
    pub channels: u32,
    /// Dies of all channels.
    pub dies: u32,
    /// Blocks of each plane.
    pub blocks_per_plane: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Array times of reads by page type.
    pub read: Vec<u64>,
    /// Array times of programs by page type.
    pub program: Vec<u64>,
    /// Array time of an erase.
    pub erase: u64,
    /// Of an SLC region: blocks of a pool, those of its main region, and array times of read, program and erase.
    pub slc: Option<(u32, u32, [u64; 3])>,
    /// A command on a channel.
    pub command: u64,
    /// A page on a channel.
    pub transfer: u64,
    /// To suspend and to resume.
    pub suspend: u64,
    /// To resume.
    pub resume: u64,
    /// True for erases, and for programs, that reads suspend.
    pub suspends: [bool; 2],
    /// The most suspensions of one operation.
    pub suspend_limit: u32,
    /// Whether reads come first.
    pub read_first: bool,
    /// True if pages are copied within a plane.
    pub copyback: bool,
    /// True if the next program is loaded during one.
    pub cache_program: bool,
    /// Pages programmed together.
    pub together: u32,
    /// Requests in flight at most.
    pub queue_depth: usize,
    /// Read and write times of both memories.
    pub memories: [[u64; 2]; 2],
    /// Places in both memories.
    pub places: [usize; 2],
    /// Requests at the beginning, if others arrive when one is complete.
    pub closed: Option<usize>,
    /// Pools, and the rest after which one is collected, if that is done in the background.
    pub background: Option<(usize, u64)>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedKind {
    /// A read.
    Read,
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A copy in a plane.
    Copy,
}

/// An operation as it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOperation {
    /// What it does.
    pub kind: TimedKind,
    /// Whether it is of collection.
    pub collects: bool,
    /// The die.
    pub die: u32,
    /// When it was issued.
    pub issued: u64,
    /// When it began.
    pub start: Option<u64>,
    /// When it ended.
    pub end: Option<u64>,
}

/// A request as it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedServed {
    /// Arrival, acceptance, decision, completion.
    pub times: [u64; 4],
    /// Waits for buffer, collection, flash.
    pub waits: [u64; 3],
}
