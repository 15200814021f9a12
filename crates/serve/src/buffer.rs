//! The buffer that a server is given, checked for what a real device needs.

use clockhand_policy::Ratio;
use clockhand_policy::buffer::catalog::{BufferSpec, ResolvedBuffer, Visitor};
use clockhand_policy::buffer::{BufferSize, PagesPerBlock, WriteBuffer};
use clockhand_quantity::bytes_with_unit;

use crate::ServeError;
use crate::files::PAGE_BYTES;

/// Pages of a block as the papers' write buffers see it.
const BLOCK_PAGES: u32 = 64;
/// A policy's cost of a write over a read, unless its `c` is given.
const COST_RATIO: u32 = 8;

/// A write buffer with a size in pages.
#[derive(Clone, Debug)]
pub struct ServedBuffer {
    written: String,
    spec: BufferSpec,
    pages: u32,
}

impl ServedBuffer {
    /// Reads `NAME:total=SIZE,parameter=value,...`.
    ///
    /// # Errors
    ///
    /// A sentence: what is wrong, and what to give instead.
    pub fn parse(text: &str) -> Result<Self, ServeError> {
        let usage = |error: &dyn std::fmt::Display| ServeError::Usage(error.to_string().into());
        let given = BufferSpec::parse(text).map_err(|error| usage(&error))?;
        if given.entry().is_offline {
            return Err(ServeError::usage(
                format!("write buffer {text} needs the future, which no device knows"),
                "take another one",
            ));
        }
        let takes_commands =
            given.entry().description.parameters.iter().any(|known| known.name == "commands");
        let mut settings = text.split_once(':').map_or("", |(_, settings)| settings).split(',');
        let commands = settings.find_map(|setting| setting.strip_prefix("commands="));
        let spec = match commands {
            Some(mode @ ("paper" | "protected")) => {
                return Err(ServeError::usage(
                    format!(
                        "write buffer {text}: commands={mode} ignores FLUSH and loses data that was acknowledged"
                    ),
                    "leave it out",
                ));
            }
            None if takes_commands => {
                let separator = if text.contains(':') { ',' } else { ':' };
                BufferSpec::parse(&format!("{text}{separator}commands=safe"))
                    .map_err(|error| usage(&error))?
            }
            _ => given,
        };
        let pages = pages_of(text, spec.total())?;
        Ok(ServedBuffer { written: text.to_owned(), spec, pages })
    }

    /// What the user wrote.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Pages, DRAM and NVM together.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns whether it has NVM beside its DRAM.
    pub fn is_hybrid(&self) -> bool {
        self.spec.entry().is_hybrid
    }

    /// With every default, for a disk of this number of pages.
    ///
    /// # Errors
    ///
    /// A sentence if the buffer cannot have this size.
    pub fn resolve(&self, disk_pages: u32) -> Result<ResolvedBuffer, ServeError> {
        let pages_per_block = PagesPerBlock::new(BLOCK_PAGES).expect("64 is a power of two");
        let size = BufferSize {
            pages: self.pages,
            pages_per_block,
            distinct_pages: disk_pages,
            drive_pages: disk_pages.into(),
        };
        let resolved = self.spec.resolve(size, Ratio::whole(COST_RATIO));
        resolved.map_err(|error| ServeError::Usage(error.to_string().into()))
    }
}

/// The buffer, empty.
pub(crate) fn build(resolved: &ResolvedBuffer) -> Box<dyn WriteBuffer + Send> {
    struct Boxed;
    impl Visitor for Boxed {
        type Output = Box<dyn WriteBuffer + Send>;
        fn visit<B: WriteBuffer + Send + 'static>(self, buffer: B) -> Self::Output {
            Box::new(buffer)
        }
    }
    resolved.build(Boxed)
}

fn pages_of(text: &str, total: Option<&str>) -> Result<u32, ServeError> {
    let Some(total) = total else {
        return Err(ServeError::usage(
            format!("write buffer {text} has no size"),
            "add total=SIZE, such as total=64MiB",
        ));
    };
    let bytes = bytes_with_unit(total).map(|bytes| bytes / u64::from(PAGE_BYTES));
    let pages = bytes.or_else(|| total.parse().ok());
    let pages = pages.and_then(|pages| u32::try_from(pages).ok());
    pages.ok_or_else(|| {
        let sentence = match total.ends_with('%') {
            true => "is a share, and of a disk that is in use no footprint is known",
            false => "is no size",
        };
        ServeError::usage(
            format!("write buffer {text}: total={total} {sentence}"),
            "give pages (4096) or bytes with a unit (16MiB)",
        )
    })
}
