//! The file of a program that is linked statically: which files are, and mapped as the kernel would map it.

use core::ffi::c_int;
use core::mem::zeroed;
use core::slice;

use clockhand_pager_protocol::PAGE_BYTES;
use libc::{Elf64_Ehdr, Elf64_Phdr, PF_R, PF_W, PF_X, PT_DYNAMIC, PT_INTERP, PT_LOAD};

use crate::system::{self, ErrorNumber, Result};

/// A program has a dozen.
const MOST_HEADERS: usize = 64;
/// Entries of the dynamic section that are looked at, a page of them.
const MOST_ENTRIES: usize = PAGE_BYTES / size_of::<[u64; 2]>();

/// Kinds of files: a program at a fixed place, and one, or a library, at any place.
const FIXED: u16 = 2;
const ANYWHERE: u16 = 3;
const X86_64: u16 = 62;
/// The entry of the dynamic section, and its flag, of a program that is no library.
const FLAGS_1: u64 = 0x6fff_fffb;
const FLAG_PROGRAM: u64 = 0x0800_0000;

/// A program in memory.
pub(super) struct Image {
    /// Where it begins.
    pub entry: usize,
    /// Where its program headers are.
    pub headers: usize,
    /// How many of these.
    pub header_count: usize,
}

/// What the file says of itself.
struct File {
    descriptor: c_int,
    header: Elf64_Ehdr,
    segments: [Elf64_Phdr; MOST_HEADERS],
    count: usize,
}

/// Reads structures of numbers from a place in a file.
///
/// # Safety
/// Any bytes are valid for `T`.
unsafe fn read_at<T>(descriptor: c_int, place: u64, into: &mut [T]) -> Result<usize> {
    let bytes = size_of_val(into);
    let arguments = [descriptor as usize, into.as_mut_ptr() as usize, bytes, place as usize, 0, 0];
    // SAFETY: the bytes lie where the slice says, and the rest is as the caller promises.
    unsafe { system::call(libc::SYS_pread64, arguments) }.map(|read| read / size_of::<T>())
}

impl File {
    fn read(descriptor: c_int) -> Result<File> {
        let not_executable = ErrorNumber(libc::ENOEXEC);
        // SAFETY: structures of numbers, for which any bytes are valid.
        unsafe {
            let mut file = File { descriptor, header: zeroed(), segments: zeroed(), count: 0 };
            let read = read_at(descriptor, 0, slice::from_mut(&mut file.header))?;
            let header = &file.header;
            file.count = header.e_phnum.into();
            let is_program = read == 1
                && header.e_ident.starts_with(b"\x7fELF\x02\x01")
                && header.e_machine == X86_64
                && matches!(header.e_type, FIXED | ANYWHERE)
                && usize::from(header.e_phentsize) == size_of::<Elf64_Phdr>()
                && (1..=MOST_HEADERS).contains(&file.count);
            if !is_program {
                return Err(not_executable);
            }
            let segments = &mut file.segments[..file.count];
            if read_at(descriptor, header.e_phoff, segments)? != file.count {
                return Err(not_executable);
            }
            Ok(file)
        }
    }

    fn segments(&self, kind: u32) -> impl Iterator<Item = &Elf64_Phdr> {
        self.segments[..self.count].iter().filter(move |segment| segment.p_type == kind)
    }

    /// Libraries, and the loader itself, name no loader either, but do not call themselves programs.
    fn is_static_program(&self) -> bool {
        if self.segments(PT_INTERP).next().is_some() || self.segments(PT_LOAD).next().is_none() {
            return false;
        }
        let mut entries = [[0_u64; 2]; MOST_ENTRIES];
        let used = self.segments(PT_DYNAMIC).next().map_or(0, |dynamic| {
            let most = (dynamic.p_filesz as usize / size_of::<[u64; 2]>()).min(MOST_ENTRIES);
            // SAFETY: numbers.
            let read = unsafe { read_at(self.descriptor, dynamic.p_offset, &mut entries[..most]) };
            read.unwrap_or(0)
        });
        let calls_itself_program =
            entries[..used].iter().any(|&[tag, value]| tag == FLAGS_1 && value & FLAG_PROGRAM != 0);
        self.header.e_type == FIXED || calls_itself_program
    }
}

/// Is this the file of a program that is linked statically?
pub(super) fn is_static_program(descriptor: c_int) -> bool {
    File::read(descriptor).is_ok_and(|file| file.is_static_program())
}

/// Maps a program.
pub(super) fn load(descriptor: c_int) -> Result<Image> {
    let file = File::read(descriptor)?;
    if !file.is_static_program() {
        return Err(ErrorNumber(libc::ENOEXEC));
    }
    let (base, how) = match file.header.e_type {
        FIXED => (0, libc::MAP_FIXED_NOREPLACE),
        _ => (reserve(&file)?, libc::MAP_FIXED),
    };
    let mut headers = 0;
    for segment in file.segments(PT_LOAD) {
        // SAFETY: a new mapping, or one in the reserved part.
        unsafe { map(&file, segment, base, how)? };
        let (first, place) = (segment.p_offset, file.header.e_phoff);
        if place >= first && place < first + segment.p_filesz {
            headers = base + (segment.p_vaddr + place - first) as usize;
        }
    }
    let entry = base + file.header.e_entry as usize;
    Ok(Image { entry, headers, header_count: file.count })
}

/// Finds a place for a program that may lie anywhere.
fn reserve(file: &File) -> Result<usize> {
    let ends = file.segments(PT_LOAD).map(|segment| segment.p_vaddr + segment.p_memsz);
    let bytes = ends.max().unwrap_or(0) as usize;
    let alignments = file.segments(PT_LOAD).map(|segment| segment.p_align as usize);
    let alignment = alignments.max().unwrap_or(0).max(PAGE_BYTES);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let room = bytes.saturating_add(alignment);
    // SAFETY: a new mapping.
    let address = unsafe { system::mmap(0, room, libc::PROT_NONE, flags, -1, 0) }?;
    Ok(address.next_multiple_of(alignment))
}

/// # Safety
/// Nothing else lies there, if that is replaced.
unsafe fn map(file: &File, segment: &Elf64_Phdr, base: usize, how: c_int) -> Result<()> {
    let may =
        |flag: u32, protection: c_int| if segment.p_flags & flag != 0 { protection } else { 0 };
    let protection =
        may(PF_R, libc::PROT_READ) | may(PF_W, libc::PROT_WRITE) | may(PF_X, libc::PROT_EXEC);
    let start = base + segment.p_vaddr as usize;
    let (file_end, end) = (start + segment.p_filesz as usize, start + segment.p_memsz as usize);
    let in_page = start % PAGE_BYTES;
    let mut mapped_end = start - in_page;
    // SAFETY: as the caller promises; what is overwritten with zeros is the rest of a page that belongs to the segment.
    unsafe {
        if segment.p_filesz > 0 {
            let bytes = file_end - mapped_end;
            let offset = segment.p_offset as i64 - in_page as i64;
            let flags = libc::MAP_PRIVATE | how;
            system::mmap(mapped_end, bytes, protection, flags, file.descriptor, offset)?;
            mapped_end = file_end.next_multiple_of(PAGE_BYTES);
            if end > file_end && protection & libc::PROT_WRITE != 0 {
                core::ptr::write_bytes(file_end as *mut u8, 0, mapped_end - file_end);
            }
        }
        let end = end.next_multiple_of(PAGE_BYTES);
        if end > mapped_end {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | how;
            system::mmap(mapped_end, end - mapped_end, protection, flags, -1, 0)?;
        }
    }
    Ok(())
}
