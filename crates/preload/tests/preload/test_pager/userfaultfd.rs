//! `linux/userfaultfd.h`, as far as it is needed.

pub const API: u64 = 0xAA;
pub const UFFDIO_API: libc::c_ulong = 0xC018_AA3F;
pub const UFFDIO_REGISTER: libc::c_ulong = 0xC020_AA00;
pub const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_AA01;
pub const UFFDIO_WAKE: libc::c_ulong = 0x8010_AA02;
pub const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xC018_AA06;
pub const UFFDIO_CONTINUE: libc::c_ulong = 0xC020_AA07;
pub const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1;
pub const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
pub const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
pub const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
pub const REGISTER_MISSING: u64 = 1;
pub const REGISTER_WP: u64 = 2;
pub const REGISTER_MINOR: u64 = 4;
pub const WRITEPROTECT_MODE_WP: u64 = 1;
pub const CONTINUE_MODE_WP: u64 = 2;
pub const EVENT_PAGEFAULT: u8 = 0x12;
pub const FLAG_WRITE: u64 = 1;
pub const FLAG_WP: u64 = 2;

#[repr(C)]
pub struct Message {
    pub event: u8,
    pub reserved: [u8; 7],
    pub flags: u64,
    pub address: u64,
    pub thread: u64,
}
