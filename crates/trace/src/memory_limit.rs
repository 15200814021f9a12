//! How much memory the reading of a trace may take.
//!
//! A small file can represent any amount of data: a compressed one, a table of equal rows, a request of 4 GiB. So
//! everything that grows with the content of a trace and not with its length is counted against a limit.

use std::sync::OnceLock;

use crate::quantity::bytes_text;

/// The default limit is the machine's memory divided by this.
const DEFAULT_SHARE_OF_MACHINE: u64 = 2;
/// The default if the system does not report its memory.
const DEFAULT_WITHOUT_MACHINE_BYTES: u64 = 4 << 30;

/// The limit that holds unless another is given: half of the memory that this process can have.
pub fn default_memory_limit_bytes() -> u64 {
    static LIMIT_BYTES: OnceLock<u64> = OnceLock::new();
    *LIMIT_BYTES.get_or_init(|| {
        let bounds = [machine_bytes(), control_group_bytes(), address_space_bytes()];
        let least = bounds.into_iter().flatten().min();
        least.map_or(DEFAULT_WITHOUT_MACHINE_BYTES, |bytes| bytes / DEFAULT_SHARE_OF_MACHINE)
    })
}

/// A limit for people: whole mebibytes where it has any.
pub(crate) fn limit_text(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    bytes_text(if bytes < MEBIBYTE { bytes } else { bytes / MEBIBYTE * MEBIBYTE })
}

fn machine_bytes() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = facts.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The limit of the control group of a container or a service; none on most desktops.
fn control_group_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = std::fs::read_to_string(format!("/sys/fs/cgroup{group}/memory.max")).ok()?;
    limit.trim().parse().ok()
}

/// The limit of the address space (`ulimit -v`); mostly there is none.
fn address_space_bytes() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_share_of_the_machine() {
        let limit_bytes = default_memory_limit_bytes();
        assert!(limit_bytes >= 16 << 20, "{limit_bytes}");
        assert!(machine_bytes().is_none_or(|machine| limit_bytes <= machine / 2));
    }
}
