//! Measures the memory that the pager does not page: the kernel counts anonymous memory, and paged memory belongs to a
//! file.

use std::fs;
use std::path::Path;

/// Bytes of anonymous memory that a process has now; `None` if it has ended.
pub(crate) fn anonymous_bytes(process: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    counted(&status, "RssAnon:")
}

/// Bytes of anonymous memory that a program, of which nothing is paged, had at its peak; `None` if it has ended. The kernel
/// keeps the peak of all resident memory, of which what is mapped from files now is taken off. `folder` is that of the
/// process in /proc.
pub(crate) fn peak_anonymous_bytes(folder: &Path) -> Option<u64> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let now = counted(&status, "RssAnon:")?;
    let peak = counted(&status, "VmHWM:")?;
    Some(now.max(peak.saturating_sub(counted(&status, "RssFile:")?)))
}

fn counted(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_counted_and_that_of_no_process_is_not() {
        let process = std::process::id() as i32;
        let before = anonymous_bytes(process).expect("this process has memory");
        let block = vec![1_u8; 32 << 20];
        let after = anonymous_bytes(process).expect("this process has memory");
        assert!(after >= before + (30 << 20), "{before} before, {after} after");
        drop(block);
        let own = Path::new("/proc/self");
        let peak = peak_anonymous_bytes(own).expect("this process has memory");
        assert!(peak >= before + (30 << 20), "{before} before, {peak} at the peak");
        assert_eq!(anonymous_bytes(i32::MAX), None);
    }

    #[test]
    fn what_is_mapped_from_files_is_no_anonymous_memory() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = || peak_anonymous_bytes(folder.path()).map(|bytes| bytes >> 10);
        assert_eq!(bytes(), None);
        let status = |lines: &str| fs::write(folder.path().join("status"), lines).unwrap();
        status("Name:\tjob\nVmHWM:\t  900 kB\nRssAnon:\t 300 kB\nRssFile:\t 100 kB\n");
        assert_eq!(bytes(), Some(800));
        status("VmHWM:\t 500 kB\nRssAnon:\t 300 kB\nRssFile:\t 400 kB\n");
        assert_eq!(bytes(), Some(300));
        status("Name:\tended\n");
        assert_eq!(bytes(), None);
    }
}
