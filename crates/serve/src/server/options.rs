//! A server's options, and its row at the end.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clockhand_policy::buffer::{Capacity, Occupancy};
use clockhand_quantity::{Text, option};

use super::core::Teller;
use super::sockets::Place;
use super::tls::TlsFiles;
use crate::buffer::{ServedBuffer, build};
use crate::files::{Opened, Opening, PAGE_BYTES, Recovered, open};
use crate::latency::Latencies;
use crate::store::StoreCounts;
use crate::{Counts, ServeError};

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The disk.
    pub disk: PathBuf,
    /// Its bytes, to make it.
    pub size: Option<u64>,
    /// The NVM file.
    pub nvm: Option<PathBuf>,
    /// The write buffer, as the user wrote it.
    pub buffer: String,
    /// Where clients connect.
    pub place: Place,
    /// The export's name.
    pub export: String,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// The most connections at a time.
    pub connections: NonZeroU32,
    /// Users who may connect, by number, beside this one and root.
    pub allowed_users: Vec<u32>,
    /// TLS, if it is to be demanded.
    pub tls: Option<TlsFiles>,
    /// True if the disk is used past the kernel's cache.
    pub direct: bool,
    /// Whether pages stay in NVM at the end.
    pub keep: bool,
    /// Takes an NVM file with pages for a disk that does not name it.
    pub adopt: bool,
    /// Starts although pages are damaged.
    pub salvage: bool,
}

/// The counts of a server, so far or final.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the engine counted.
    pub counts: Counts,
    /// What the store counted.
    pub store: StoreCounts,
    /// Bytes written to the NVM file.
    pub nvm_bytes_written: u64,
    /// What recovery did.
    pub recovered: Recovered,
    /// Since the start.
    pub seconds: f64,
    /// Connections in all.
    pub connections: u64,
    /// Connections now.
    pub open_connections: u64,
    /// The times of requests.
    pub latencies: Latencies,
    /// The buffer's size.
    pub capacity: Capacity,
    /// How full it is.
    pub occupancy: Occupancy,
    /// Pages that the disk refused.
    pub held_pages: u64,
    /// Slots of the NVM file that are free, if there is one.
    pub free_slots: Option<u64>,
    /// True if a failure lasts.
    pub is_degraded: bool,
    /// The buffer with every default.
    pub buffer_resolved: String,
    /// The buffer's pages, DRAM and NVM together.
    pub buffer_pages: u32,
    /// Bytes of the disk.
    pub disk_bytes: u64,
}

/// How a server ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What it did.
    pub report: Report,
    /// Why it did not end well, in a sentence, if it did not.
    pub failure: Option<String>,
}

pub(super) fn check(options: &Options, buffer: &ServedBuffer) -> Result<(), ServeError> {
    let written = buffer.written();
    match (buffer.is_hybrid(), &options.nvm) {
        (true, None) => {
            return Err(ServeError::usage(
                format!("write buffer {written} has NVM"),
                Text::from("add ") + option("nvm") + " FILE, in which it is kept",
            ));
        }
        (false, Some(path)) => {
            return Err(ServeError::usage(
                format!("write buffer {written} has no NVM"),
                Text::from("leave ")
                    + option("nvm")
                    + format!(" {} out, or give clock-dnv or cbm", path.display()),
            ));
        }
        _ => {}
    }
    if options.keep && !buffer.is_hybrid() {
        return Err(ServeError::usage(
            option("keep") + format!(" leaves pages in NVM, and write buffer {written} has none"),
            "leave it out",
        ));
    }
    if options.export.len() > crate::protocol::LIMIT_NAME_BYTES {
        return Err(ServeError::usage(
            option("export") + " is longer than 4096 bytes",
            "give a shorter name",
        ));
    }
    Ok(())
}

pub(super) fn pages_of(disk_bytes: u64) -> Result<u32, ServeError> {
    let pages = u32::try_from(disk_bytes.div_ceil(PAGE_BYTES.into()));
    pages.map_err(|_| ServeError::usage("the disk has too many pages", "name a smaller one"))
}

pub(super) fn open_files(options: &Options, buffer: &ServedBuffer) -> Result<Opened, ServeError> {
    let opening = Opening {
        disk: &options.disk,
        size: options.size,
        nvm: options.nvm.as_deref(),
        read_only: options.read_only,
        direct: options.direct,
        adopt: options.adopt,
        salvage: options.salvage,
    };
    open(&opening, &|disk_bytes| {
        let resolved = buffer.resolve(pages_of(disk_bytes)?)?;
        let capacity = build(&resolved).capacity();
        Ok((capacity.dram_pages, capacity.nvm_pages))
    })
}

/// The buffer with every default, its size first.
pub(super) fn resolved_text(resolved: &str, buffer: &ServedBuffer) -> String {
    let (name, settings) = resolved.split_once(':').unwrap_or((resolved, ""));
    let separator = if settings.is_empty() { "" } else { "," };
    format!("{name}:total={}{separator}{settings}", buffer.pages())
}

pub(super) fn tell_recovered(teller: &Teller, options: &Options, recovered: Recovered) {
    let Recovered { pages, torn_versions, damaged_pages, has_given_up_all } = recovered;
    if has_given_up_all {
        let nvm = options.nvm.as_deref().unwrap_or(&options.disk);
        teller(&format!("{}: its header was damaged: all that was in it is lost", nvm.display()));
    }
    if pages + torn_versions + damaged_pages > 0 {
        teller(&format!(
            "{}: recovered {pages} pages from NVM; {torn_versions} versions were torn, {damaged_pages} pages are damaged",
            options.disk.display()
        ));
    }
}
