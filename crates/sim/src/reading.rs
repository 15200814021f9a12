//! Options of reading a trace from its path, and the choice of its requests.

use crate::options::{Domain, options};

options! {
    @declared
    /// Options of every command that reads traces, beside their paths.
    pub struct ReadingOptions {
        /// Format of the traces, or csv: and the columns of a table, such as
        /// csv:sep=;,op=cmd,address=lba*512,size=bytes,time=when:ms. See: clockhand formats csv.
        ///
        /// The name of their format (see :func:`clockhand.formats`), or the columns of a table; found by content if not
        /// given.
        trace_format: Option<String> = Domain::Format;
        /// Take requests as reads if a trace does not tell their operation.
        ///
        /// Take all requests as reads if a trace does not tell their operation; such traces are refused otherwise.
        assume_reads: bool = Domain::Flag;
        /// Take the reads or the writes alone, or only the pages of a captured program that would go to swap.
        ///
        /// ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that would go to swap.
        only: Option<String> = Domain::Word { words: &["reads", "writes", "anonymous"] };
        /// Take these streams alone, such as 0,3-5. See: clockhand trace info.
        ///
        /// Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as ``"0,3-5"``.
        streams: Option<String> = Domain::Sizes;
        /// Leave out this many of the chosen requests.
        ///
        /// Requests that are passed over at the start.
        skip: u64 = Domain::Whole { least: 0, most: u64::MAX }, "0";
        /// Take this many of the requests that are left.
        ///
        /// Requests that are taken then; no limit if None.
        limit: Option<u64> = Domain::Whole { least: 0, most: u64::MAX };
        /// For captured traces with record classes: what the fill of a store miss counts as. paper: nothing; bus: a read;
        /// fault: a write. paper if not given.
        ///
        /// What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing (the default where there are
        /// classes); ``"bus"``, a read; ``"fault"``, a write.
        view: Option<String> = Domain::Text;
        /// Keep the instruction fetches of such traces; yes if not given.
        ///
        /// Keep the instruction fetches of such a trace; true if not given.
        fetches: Option<bool> = Domain::Answer;
        /// Read all files, and those in folders, as one trace, in the order of time if they have times.
        ///
        /// Read all files, and those in folders, as one trace; otherwise each is a trace of its own.
        as_one: bool = Domain::Flag;
        /// Order of --as-one: time; files, in the order of their names on the command line; or turns:1000, programs that
        /// share a memory, 1000 requests of each in turn.
        ///
        /// Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``, one after the other; or
        /// ``"turns:1000"``, 1000 requests of each in turn, each with pages of its own.
        order: Option<String> = Domain::Text;
        /// Limit of memory for a trace and the cells at work on it; half of the machine's if not given.
        ///
        /// Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``, at least 16 MiB; half of the
        /// machine's if not given.
        memory_limit: Option<String> = Domain::Text;
        /// Keep references in files in this folder, for traces that are larger than memory.
        ///
        /// A folder in which :func:`clockhand.simulate` keeps the references, in files without names, so that a trace may be
        /// larger than memory; in memory if not given.
        scratch: Option<String> = Domain::File;
    }
}
