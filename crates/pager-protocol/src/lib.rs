//! What a paged program and its pager say to each other.
//!
//! The library that is preloaded into a program and the pager, a process of its own, talk over Unix sockets of
//! sequenced packets whose abstract address stands in [`SOCKET_VARIABLE`]. A connection begins with one [`Request`]
//! of the program:
//!
//! * [`RequestKind::Attach`], with the descriptor of a userfaultfd of the program: the pager answers with a [`Reply`]
//!   and the descriptor of the memory file. The program maps it, shared, and sends [`Mapped`]; the pager registers
//!   the mapping and answers with a second [`Reply`]. From then on the pager sends [`Unmap`] and the program answers
//!   each with [`UNMAPPED`]. The connection lasts as long as the program's memory: when it ends for the program, the
//!   pager is gone; when it ends for the pager, the program has ended, or has been replaced by exec.
//! * [`RequestKind::Discard`], [`RequestKind::BeginFork`] and [`RequestKind::EndFork`]: answered with one [`Reply`].
//!
//! Both sides are of one build and one machine, so that structures travel as they lie in memory.
#![no_std]

/// The environment variable with the pager's address: an abstract Unix socket, without its leading zero byte.
pub const SOCKET_VARIABLE: &str = "CLOCKHAND_PAGER";

/// Bytes of a page, of memory and in the swap file.
pub const PAGE_BYTES: usize = 4096;

/// Changes whenever a structure or its meaning changes.
pub const VERSION: u32 = 1;

/// What a program wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RequestKind {
    /// Memory. With `fork` not 0: the private copy that [`RequestKind::BeginFork`] prepared.
    Attach = 1,
    /// The contents of these pages are forgotten: they read as zeros from now on.
    Discard = 2,
    /// A copy of all pages, for a child that is about to be forked. Until [`RequestKind::EndFork`] no page changes.
    BeginFork = 3,
    /// The child has been forked, or could not be.
    EndFork = 4,
}

/// The first packet of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// A [`RequestKind`] as a number.
    pub kind: u32,
    /// The program's process id.
    pub process: i32,
    /// Attach: 0, or the error number for which there is no userfaultfd in this packet.
    pub error: i32,
    /// Which memory is meant, from the reply to its attaching; 0 when attaching.
    pub memory: u64,
    /// Attach and EndFork: the number that BeginFork was answered with, or 0.
    pub fork: u64,
    /// Discard: the first page, counted from the start of the memory.
    pub first_page: u64,
    /// Discard: how many pages.
    pub pages: u64,
    /// Attach: the program's name, filled up with zeros.
    pub name: [u8; 32],
}

/// What the pager answers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reply {
    /// [`VERSION`].
    pub version: u32,
    /// 0, or 1 when the request is refused and `sentence` says why.
    pub refused: u32,
    /// Attach: the number by which later requests name this memory.
    pub memory: u64,
    /// Attach: bytes of the memory, a multiple of [`PAGE_BYTES`].
    pub memory_bytes: u64,
    /// BeginFork: the number by which the child names its copy.
    pub fork: u64,
    /// Why the request is refused, in UTF-8, filled up with zeros.
    pub sentence: [u8; 256],
}

/// Where the program has mapped the memory file.
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

/// The program is to drop the translations of these pages (`MADV_DONTNEED`): they stay in the memory file, and the
/// next access to one is a fault.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Unmap {
    /// How many of `ranges` are meant, from the first.
    pub ranges_used: u32,
    /// Without meaning.
    pub reserved: u32,
    /// The ranges.
    pub ranges: [PageRange; UNMAP_RANGES],
}

/// The answer to [`Unmap`]: a packet of this one byte.
pub const UNMAPPED: u8 = b'u';

/// What may travel as it lies in memory: structures without padding, valid for any bytes.
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
        process: 0,
        error: 0,
        memory: 0,
        fork: 0,
        first_page: 0,
        pages: 0,
        name: [0; 32],
    };
}

impl Packet for Reply {
    const ZERO: Self = Reply {
        version: VERSION,
        refused: 0,
        memory: 0,
        memory_bytes: 0,
        fork: 0,
        sentence: [0; 256],
    };
}

impl Packet for Mapped {
    const ZERO: Self = Mapped { address: 0 };
}

impl Packet for Unmap {
    const ZERO: Self = Unmap {
        ranges_used: 0,
        reserved: 0,
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
