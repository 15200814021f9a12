//! A file system that keeps files in memory and loses power on command. Of each sector that no sync covers it then
//! keeps any version, independently of others.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, ReplyXattr, Request, WriteFlags,
};

const SECTOR_BYTES: usize = 512;
const NOT_KEPT: Duration = Duration::ZERO;

type Sector = [u8; SECTOR_BYTES];
type Names = BTreeMap<OsString, u64>;
type Attributes = BTreeMap<OsString, Vec<u8>>;

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    /// Of each sector that no sync covers the versions that it had, the durable one first.
    versions: HashMap<usize, Vec<Sector>>,
    attributes: Attributes,
    durable_attributes: Attributes,
}

impl File {
    fn write(&mut self, at: usize, data: &[u8]) {
        let end = at + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end.next_multiple_of(SECTOR_BYTES), 0);
        }
        let sectors = at / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES);
        for sector in sectors.clone() {
            self.versions.entry(sector).or_insert_with(|| vec![sector_of(&self.bytes, sector)]);
        }
        self.bytes[at..end].copy_from_slice(data);
        for sector in sectors {
            let versions = self.versions.get_mut(&sector).expect("it was just put there");
            versions.push(sector_of(&self.bytes, sector));
        }
    }

    fn sync(&mut self) {
        self.versions.clear();
        self.durable_attributes.clone_from(&self.attributes);
    }

    fn lose_power(&mut self, draw: &mut impl FnMut(usize) -> usize) {
        let mut versions: Vec<_> = self.versions.drain().collect();
        versions.sort_by_key(|(sector, _)| *sector);
        for (sector, versions) in versions {
            let kept = versions[draw(versions.len())];
            self.bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES].copy_from_slice(&kept);
        }
        if draw(2) == 0 {
            self.attributes.clone_from(&self.durable_attributes);
        }
        self.durable_attributes.clone_from(&self.attributes);
    }
}

fn sector_of(bytes: &[u8], sector: usize) -> Sector {
    bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES].try_into().expect("a whole sector")
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<u64, File>,
    names: Names,
    durable_names: Names,
    last_number: u64,
    /// Changes and syncs until the power fails.
    rest: Option<u64>,
    has_no_power: bool,
}

impl Inner {
    /// A change or a sync: whether its answer still comes. The change itself may be kept all the same.
    fn take_one(&mut self) -> Result<(), Errno> {
        if let Some(rest) = &mut self.rest {
            *rest = rest.saturating_sub(1);
            self.has_no_power |= *rest == 0;
        }
        if self.has_no_power { Err(Errno::EIO) } else { Ok(()) }
    }

    fn file(&mut self, number: INodeNo) -> Result<&mut File, Errno> {
        if self.has_no_power {
            return Err(Errno::EIO);
        }
        self.files.get_mut(&number.0).ok_or(Errno::ENOENT)
    }

    fn attributes_of(&self, number: u64) -> FileAttr {
        let is_folder = number == INodeNo::ROOT.0;
        let size = self.files.get(&number).map_or(0, |file| file.bytes.len() as u64);
        // Safety of access does not matter here: who runs the test may do everything.
        let owner = rustix::process::geteuid().as_raw();
        FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_folder { FileType::Directory } else { FileType::RegularFile },
            perm: if is_folder { 0o700 } else { 0o600 },
            nlink: 1,
            uid: owner,
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

/// The drive: its files are below the folder where it is mounted.
#[derive(Clone, Default)]
pub struct Drive(Arc<Mutex<Inner>>);

impl Drive {
    /// A drive that is mounted until the session is dropped.
    pub fn mount(folder: &Path) -> std::io::Result<(Drive, BackgroundSession)> {
        let drive = Drive::default();
        let session = fuser::spawn_mount(drive.clone(), folder, &Config::default())?;
        Ok((drive, session))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// The power comes back, and fails after this number of further changes and syncs, if it is given.
    pub fn power_on(&self, rest: Option<u64>) {
        let mut inner = self.inner();
        inner.rest = rest;
        inner.has_no_power = false;
    }

    /// Tells whether the power has failed.
    pub fn has_no_power(&self) -> bool {
        self.inner().has_no_power
    }

    /// The power fails, if it has not before; what is there afterwards is drawn.
    pub fn lose_power(&self, draw: &mut impl FnMut(usize) -> usize) {
        let mut inner = self.inner();
        inner.has_no_power = true;
        inner.files.values_mut().for_each(|file| file.lose_power(draw));
        if draw(2) == 0 {
            inner.names = inner.durable_names.clone();
        }
        inner.durable_names = inner.names.clone();
    }

    /// Carries out a change of a file.
    fn change(&self, number: INodeNo, change: impl FnOnce(&mut File)) -> Result<(), Errno> {
        let mut inner = self.inner();
        change(inner.file(number)?);
        inner.take_one()
    }

    /// A sync: it counts only if its answer comes.
    fn sync(&self, sync: impl FnOnce(&mut Inner)) -> Result<(), Errno> {
        let mut inner = self.inner();
        inner.take_one()?;
        sync(&mut inner);
        Ok(())
    }

    fn rename_file(&self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        let mut inner = self.inner();
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && inner.names.contains_key(to) {
            return Err(Errno::EEXIST);
        }
        inner.take_one()?;
        let number = inner.names.remove(from).ok_or(Errno::ENOENT)?;
        inner.names.insert(to.to_owned(), number);
        Ok(())
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

/// No file's content is kept by the kernel: it would outlive the failure.
const UNCACHED: FopenFlags = FopenFlags::FOPEN_DIRECT_IO;

impl Filesystem for Drive {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inner = self.inner();
        match inner.names.get(name) {
            Some(&number) => {
                reply.entry(&NOT_KEPT, &inner.attributes_of(number), Generation(0));
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&NOT_KEPT, &self.inner().attributes_of(number.0));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.change(number, |file| {
            if let Some(size) = size {
                file.bytes.resize(size as usize, 0);
            }
        });
        match done {
            Ok(()) => reply.attr(&NOT_KEPT, &self.inner().attributes_of(number.0)),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut inner = self.inner();
        if let Err(error) = inner.take_one() {
            return reply.error(error);
        }
        inner.last_number += 1;
        let number = INodeNo::ROOT.0 + inner.last_number;
        inner.files.insert(number, File::default());
        inner.names.insert(name.to_owned(), number);
        let attributes = inner.attributes_of(number);
        reply.created(&NOT_KEPT, &attributes, Generation(0), FileHandle(0), UNCACHED);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), UNCACHED);
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut inner = self.inner();
        let done = inner.take_one().and_then(|()| match inner.names.remove(name) {
            Some(_) => Ok(()),
            None => Err(Errno::ENOENT),
        });
        answer(reply, done);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        to: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.rename_file(name, to, flags));
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.inner().file(number) {
            Ok(file) => {
                let end = file.bytes.len();
                let from = (offset as usize).min(end);
                reply.data(&file.bytes[from..(from + size as usize).min(end)]);
            }
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.change(number, |file| file.write(offset as usize, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let done = self.change(number, |file| match mode {
            0 => {
                let bytes = file.bytes.len().max((offset + length) as usize);
                file.bytes.resize(bytes, 0);
            }
            // A hole, or zeros.
            _ => file.write(offset as usize, &vec![0; length as usize]),
        });
        answer(reply, done);
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let sync = |inner: &mut Inner| {
            inner.files.entry(number.0).and_modify(File::sync);
        };
        answer(reply, self.sync(sync));
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let sync = |inner: &mut Inner| inner.durable_names = inner.names.clone();
        answer(reply, self.sync(sync));
    }

    fn setxattr(
        &self,
        _: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let set = |file: &mut File| drop(file.attributes.insert(name.to_owned(), value.to_vec()));
        answer(reply, self.change(number, set));
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let mut inner = self.inner();
        let value = inner.file(number).map(|file| file.attributes.get(name));
        match value {
            Ok(Some(value)) if size == 0 => reply.size(value.len() as u32),
            Ok(Some(value)) => reply.data(value),
            Ok(None) => reply.error(Errno::NO_XATTR),
            Err(error) => reply.error(error),
        }
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let remove = |file: &mut File| drop(file.attributes.remove(name));
        answer(reply, self.change(number, remove));
    }
}
