//! Where an encoded trace goes: a file, compressed as the ending of its name says.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The endings that mean a compression.
const ENDINGS: [(&str, Compression); 5] = [
    ("gz", Compression::Gz),
    ("xz", Compression::Xz),
    ("zst", Compression::Zstd),
    ("zstd", Compression::Zstd),
    ("bz2", Compression::Bz2),
];

/// The compression of a file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Compression {
    Gz,
    Xz,
    Zstd,
    Bz2,
}

impl Compression {
    /// The compression that a file name ends in, and the name without that ending.
    pub(crate) fn of(path: &Path) -> (Option<Self>, &Path) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let known = ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        match (known, path.file_stem()) {
            (Some(&(_, compression)), Some(stem)) => (Some(compression), Path::new(stem)),
            _ => (None, path),
        }
    }
}

/// A file that is being written.
pub(crate) enum Sink {
    Plain(File),
    Gz(flate2::write::GzEncoder<File>),
    Xz(liblzma::write::XzEncoder<File>),
    Zstd(Box<zstd::Encoder<'static, File>>),
    Bz2(bzip2::write::BzEncoder<File>),
}

/// The level of the program `xz`.
const XZ_LEVEL: u32 = 6;

impl Sink {
    pub(crate) fn new(file: File, compression: Option<Compression>) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(file),
            Some(Compression::Gz) => {
                Self::Gz(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Some(Compression::Xz) => Self::Xz(liblzma::write::XzEncoder::new(file, XZ_LEVEL)),
            Some(Compression::Zstd) => {
                let mut encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(Box::new(encoder))
            }
            Some(Compression::Bz2) => {
                Self::Bz2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default()))
            }
        })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gz(encoder) => encoder.write_all(bytes),
            Self::Xz(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
            Self::Bz2(encoder) => encoder.write_all(bytes),
        }
    }

    /// Writes what the compression still holds.
    pub(crate) fn finish(self) -> io::Result<File> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gz(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Bz2(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ending_tells_the_compression() {
        for (name, compression, rest) in [
            ("a.spc.gz", Some(Compression::Gz), "a.spc"),
            ("a.csv.ZST", Some(Compression::Zstd), "a.csv"),
            ("a.xz", Some(Compression::Xz), "a"),
            ("a.spc", None, "a.spc"),
            ("gz", None, "gz"),
        ] {
            assert_eq!(Compression::of(Path::new(name)), (compression, Path::new(rest)));
        }
    }
}
