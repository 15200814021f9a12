//! The protocol between a paged program and its pager.
//!
//! The pager gives its programs an *inherited socket*: one end of a pair of Unix sockets of sequenced packets, which a
//! program inherits from its parent over fork and exec. It has no name, so others cannot find it. Its number and its
//! inode are in [`SOCKET_VARIABLE`], in decimal, separated by a colon.
//!
//! To connect, a program makes a pair of sockets of sequenced packets of its own and sends one of them through the
//! inherited socket, with a packet of the one byte [`CONNECT`]. The kernel tells the pager which process made the pair.
//! The connection begins with one [`Request`] of the program:
//!
//! * [`RequestKind::Attach`], with the descriptor of a userfaultfd of the program: the pager answers with a [`Reply`]
//!   and the descriptor of the memory file. The program maps it, shared, and sends [`Mapped`]; the pager registers the
//!   mapping and answers with a second [`Reply`]. From then on the pager sends [`Unmap`] and the program answers each
//!   with [`UNMAPPED`]; at last it may send an [`Unmap`] that [ends](Unmap::ends) the thread that receives it, or the
//!   program, and expects no answer. The connection lasts as long as the program's memory. If it closes, the program
//!   knows that the pager is gone. The pager knows that the program has ended or has been replaced by exec.
//! * [`RequestKind::Discard`], [`RequestKind::GiveAway`], [`RequestKind::Part`] and [`RequestKind::Unpaged`]: answered with
//!   one [`Reply`].
//! * [`RequestKind::BeginFork`]: answered with one [`Reply`]. From then on no page changes until the program sends
//!   [`RequestKind::EndFork`] over the same connection, which is answered with another [`Reply`], or closes it. The
//!   copy for the child lasts as long as the connection is open, for parent or child.
//!
//! A program may attach if its user is the pager's. Memories and copies are named by [`Token`]s that cannot be guessed,
//! and requests for a memory are accepted only from the process that attached it.
//!
//! Both sides come from the same build and run on the same machine, so structures are sent as they are in memory.
#![no_std]

/// The environment variable with the number and the inode of the inherited socket.
pub const SOCKET_VARIABLE: &str = "CLOCKHAND_PAGER";

/// The environment variable with the path of a program that is linked statically, in whose place the library is executed.
pub const HOSTED_VARIABLE: &str = "CLOCKHAND_STATIC";

/// The environment variable with the path by which that program, or its script, is executed.
pub const EXECUTED_VARIABLE: &str = "CLOCKHAND_EXECUTED";

/// What stands before the name `LD_PRELOAD` in the environment of such a program until it begins.
pub const PRELOAD_PREFIX: &str = "CLOCKHAND_";

/// What is sent through the inherited socket together with one end of a connection.
pub const CONNECT: u8 = b'k';

/// Names a memory, or a copy for a forked child: random, and known to its owner only.
pub type Token = [u64; 2];

/// The token of nothing.
pub const NO_TOKEN: Token = [0; 2];

/// Bytes of a page, of memory and in the swap file.
pub const PAGE_BYTES: usize = 4096;

/// Changes whenever a structure or its meaning changes.
pub const VERSION: u32 = 5;

/// What a program wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RequestKind {
    /// Memory. With `fork` not [`NO_TOKEN`]: the private copy that [`RequestKind::BeginFork`] prepared.
    Attach = 1,
    /// The contents of these pages are forgotten: they read as zeros from now on.
    Discard = 2,
    /// A copy of all pages, for a child that is about to be forked. Until [`RequestKind::EndFork`], or the end of the
    /// connection, no page changes.
    BeginFork = 3,
    /// The child has been forked, or could not be. With `fork` not [`NO_TOKEN`]: none has been, and this copy ends now.
    EndFork = 4,
    /// The program is about to ask where it may run, or to choose it: its threads are let go from the pager's processor,
    /// if it chooses for good.
    Part = 5,
    /// The program is about to end, and has this much unpaged memory.
    Unpaged = 6,
    /// As [`RequestKind::Discard`], and the program maps something else over these pages: the pager watches them no longer.
    GiveAway = 7,
}

/// The first packet of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// A [`RequestKind`] as a number.
    pub kind: u32,
    /// Attach: 0, or the error number if this packet has no userfaultfd.
    pub error: i32,
    /// Attach: 1 if the program has a heap of its own, so that little of it will be paged.
    pub has_own_heap: u32,
    /// Which memory is meant, from the reply to its attaching; [`NO_TOKEN`] when attaching.
    pub memory: Token,
    /// Attach, EndFork: the token that BeginFork was answered with, or [`NO_TOKEN`].
    pub fork: Token,
    /// Discard, GiveAway: the first page, counted from the start of the memory.
    pub first_page: u64,
    /// Discard, GiveAway: how many pages. Part: 1 if the program chooses where it runs, 0 if it asks. Unpaged: how many pages, but not
    /// of the pager.
    pub pages: u64,
    /// Attach: the program's name, filled up with zeros.
    pub name: [u8; 32],
}

/// A refusal after which the program cannot go on.
pub const REFUSED: u32 = 1;

/// A refusal of a program that may run without paged memory: it is not its pager's user.
pub const UNPAGED: u32 = 2;

/// What the pager answers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reply {
    /// [`VERSION`].
    pub version: u32,
    /// 0, or why the request is refused: [`REFUSED`] or [`UNPAGED`]; `sentence` says more.
    pub refused: u32,
    /// Attach: the token by which later requests name this memory.
    pub memory: Token,
    /// Attach: bytes of the memory, a multiple of [`PAGE_BYTES`].
    pub memory_bytes: u64,
    /// BeginFork: the token by which the child names its copy.
    pub fork: Token,
    /// Why the request is refused, in UTF-8, filled up with zeros.
    pub sentence: [u8; 256],
}

/// The address of the memory file in the program.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Mapped {
    /// Address of the first page.
    pub address: u64,
}

/// Pages in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct PageRange {
    /// The first, counted from the start of the memory.
    pub first_page: u32,
    /// How many.
    pub pages: u32,
}

/// How many ranges one [`Unmap`] names at most.
pub const UNMAP_RANGES: usize = 255;

/// No other thread of the program is left, so that the one which works for the pager ends too.
pub const ENDS_THREAD: u16 = 1;

/// The program ends, because of [`CHANGED_MAPPING`].
pub const ENDS_PROGRAM: u16 = 2;

/// Why a program ends that makes `munmap`, `mremap` or a fixed `mmap` past the C library, over or from its paged memory.
pub const CHANGED_MAPPING: &str = "the program has unmapped or moved a part of its paged memory, or mapped something over it, by \
    system calls of its own, which the pager cannot follow: it ends before it sees wrong contents; run it unpaged";

/// The program is to drop the translations of these pages (`MADV_DONTNEED`): they stay in the memory file, and the
/// next access to one is a fault.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Unmap {
    /// The number of `ranges` that count, from the first.
    pub ranges_used: u32,
    /// 0, or what ends instead: [`ENDS_THREAD`] or [`ENDS_PROGRAM`].
    pub ends: u16,
    /// The code with which the thread ends, which may become that of its process.
    pub code: u16,
    /// The ranges.
    pub ranges: [PageRange; UNMAP_RANGES],
}

/// The answer to [`Unmap`]: a packet of this one byte.
pub const UNMAPPED: u8 = b'u';

/// Types that may be sent as they are in memory: structures without padding, valid for any bytes.
pub trait Packet: Copy + Sized {
    /// Everything 0, but the version.
    const ZERO: Self;

    /// The structure as bytes.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: implementors have no padding, so that every byte is initialised.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }

    /// The structure as bytes, to receive into.
    fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: implementors have no padding and are valid for any bytes.
        unsafe { core::slice::from_raw_parts_mut((&raw mut *self).cast(), size_of::<Self>()) }
    }
}

impl Packet for Request {
    const ZERO: Self = Request {
        version: VERSION,
        kind: 0,
        error: 0,
        has_own_heap: 0,
        memory: NO_TOKEN,
        fork: NO_TOKEN,
        first_page: 0,
        pages: 0,
        name: [0; 32],
    };
}

impl Packet for Reply {
    const ZERO: Self = Reply {
        version: VERSION,
        refused: 0,
        memory: NO_TOKEN,
        memory_bytes: 0,
        fork: NO_TOKEN,
        sentence: [0; 256],
    };
}

impl Packet for Mapped {
    const ZERO: Self = Mapped { address: 0 };
}

impl Packet for Unmap {
    const ZERO: Self = Unmap {
        ranges_used: 0,
        ends: 0,
        code: 0,
        ranges: [PageRange { first_page: 0, pages: 0 }; UNMAP_RANGES],
    };
}

impl Unmap {
    /// The bytes up to the last range that is used.
    pub fn used_bytes(&self) -> &[u8] {
        let ranges = (self.ranges_used as usize).min(UNMAP_RANGES);
        &self.as_bytes()[..size_of::<u64>() + ranges * size_of::<PageRange>()]
    }
}
