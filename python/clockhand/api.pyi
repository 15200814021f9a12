"""Functions whose options the engine declares; made by ``make columns``."""

import os
from collections.abc import Callable, Sequence
from typing import TypedDict

import polars as pl

from clockhand.studies.filecache.run import FileCacheRun
from clockhand.studies.locality.result import Locality
from clockhand.studies.pagecache.run import PageCacheRun
from clockhand.studies.pages.recommended import Recommendation
from clockhand.studies.pages.result import Simulation
from clockhand.studies.programs.comparison import PagedComparison
from clockhand.studies.programs.result import PagedRun
from clockhand.studies.programs.run import Progress
from clockhand.studies.programs.samples import Live
from clockhand.studies.ssd.recommendation import BufferRecommendation
from clockhand.studies.ssd.result import SsdRun
from clockhand.studies.tier.result import Tiering
from clockhand.studies.translate.run import Translation
from clockhand.studies.watch.buffers import WatchedBuffers
from clockhand.studies.watch.result import Watched
from clockhand.study.options import Device, FormatOfText, Listed, Names
from clockhand.study.progress import Watching
from clockhand.traces import OneTrace, Traces

class Part(TypedDict, total=False):
    """Which requests of a trace are wanted; all of them if nothing is given.

    ``only`` and ``streams`` choose first, then ``skip`` and ``limit`` count the requests that are
    left. The trace is still read to its end, so that what is left out is counted.

    Attributes:
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
    """

    only: str | None
    streams: Listed | None
    skip: int
    limit: int | None

class FileReading(TypedDict, total=False):
    """How a trace file is read, and which of its requests are wanted.

    Attributes:
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
    """

    assume_reads: bool
    only: str | None
    streams: Listed | None
    skip: int
    limit: int | None
    view: str | None
    fetches: bool | None
    memory_limit: str | None

class Reading(TypedDict, total=False):
    """How traces that are given as paths are read, and which requests of each are wanted.

    Attributes:
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.
    """

    trace_format: FormatOfText
    assume_reads: bool
    only: str | None
    streams: Listed | None
    skip: int
    limit: int | None
    view: str | None
    fetches: bool | None
    as_one: bool
    order: str | None
    memory_limit: str | None
    scratch: Device | None

def break_even(
    devices: Names,
    *,
    page_size: Listed = "4KiB",
    insert: Names | None = None,
    insert_ns: int | None = None,
    stack_share: float | str = "0.3",
    cache_device: Device = "scm:ratio=1",
) -> pl.DataFrame:
    """Return after how many hits caching a block pays on devices, whatever the trace.

    Args:
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        page_size: Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        insert: Cost of inserting a block, one or several of ``"copy"`` (a hit, the default),
            ``"half"`` (half a hit), ``"storage"`` (a read of storage as fast as memory), or the
            read of a device. The word ``"all"`` means the three.
        insert_ns: Cost of inserting a block in nanoseconds, instead of ``insert``.
        stack_share: Software's share of a reference to the device, in times of a hit.
        cache_device: Device of cached blocks, whose read cost is the time of a hit.

    Returns:
        One row per block size, device and insertion, as given.

    Raises:
        UsageError: something is unknown or out of range.
    """

def compare(
    command: Sequence[str],
    *,
    policies: Sequence[str],
    repeat: int = 1,
    live: Live | None = None,
    tell: Callable[[str], None] | None = None,
    made_by: str | None = None,
    memory: str | None = None,
    frames: int | None = None,
    swap: Device | None = None,
    swap_limit: str | None = None,
    reserve: int | None = None,
    read_ahead: int | str | None = None,
    bits: str = "sensed",
    address_space: str = "16GiB",
    device: Device = "slc-nand",
    emulate: Device | None = None,
    seed: int = 0,
) -> PagedComparison:
    """Run a program once per policy, with the same memory and swap.

    What it writes to standard output goes to ours in the first run; later runs must write the same.
    Standard input that can be read once is read to its end first, and given to every run.

    Args:
        command: The program and its arguments.

        policies: Bit-driven policies with parameters, at least one, and ``"kernel"`` for the
            kernel's own swap, in a memory cgroup, which is always run last.

        repeat: How often, in turns.

        live: Opens what is called four times a second with the processes' statistics.

        tell: Called with a sentence before each run.

        made_by: The command line for the facts; the equivalent one if not given.

        memory: Bytes of each process, such as ``"16MiB"``. Give either this or ``frames``.
        frames: The same in pages of 4 KiB.
        swap: The file that pages go to; they are kept in RAM, compressed, if it is None.
        swap_limit: The most bytes of it, such as ``"4GiB"``; no limit if not given.
        reserve: Frames of each process that are kept for write-backs under way; as
            :func:`kept_frames` says if not given.
        read_ahead: Frames of each process that are kept for pages which are read before they are
            asked for, with one that is; if not given as many again, or none if there are fewer than
            64 frames or pages stay in RAM. Words choose what predicts these pages, such as
            ``"slots,streams"`` or ``"64,offsets"``: ``slots``, ``streams``, ``pointers``,
            ``offsets``; all if not given.
        bits: ``"sensed"``, the default: the kernel answers the access that sets a bit again, and
            the pager looks; ``"mapped"``: the pager answers it.
        address_space: The most that a process can have paged.
        device: Whose ratio of write to read cost policies take as their ``c``.
        emulate: A device, whose times reads and writes of the swap take; for pages in RAM. It is
            also the ``device``.
        seed: Seed of policies with random choices, from 0.

    Raises:
        UsageError: something is unknown, out of range or contradictory, or cannot be paged.
        ClockhandError: this machine refuses, or no process was paged.
    """

def recommend(
    trace: OneTrace,
    *,
    device: str | os.PathLike[str] = "slc-nand",
    frames: int | str | None = None,
    memory: str | float | None = None,
    page_size: int | str = 4096,
    purpose: str = "simulation",
    policies: str | type | Sequence[str | type] = (),
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Recommendation:
    """Run the whole catalog and say which policy suits a program, a device and a memory size.

    Args:
        trace: The program's trace.

        device: Name with options, or a TOML file.

        frames: The memory size in page frames.

        memory: The memory size as a share of the footprint or in bytes. Give this or ``frames``.

        page_size: Bytes, a power of two, or text such as ``"4KiB"``.

        purpose: ``"pager"`` to choose only among policies that can drive real memory.

        policies: Policies to choose from besides, as ``simulate`` takes them: your own, or some of
            the catalog with other parameters.

        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown or out of range, or there is not exactly one memory size.
        ClockhandError: the trace cannot be read.
    """

def recommend_buffer(
    trace: OneTrace,
    *,
    ssd: str | os.PathLike[str] = "dnv-textbook",
    buffers: str | Sequence[str] = "all",
    years: float | None = None,
    precondition: str = "fill",
    map: str = "original",
    repeat: float | str = "1",
    endurance: int | None = None,
    timed: bool = False,
    arrivals: Names = "trace",
    clamp_times: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> BufferRecommendation:
    """Say which write buffer suits a trace and a drive, and how large it should be.

    Every buffer runs at every size, with what is left dirty written at the end, so that no buffer
    hides pages. The frontier is the fewest pages to flash that each size allows, and the
    recommended size is its knee, or the smallest that lives long enough.

    Args:
        trace: The trace, as :class:`Trace` or as a path.

        ssd: The drive with options, or a TOML file.

        buffers: Buffers as :func:`run_ssd` takes them, with lists and ranges of sizes. Those
            without a size get 1, 2, 5, 10 and 20 % of the footprint. ``lru`` is compared at every
            size.

        years: How long the flash is to live at the trace's rate; then the smallest size that does
            is recommended. Years need a steady run.

        precondition: Ageing of drives: ``"fill"``, ``"random:N"`` (filled, then N drive writes),
            ``"random"`` (until steady) or ``"none"``.
        map: Where addresses beyond a drive's end go: ``"original"`` refuses them, ``"wrap"`` takes
            blocks modulo the drive's, ``"compact"`` numbers the touched blocks.
        repeat: Runs of each trace, one after the other. ``"until-steady"`` ends when the write
            amplification of a drive write differs by less than 1 % from that of the one before,
            after at most 100 of them. Counts are of all repetitions together.
        endurance: Erases that a block endures, such as 3000; the profile's if not given.
        timed: Time every operation: latencies, throughput and utilisation beside the counts. The
            drive's read, program and erase times are needed; ``buffers="none"`` is possible.
            ``arrivals``, ``clamp_times``, ``latencies`` and ``every`` are of timed runs only.
        arrivals: Arrivals of requests: ``"trace"`` (at its times), ``"trace:SPEED"`` (SPEED times
            as fast), ``"rate:X"`` (X a second) or ``"closed:Q"`` (always Q in flight). Several, or
            a range such as ``"rate:10000..80000/7"``, give a row each.
        clamp_times: Raise a time that runs back to the one before it, instead of an error.
        seed: Seed of ageing and of random victims, from 0.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace or the drive's file cannot be read.
    """

def run(
    command: Sequence[str],
    *,
    policy: str,
    record: str | os.PathLike[str] | None = None,
    simulate: bool = True,
    live: Live | None = None,
    progress: Progress | None = None,
    made_by: str | None = None,
    memory: str | None = None,
    frames: int | None = None,
    swap: Device | None = None,
    swap_limit: str | None = None,
    reserve: int | None = None,
    read_ahead: int | str | None = None,
    bits: str = "sensed",
    address_space: str = "16GiB",
    device: Device = "slc-nand",
    emulate: Device | None = None,
    seed: int = 0,
) -> PagedRun:
    """Run a program whose memory a policy pages, and replay its references in the simulator.

    Its standard streams are ours; what would interrupt us is left to it.

    Args:
        command: The program and its arguments.

        policy: A bit-driven policy with parameters, such as ``"craw:c=8"``.

        record: A Parquet file for the log of references, a stream per process.

        simulate: Whether the simulator replays the log, with the bits of the run, which must give
            the same counts, and with exact bits, which real memory does not have.

        live: Opens what is called four times a second with the processes' statistics.

        progress: Opens what is called now and then with the progress of the simulation.

        made_by: The command line for the facts; the equivalent one if not given.

        memory: Bytes of each process, such as ``"16MiB"``. Give either this or ``frames``.
        frames: The same in pages of 4 KiB.
        swap: The file that pages go to; they are kept in RAM, compressed, if it is None.
        swap_limit: The most bytes of it, such as ``"4GiB"``; no limit if not given.
        reserve: Frames of each process that are kept for write-backs under way; as
            :func:`kept_frames` says if not given.
        read_ahead: Frames of each process that are kept for pages which are read before they are
            asked for, with one that is; if not given as many again, or none if there are fewer than
            64 frames or pages stay in RAM. Words choose what predicts these pages, such as
            ``"slots,streams"`` or ``"64,offsets"``: ``slots``, ``streams``, ``pointers``,
            ``offsets``; all if not given.
        bits: ``"sensed"``, the default: the kernel answers the access that sets a bit again, and
            the pager looks; ``"mapped"``: the pager answers it.
        address_space: The most that a process can have paged.
        device: Whose ratio of write to read cost policies take as their ``c``.
        emulate: A device, whose times reads and writes of the swap take; for pages in RAM. It is
            also the ``device``.
        seed: Seed of policies with random choices, from 0.

    Raises:
        UsageError: something is unknown, out of range or contradictory, or cannot be paged.
        ClockhandError: this machine refuses, or no process was paged.
        OSError: there is no place for the log.
    """

def run_filecache(
    traces: Traces,
    *,
    capacity: Listed,
    admissions: Names = "always",
    policies: Names = "lru",
    devices: Names,
    page_size: Listed = "4KiB",
    admit_after: int = 1,
    history: int | None = None,
    forget_on_admit: bool = False,
    reuse: int | None = None,
    insert: Names | None = None,
    insert_ns: int | None = None,
    stack_share: float | str = "0.3",
    cache_device: Device = "scm:ratio=1",
    writes: str = "free",
    flush_at_end: bool = False,
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> FileCacheRun:
    """Put file caches in front of devices, and return the time of all references with and without.

    Names may be lists with commas, ``all`` or patterns.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        capacity: Size of the cache: blocks (``64``, also ``0``), shares of the footprint (``"5%"``,
            ``"5%..100%"``) or sizes (``"64MiB"``).
        admissions: Which misses enter the cache: ``"always"``, ``"second-touch"``, ``"tinylfu"``,
            ``"write-around"``; ``"all"`` means these. ``"belady"`` knows the future, and needs
            policy ``"min"``.
        policies: Names with parameters, such as ``"cflru:window_pages=8"``; ``"bound"`` is the
            limit of all caches.
        devices: Names with options, such as ``"scm:ratio=100"``, or TOML files.
        page_size: Bytes of a block, a power of two, or text such as ``"4KiB"``; several if wanted.
        admit_after: Earlier references that a block needs under second-touch.
        history: Blocks that second-touch remembers, dropping the oldest; all if not given.
        forget_on_admit: Forget a block that enters, under second-touch.
        reuse: Least number of reuses of a block that belady admits; if not given, the number of
            hits that caching needs to pay.
        insert: Cost of inserting a block, one or several of ``"copy"`` (a hit, the default),
            ``"half"`` (half a hit), ``"storage"`` (a read of storage as fast as memory), or the
            read of a device. The word ``"all"`` means the three.
        insert_ns: Cost of inserting a block in nanoseconds, instead of ``insert``.
        stack_share: Software's share of a reference to the device, in times of a hit.
        cache_device: Device of cached blocks, whose read cost is the time of a hit.
        writes: ``"free"``: writes cost as much as reads, and evicting a dirty block costs nothing
            (the paper's rule). ``"cost"``: each block written to the device takes its write cost.
        flush_at_end: Write dirty blocks when the trace ends.
        seed: Seed of policies with random choices, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_locality(
    traces: Traces,
    *,
    page_size: float | str = "4KiB",
    device: Device = "slc-nand",
    sample: float | str | None = None,
    seed: int = 0,
    ties: str = "stable",
    points: int | None = None,
    repeats: str = "each",
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Locality:
    """Show how the programs of traces use their pages.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, or a TOML file; it prices the miss curve.
        sample: Follow only some pages, and give only the miss curve. With ``"auto"`` these are 10 %
            of the pages. A float above 0 and up to 1, or text (``"1%"``), is a rate; a whole number
            from 32 is the most pages.
        seed: Seed of the choice of pages, from 0.
        ties: Order of pages with equally many writes: ``"stable"`` (the first to reach the count
            ranks first), ``"recent"`` (the last one does) or ``"best"``.
        points: Give the miss curve at no more than this many sizes, from 2, chosen so that straight
            lines between them are closest to the others; a note in the facts says how close.
        repeats: Consecutive references to one page count ``"each"``, or ``"collapsed"`` to the
            first read and the first write among them.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_pagecache(
    traces: Traces,
    *,
    policies: Names,
    frames: Listed | None = None,
    memory: Listed | None = None,
    page_size: float | str = "4KiB",
    device: Device = "slc-nand",
    file_device: Device | None = None,
    first_touch: str = "zero",
    zero_clean: str = "drop",
    flush_every: str | None = None,
    flush_age: str | None = None,
    dirty_limit: float | str | None = None,
    read_ahead: str = "none",
    flush_at_end: bool = False,
    io_log: Device | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> PageCacheRun:
    """Run policies under traces of events and keep the facts for a report.

    A trace that knows of nothing but reads and writes is taken as accesses of memory; with
    ``first_touch="read"`` it gives the counts of :func:`clockhand.run_simulation`.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        policies: Names with parameters, such as ``"craw:c=8,ghosts=literal"``; lists with commas,
            ``"all"`` and patterns such as ``"clock*"`` too.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``0.05``, ``"5%"``, ``"1%..100%"``) or in
            bytes (``"64MiB"``). Give either this or ``frames``.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, such as ``"scm:ratio=100"``, or a TOML file.
        file_device: Device of the files; ``device`` if not given.
        first_touch: ``"zero"``, or ``"read"`` if every miss on anonymous memory reads.
        zero_clean: ``"drop"``: an anonymous page that was never written is zero again when it comes
            back; ``"read"``: it is read.
        flush_every: Interval of the flusher: ``"5s"`` of trace time or ``"1000r"`` references; no
            flusher if not given.
        flush_age: Least time that a page of a file has been dirty when it is written, in the same
            unit; 0 if not given.
        dirty_limit: The share of the frames that dirty pages of files may have after a run of the
            flusher, such as ``"1/4"``; no limit if not given.
        read_ahead: ``"none"``, or ``"file:MIN-MAX"`` and ``"swap:N"`` with a comma between.
        flush_at_end: Write dirty pages, of files and of memory, when the trace ends.
        io_log: A file that gets every page that the run reads and writes, in order, as a trace in
            the format of its ending (``.iolog`` for fio), without calls past the cache; of one
            trace, policy and memory size.
        seed: Seed of policies with random choices, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_simulation(
    traces: Traces,
    *,
    policies: Names,
    frames: Listed | None = None,
    memory: Listed | None = None,
    page_size: float | str = "4KiB",
    device: Device = "slc-nand",
    bits: str = "exact",
    write_miss: str = "fetch",
    reserve: int = 0,
    flush_at_end: bool = False,
    bound_effort: float | str | None = None,
    hand_ns: int | None = None,
    fault_ns: int | None = None,
    gauge_every: int | None = None,
    io_log: Device | None = None,
    sample: float | str | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Simulation:
    """Replay traces against policies and keep the facts for a report.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        policies: Names with parameters, such as ``"craw:c=8,ghosts=literal"``; lists with commas,
            ``"all"`` and patterns such as ``"clock*"`` too.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``0.05``, ``"5%"``, ``"1%..100%"``) or in
            bytes (``"64MiB"``). Give either this or ``frames``.
        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, such as ``"scm:ratio=100"``, or a TOML file.
        bits: ``"exact"``, or ``"mapped"`` or ``"sensed"`` for what real memory shows of references.
        write_miss: ``"fetch"``, or ``"blind"`` if a write fault reads nothing.
        reserve: Frames of each memory size that are kept free for write-backs under way, as a pager
            does. Policies and ``bound`` have the rest, at least one. The rows' ``frames`` include
            them.
        flush_at_end: Write dirty pages when the trace ends.
        bound_effort: About how many seconds ``bound`` and ``opt-feasible`` may take per memory
            size, from 0 to 3600; 2 if not given. Seconds stand for a number of steps, so that the
            result does not depend on the machine.
        hand_ns: Software overhead: nanoseconds that each hand movement adds to the I/O time. If
            given, also 0, hand movements are counted, which takes longer: the frames that a policy
            examines while it looks for a victim.
        fault_ns: With ``bits="mapped"``: nanoseconds that each permission fault, by which a hit is
            seen, adds to the I/O time.
        gauge_every: Faults between two samples of the values that policies adapt, from the first
            fault on.
        io_log: A file that gets every page that the run reads from and writes to the device, in
            order, as a trace in the format of its ending (``.iolog`` for fio); of one trace, policy
            and memory size.
        sample: Estimate from samples of the pages, with standard errors in the columns that end in
            ``_standard_error``. A float above 0 and up to 1, or text (``"1%"``), is a rate; a whole
            number from 32 is the number of pages to follow. With ``"auto:1%"`` each cell takes the
            least sample with a standard error of its I/O time below 1 %.
        seed: Seed of policies with random choices, and of samples, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_ssd(
    traces: Traces,
    *,
    buffers: Names,
    ssds: Names = "dnv-textbook",
    precondition: str = "fill",
    map: str = "original",
    drain: bool = False,
    repeat: float | str = "1",
    endurance: int | None = None,
    timed: bool = False,
    arrivals: Names = "trace",
    clamp_times: bool = False,
    latencies: Device | None = None,
    io_log: Device | None = None,
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> SsdRun:
    """Put write buffers in front of flash drives and count what traces turn into.

    Addresses are the trace's own; its streams get ranges of their own that begin with a block.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        buffers: Names with their size and parameters, such as
            ``"clock-dnv:total=16MiB,dram_share=0.1"``. ``total`` is in pages, bytes with a unit or
            a share of the trace's footprint (``"10%"``).
        ssds: Drives with options, such as ``"dnv-textbook:size=8GiB"``, or TOML files.
        precondition: Ageing of drives: ``"fill"``, ``"random:N"`` (filled, then N drive writes),
            ``"random"`` (until steady) or ``"none"``.
        map: Where addresses beyond a drive's end go: ``"original"`` refuses them, ``"wrap"`` takes
            blocks modulo the drive's, ``"compact"`` numbers the touched blocks.
        drain: Write dirty pages when the trace ends.
        repeat: Runs of each trace, one after the other. ``"until-steady"`` ends when the write
            amplification of a drive write differs by less than 1 % from that of the one before,
            after at most 100 of them. Counts are of all repetitions together.
        endurance: Erases that a block endures, such as 3000; the profile's if not given.
        timed: Time every operation: latencies, throughput and utilisation beside the counts. The
            drive's read, program and erase times are needed; ``buffers="none"`` is possible.
            ``arrivals``, ``clamp_times``, ``latencies`` and ``every`` are of timed runs only.
        arrivals: Arrivals of requests: ``"trace"`` (at its times), ``"trace:SPEED"`` (SPEED times
            as fast), ``"rate:X"`` (X a second) or ``"closed:Q"`` (always Q in flight). Several, or
            a range such as ``"rate:10000..80000/7"``, give a row each.
        clamp_times: Raise a time that runs back to the one before it, instead of an error.
        latencies: A file, ``.parquet`` or ``.csv``, that gets a row per request with what it waited
            for.
        io_log: A file that gets every page that the buffer reads from and writes to the drive, in
            order, as a trace in the format of its ending (``.iolog`` for fio); of one trace, buffer
            and drive.
        seed: Seed of ageing and of random victims, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_tier(
    traces: Traces,
    *,
    fast: Listed | None = None,
    fast_frames: Listed | None = None,
    slow: Listed | None = None,
    slow_frames: int | None = None,
    tiers: Names = "cxl",
    policies: Names = "lru",
    promote: Listed | None = None,
    see: str | None = None,
    placement: str | None = None,
    non_exclusive: bool = False,
    first_touch: str = "zero",
    migrate_limit: str | None = None,
    ping_pong: int = 10000,
    storage: Device = "slc-nand",
    trace_seconds: float | str | None = None,
    page_size: Listed = "4KiB",
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Tiering:
    """Run traces on two tiers of memory, for a grid of cells.

    Each page that a request touches is one access to one line of memory, served by the tier where
    the page is. Every list is a dimension of the grid.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        fast: The fast tier: shares of the footprint (``"10%,25%"``) or sizes (``"1GiB"``); 0 is
            none.
        fast_frames: The fast tier in page frames, from 0. Give either this or ``fast``.
        slow: The slow tier: a share of the footprint or a size; no limit if not given.
        slow_frames: The slow tier in page frames. Give either this or ``slow``.
        tiers: Profiles of both tiers, such as ``"cxl"``, ``"optane-dcpmm:migrate_ns=1000"`` or the
            path of a TOML file.
        policies: Policies of the fast tier: page policies, whose victims are demoted, and
            ``clock-dwf``, ``m-clock``, ``tpp``, ``memtis``, ``hemem``, ``static``, ``bound``.
        promote: Rules of promotion under a page policy, by references to slow pages: ``never``,
            ``first-touch`` (if not given), ``write``, ``k-touch[:K[:W]]``, ``threshold[:T[:H]]``,
            ``tinylfu``.
        see: References that a page policy sees: ``all`` (if not given), ``sample:N`` or ``bits:P``.
        placement: Tier of new pages: ``fast`` (if not given), ``slow``, ``interleave:W:V`` or
            ``make-room``.
        non_exclusive: A promoted page keeps its slow frame as a shadow until it is written.
        first_touch: Cost of a page's first reference: ``zero``, or ``read`` from storage.
        migrate_limit: The most promotions: ``A/Pr`` in each P references, or ``XMB/s``.
        ping_pong: A promotion within this many references after the page's demotion is ping-pong.
        storage: Device below both tiers.
        trace_seconds: Duration of the trace in seconds, for years of life; by its times if not
            given.
        page_size: Bytes, powers of two, such as ``"4KiB,64KiB"``.
        seed: Seed of policies with random choices, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def run_translate(
    traces: Traces,
    *,
    page_size: Listed = "512,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB",
    tlb: Listed = "64",
    tlb2: Listed | None = None,
    frames: Listed | None = None,
    memory: Listed | None = None,
    ratio: Listed | None = None,
    device: Names | None = None,
    policies: Names = "clock",
    walk_levels: int = 1,
    walk_cache: int = 0,
    huge: str | None = None,
    prefetch: int = 0,
    no_swap: bool = False,
    split: bool = False,
    flush_on_switch: bool = False,
    t_tlb: float | str = "1",
    t_tlb2: float | str = "7",
    t_mem: float | str = "50",
    fixed_ns: float | str = "0",
    charge_write_back: bool = False,
    seed: int = 0,
    warm_up: float | str | None = None,
    every: float | str | None = None,
    jobs: int | None = None,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Translation:
    """Translate every address of traces and page the memory behind, for a grid of cells.

    Every list is a dimension of the grid; one reading of each trace serves all cells. A request is
    one reference, to the page of its first byte. Each stream is an address space of its own.

    Args:
        traces: One trace or several, as :class:`Trace` or as paths.
        page_size: Bytes, powers of two, such as ``"512,4KiB"``.
        tlb: Entries, ways and replacement: ``"64"`` (fully associative, LRU), ``"64/4:plru"``; also
            ``fifo`` and ``random``. Ways must divide the entries.
        tlb2: A second level, such as ``"1536/12"``, replaced as the first; none for 0.
        frames: Memory sizes in page frames, at least 1.
        memory: Memory sizes as shares of the footprint (``"5%"``) or in bytes (``"64MiB"``). Give
            either this or ``frames``.
        ratio: Storage's time over memory's; ``"1,10,100,1000"`` if neither this nor ``device`` is
            given.
        device: Storage as devices, such as ``"slc-nand"``, instead of ``ratio``.
        policies: Policies of memory, such as ``"clock,craw:c=8"``.
        walk_levels: Levels of the page table, from 1 to 8; x86-64 has 4.
        walk_cache: Size of the walk cache, in upper entries of page tables; replacement is LRU.
        huge: Size of a huge page, and the share of its pages that must be in memory for it to
            become one: ``"2MiB"``, ``"2MiB:1/2"``.
        prefetch: Pages behind a faulting one that are loaded with it, from 0 to 128.
        no_swap: Evict nothing; kill the least recently referenced stream.
        split: A request references every page it touches, not only the first.
        flush_on_switch: Empty TLBs and walk cache at a reference of another stream.
        t_tlb: Nanoseconds of a look-up in the first level; decimals are exact as text.
        t_tlb2: Nanoseconds of a look-up in its second level.
        t_mem: Nanoseconds of a memory access of 64 bytes.
        fixed_ns: Nanoseconds of a page fault besides moving the page.
        charge_write_back: Charge time for pages that are written back, too.
        seed: Seed of policies and TLBs with random choices, from 0.
        warm_up: Counts begin after this number of references, share of them (``"20%"``) or time
            (``"10s"``), so that memory is filled before.
        every: A row for each interval, in references or in the trace's time (``"10ms"``), instead
            of one for the trace; ``cells`` of the result has those.
        jobs: Threads, from 1 to 1024; all cores if not given.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: a trace cannot be read.
    """

def watch_buffers(
    trace: OneTrace,
    *,
    buffers: str | Sequence[str],
    ssd: str | os.PathLike[str] | Sequence[str] = "dnv-textbook",
    precondition: str = "fill",
    map: str = "original",
    drain: bool = False,
    seed: int = 0,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> WatchedBuffers:
    """Watch one write buffer, or two on the same requests, step by step.

    Args:
        trace: The trace, as :class:`Trace` or as a path. Of a path the first 1,000 requests are
            taken if ``limit`` is not given.

        buffers: One or two, with their size and parameters, such as
            ``"clock-dnv:total=12,dram_share=0.5"``. The size ``total`` is in pages, bytes with a
            unit or a share of the footprint. It is at most 1,024 pages, and times the requests at
            most 2,000,000.

        ssd: One drive with options, such as ``"dnv-textbook:pages_per_block=4"``, or a TOML file.

        precondition: Ageing of drives: ``"fill"``, ``"random:N"`` (filled, then N drive writes),
            ``"random"`` (until steady) or ``"none"``.
        map: Where addresses beyond a drive's end go: ``"original"`` refuses them, ``"wrap"`` takes
            blocks modulo the drive's, ``"compact"`` numbers the touched blocks.
        drain: Write dirty pages when the trace ends.
        seed: Seed of ageing and of random victims, from 0.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Returns:
        The steps; :meth:`WatchedBuffers.write_report` makes the page that plays them.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace or the drive's file cannot be read.
    """

def watch_policies(
    trace: OneTrace,
    *,
    policies: str | Sequence[str],
    frames: int,
    page_size: float | str = "4KiB",
    device: Device = "slc-nand",
    bits: str = "exact",
    write_miss: str = "fetch",
    seed: int = 0,
    watch: Watching = None,
    command: str | None = None,
    trace_format: FormatOfText = None,
    assume_reads: bool = False,
    only: str | None = None,
    streams: Listed | None = None,
    skip: int = 0,
    limit: int | None = None,
    view: str | None = None,
    fetches: bool | None = None,
    as_one: bool = False,
    order: str | None = None,
    memory_limit: str | None = None,
    scratch: Device | None = None,
) -> Watched:
    """Watch one policy, or two on the same references, step by step.

    Args:
        trace: The trace, as :class:`Trace` or as a path. Of a path the first 1,000 requests are
            taken if ``limit`` is not given.

        policies: One or two, with parameters, such as ``"craw:c=8"``.

        frames: Page frames, from 1 to 1024; times the references at most 2,000,000.

        page_size: Bytes, a power of two, or text such as ``"4KiB"``.
        device: Name with options, such as ``"scm:ratio=100"``, or a TOML file.
        bits: ``"exact"``, or ``"mapped"`` or ``"sensed"`` for what real memory shows of references.
        write_miss: ``"fetch"``, or ``"blind"`` if a write fault reads nothing.
        seed: Seed of policies with random choices, and of samples, from 0.
        watch: Called now and then with the progress; a bar is shown if not given, and nothing with
            ``False``.
        command: The command line for the facts; the equivalent one if not given.
        trace_format: The name of their format (see :func:`clockhand.formats`), or the columns of a
            table; found by content if not given.
        assume_reads: Take all requests as reads if a trace does not tell their operation; such
            traces are refused otherwise.
        only: ``"reads"``, ``"writes"``, or ``"anonymous"``: the pages of a captured program that
            would go to swap.
        streams: Stream numbers of the trace, as :meth:`Trace.info` lists them, or text such as
            ``"0,3-5"``.
        skip: Requests that are passed over at the start.
        limit: Requests that are taken then; no limit if None.
        view: What a store-miss fill of a trace with record classes counts as: ``"paper"``, nothing
            (the default where there are classes); ``"bus"``, a read; ``"fault"``, a write.
        fetches: Keep the instruction fetches of such a trace; true if not given.
        as_one: Read all files, and those in folders, as one trace; otherwise each is a trace of its
            own.
        order: Of files as one trace: ``"time"`` (if not given), where all have times; ``"files"``,
            one after the other; or ``"turns:1000"``, 1000 requests of each in turn, each with pages
            of its own.
        memory_limit: Limit of memory for the trace and the cells at work on it, such as ``"4GiB"``,
            at least 16 MiB; half of the machine's if not given.
        scratch: A folder in which :func:`clockhand.simulate` keeps the references, in files without
            names, so that a trace may be larger than memory; in memory if not given.

    Returns:
        The steps; :meth:`Watched.write_report` makes the page that plays them.

    Raises:
        UsageError: something is unknown, out of range or contradictory.
        ClockhandError: the trace cannot be read.
    """

filecache = run_filecache

locality = run_locality

pagecache = run_pagecache

simulate = run_simulation

tier = run_tier

translate = run_translate
