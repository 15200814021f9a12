//! Calls that move no data: what opens, closes, names, maps and makes processes.

use super::calls::{Caller, NO_NAME, has, is_in_cache, sharing_of};
use super::line::{Descriptor, FileNote, string};
use super::processes::{Description, Mapping};
use crate::decode::output::Fault;
use crate::decode::scan;

/// Working folder of a process if the log does not say it.
const UNKNOWN_DIRECTORY: &[u8] = b"/(working directory)";

impl Caller<'_, '_> {
    /// Follows a call that moves no data.
    pub(super) fn follow_without_data(&mut self, returned: u64) -> Result<(), Fault> {
        match self.call.name {
            b"open" | b"openat" | b"openat2" | b"creat" => self.open(returned),
            b"close" => self.close(),
            b"close_range" => self.close_range(),
            b"dup" | b"dup2" | b"dup3" | b"fcntl" | b"fcntl64" => self.duplicate(returned),
            b"lseek" => self.seek(returned),
            b"_llseek" => self.seek_to_result(),
            b"unlink" | b"unlinkat" => self.unlink(),
            b"rename" | b"renameat" | b"renameat2" | b"link" | b"linkat" => self.rename(),
            b"mmap" | b"mmap2" => self.map(returned),
            b"munmap" | b"mremap" => self.unmap(returned),
            b"chdir" | b"fchdir" => self.change_directory(),
            b"clone" | b"clone3" | b"fork" | b"vfork" => self.fork(returned),
            b"execve" | b"execveat" => {
                self.log.end_memory(self.thread, self.time_ns, self.output)?;
                let (processes, mut telling) = self.parts();
                processes.1.exec(processes.0, &mut telling)
            }
            _ => self.stat(),
        }
    }

    fn open(&mut self, number: u64) -> Result<(), Fault> {
        let number = descriptor(number)?;
        let (directory, path, flags): (_, _, &[u8]) = match self.call.name {
            b"open" => (None, 0, self.argument(1).unwrap_or_default()),
            b"creat" => (None, 0, b"O_WRONLY|O_CREAT|O_TRUNC"),
            _ => (Some(0), 1, self.argument(2).unwrap_or_default()),
        };
        let path = self.path(directory, path);
        let note = self.call.returned_file();
        let note = note.or_else(|| path.map(|path| FileNote { path, is_deleted: false }));
        let Some(note) = note.filter(|note| is_in_cache(&note.path)) else {
            let ((thread, processes), mut telling) = self.parts();
            return processes.close(thread, number, &mut telling);
        };
        let file = self.log.files.open(&note)?;
        let mut description = Description::new(file);
        description.appends = has(flags, b"O_APPEND");
        description.is_direct = has(flags, b"O_DIRECT");
        description.is_synchronous = has(flags, b"O_SYNC") || has(flags, b"O_DSYNC");
        let closes_on_exec = has(flags, b"O_CLOEXEC");
        let ((thread, processes), mut telling) = self.parts();
        processes.open(thread, number, description, closes_on_exec, &mut telling)?;
        if has(flags, b"O_TRUNC") && (has(flags, b"O_WRONLY") || has(flags, b"O_RDWR")) {
            return self.log.files.truncate(file, 0, self.time_ns, self.output);
        }
        let is_new = has(flags, b"O_CREAT") && has(flags, b"O_EXCL") || has(flags, b"O_TMPFILE");
        if is_new { self.learn_length(file, 0) } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), Fault> {
        let descriptor = self.argument(0).and_then(Descriptor::read);
        let number = descriptor.and_then(|descriptor| descriptor.number);
        let number = number.ok_or("has no descriptor in argument 1")?;
        let ((thread, processes), mut telling) = self.parts();
        processes.close(thread, number, &mut telling)
    }

    fn close_range(&mut self) -> Result<(), Fault> {
        if self.argument(2).is_some_and(|flags| has(flags, b"CLOSE_RANGE_CLOEXEC")) {
            return Ok(());
        }
        let most = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let numbers = most(self.number(0)?)..=most(self.number(1)?);
        let ((thread, processes), mut telling) = self.parts();
        processes.close_range(thread, numbers, &mut telling)
    }

    /// `dup` and its sisters, and what fcntl does to a descriptor.
    fn duplicate(&mut self, returned: u64) -> Result<(), Fault> {
        let Some(number) = self.describe(0)? else {
            // Something that is not a file takes the place of what the number stood for.
            if self.call.name.starts_with(b"dup") {
                let number = descriptor(returned)?;
                let ((thread, processes), mut telling) = self.parts();
                return processes.close(thread, number, &mut telling);
            }
            return Ok(());
        };
        let mut closes_on_exec = false;
        if self.call.name.starts_with(b"fcntl") {
            let command = self.argument(1).unwrap_or_default();
            let flags = self.argument(2).unwrap_or_default();
            match command {
                b"F_SETFL" => {
                    let description = self.log.processes.get(number);
                    description.appends = has(flags, b"O_APPEND");
                    description.is_direct = has(flags, b"O_DIRECT");
                    return Ok(());
                }
                b"F_SETFD" => {
                    let slot = self.argument(0).and_then(Descriptor::read);
                    if let Some(slot) = slot.and_then(|descriptor| descriptor.number) {
                        let closes = has(flags, b"FD_CLOEXEC");
                        self.log.processes.set_closes_on_exec(self.thread, slot, closes);
                    }
                    return Ok(());
                }
                b"F_DUPFD" => {}
                b"F_DUPFD_CLOEXEC" => closes_on_exec = true,
                _ => return Ok(()),
            }
        } else {
            closes_on_exec = self.argument(2).is_some_and(|flags| has(flags, b"O_CLOEXEC"));
        }
        let to = descriptor(returned)?;
        let ((thread, processes), mut telling) = self.parts();
        if processes.description(thread, to) == Some(number) {
            return Ok(());
        }
        processes.duplicate(thread, to, number, closes_on_exec, &mut telling)
    }

    /// `_llseek(3, 0, [1048576], SEEK_SET) = 0`: the place stands in brackets.
    fn seek_to_result(&mut self) -> Result<(), Fault> {
        let result = self.call.arguments().find_map(|field| field.strip_prefix(b"["));
        let (place, _) = result.and_then(scan::leading_decimal).ok_or("has no offset in []")?;
        self.seek(place)
    }

    fn seek(&mut self, returned: u64) -> Result<(), Fault> {
        let Some(number) = self.describe(0)? else { return Ok(()) };
        let description = self.log.processes.get(number);
        description.offset = returned;
        let file = description.file;
        if self.call.name == b"lseek" && self.argument(2) == Some(b"SEEK_END") {
            let from_end = self.argument(1).and_then(|field| std::str::from_utf8(field).ok());
            let from_end: Option<i64> = from_end.and_then(|text| text.parse().ok());
            if let Some(end) =
                from_end.and_then(|offset| returned.checked_add_signed(offset.checked_neg()?))
            {
                return self.learn_length(file, end);
            }
        }
        Ok(())
    }

    /// A length in the result of a stat call, for a file that the log has met.
    fn stat(&mut self) -> Result<(), Fault> {
        let arguments = self.call.arguments;
        if memchr::memmem::find(arguments, b"S_IFREG").is_none() {
            return Ok(());
        }
        let find = |key: &[u8]| {
            memchr::memmem::rfind(arguments, key).map(|start| &arguments[start + key.len()..])
        };
        let Some(digits) = find(b"st_size=").or_else(|| find(b"stx_size=")) else { return Ok(()) };
        let (bytes, _) = scan::leading_decimal(digits).ok_or("has no number for the size")?;
        let descriptor = self.argument(0).and_then(Descriptor::read);
        let file = match (descriptor, self.argument(1)) {
            (None, _) => self.path(None, 0).and_then(|path| self.log.files.named(&path)),
            (Some(_), Some(path)) if path.starts_with(b"\"") && path != b"\"\"" => {
                self.path(Some(0), 1).and_then(|path| self.log.files.named(&path))
            }
            (Some(Descriptor { number: None, .. }), _) => None,
            (Some(_), _) => self.describe(0)?.map(|number| self.log.processes.get(number).file),
        };
        match file {
            Some(file) => self.learn_length(file, bytes),
            None => Ok(()),
        }
    }

    fn unlink(&mut self) -> Result<(), Fault> {
        let path = match self.call.name {
            b"unlink" => self.path(None, 0),
            _ if self.argument(2).is_some_and(|flags| has(flags, b"AT_REMOVEDIR")) => return Ok(()),
            _ => self.path(Some(0), 1),
        };
        let Some(path) = path else { return self.leave_out(NO_NAME) };
        self.log.files.unlink(&path, self.time_ns, self.output)
    }

    /// Renames and links.
    fn rename(&mut self) -> Result<(), Fault> {
        let (from, to) = match self.call.name {
            b"rename" | b"link" => (self.path(None, 0), self.path(None, 1)),
            _ => (self.path(Some(0), 1), self.path(Some(2), 3)),
        };
        let (Some(from), Some(to)) = (from, to) else { return self.leave_out(NO_NAME) };
        let files = &mut self.log.files;
        if self.call.name.starts_with(b"link") {
            files.link(&from, &to);
        } else if self.call.arguments().nth(4).is_some_and(|flags| has(flags, b"RENAME_EXCHANGE")) {
            files.exchange(&from, &to);
        } else {
            files.rename(&from, &to, self.time_ns, self.output)?;
        }
        Ok(())
    }

    fn map(&mut self, start: u64) -> Result<(), Fault> {
        let addresses = start..start.saturating_add(self.number(1)?);
        let is_of_file = !self.argument(3).is_some_and(|flags| has(flags, b"MAP_ANONYMOUS"));
        let number = if is_of_file { self.describe(4)? } else { None };
        let file = number.map(|number| self.log.processes.get(number).file);
        let is_shared = self.argument(3).is_some_and(|flags| has(flags, b"MAP_SHARED"));
        // Some logs tell no offset, or count it in pages; it matters with references to memory only.
        let offset = self.argument(5).and_then(scan::decimal_or_hex).unwrap_or(0);
        self.release_memory(addresses.clone())?;
        let ((thread, processes), mut telling) = self.parts();
        processes.unmap(thread, addresses.clone(), &mut telling)?;
        if let Some(file) = file.filter(|_| !addresses.is_empty()) {
            let mapping = Mapping::new(&addresses, file, offset, is_shared);
            processes.map(thread, addresses.start, mapping, &mut telling)?;
            self.log.mappings += 1;
        }
        Ok(())
    }

    fn unmap(&mut self, returned: u64) -> Result<(), Fault> {
        let addresses = self.addresses(0, 1)?;
        let moved = match self.call.name {
            b"mremap" => Some(returned..returned.saturating_add(self.number(2)?)),
            _ => None,
        };
        self.release_memory(addresses.clone())?;
        if let Some(moved) = &moved {
            self.release_memory(moved.clone())?;
        }
        let ((thread, processes), mut telling) = self.parts();
        let mapped = processes.mapping_at(thread, addresses.start).map(|(start, mapping)| {
            let offset = mapping.offset.saturating_add(addresses.start - start);
            Mapping { offset, ..mapping }
        });
        // Its new place keeps the file in use while the old one goes.
        if let Some(Mapping { file, .. }) = mapped {
            telling.files.hold(file);
        }
        processes.unmap(thread, addresses, &mut telling)?;
        if let Some(moved) = moved {
            processes.unmap(thread, moved.clone(), &mut telling)?;
            if let Some(Mapping { file, offset, is_shared, .. }) =
                mapped.filter(|_| !moved.is_empty())
            {
                let mapping = Mapping::new(&moved, file, offset, is_shared);
                processes.map(thread, moved.start, mapping, &mut telling)?;
            }
        }
        match mapped {
            Some(Mapping { file, .. }) => telling.release(file),
            None => Ok(()),
        }
    }

    fn change_directory(&mut self) -> Result<(), Fault> {
        let path = match self.call.name {
            b"chdir" => self.path(None, 0),
            _ => self
                .argument(0)
                .and_then(Descriptor::read)
                .and_then(|directory| directory.file)
                .map(|note| note.path),
        };
        let Some(path) = path else { return self.leave_out(NO_NAME) };
        self.log.processes.set_directory(self.thread, path);
        Ok(())
    }

    fn fork(&mut self, child: u64) -> Result<(), Fault> {
        let child = u32::try_from(child).map_err(|_| "has a process above 4294967295")?;
        let sharing = sharing_of(self.call.name, self.call.arguments);
        if !sharing.process {
            self.log.copy_memory(self.thread, child);
        }
        let ((parent, processes), mut telling) = self.parts();
        processes.fork(parent, child, sharing, false, &mut telling)
    }

    /// The absolute path of a name, which may begin at the directory in another argument.
    pub(super) fn path(&mut self, directory: Option<usize>, index: usize) -> Option<Vec<u8>> {
        let name = string(self.argument(index)?)?;
        if name.starts_with(b"/") {
            return Some(normal(&name));
        }
        let descriptor =
            directory.and_then(|index| self.argument(index)).and_then(Descriptor::read);
        let is_working = descriptor.as_ref().is_none_or(|descriptor| descriptor.number.is_none());
        let noted = descriptor.and_then(|descriptor| descriptor.file).map(|note| note.path);
        if let Some(path) = noted.as_ref().filter(|_| is_working) {
            self.log.processes.set_directory(self.thread, path.clone());
        }
        let base = match noted {
            Some(path) => path,
            None if is_working => {
                self.log.processes.directory(self.thread).unwrap_or(UNKNOWN_DIRECTORY).to_vec()
            }
            None => return None,
        };
        Some(normal(&[&base, &b"/"[..], &name].concat()))
    }
}

fn descriptor(returned: u64) -> Result<u32, Fault> {
    u32::try_from(returned).map_err(|_| "returns no descriptor".into())
}

/// An absolute path without `.`, `..` and doubled slashes.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut normal = Vec::with_capacity(path.len());
    for part in parts {
        normal.push(b'/');
        normal.extend_from_slice(part);
    }
    if normal.is_empty() { b"/".to_vec() } else { normal }
}
