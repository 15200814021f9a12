//! Measures the memory that the pager does not page: the kernel counts anonymous memory, and paged memory belongs to a
//! file.

use std::fs;

/// Bytes of anonymous memory that a process has now; `None` if it has ended.
pub(crate) fn anonymous_bytes(process: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = anonymous.trim().strip_suffix("kB")?.trim().parse().ok()?;
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
        assert_eq!(anonymous_bytes(i32::MAX), None);
    }
}
