"""Layout of help: commands and options by subject, whole summaries, and an example each."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clockhand.command.reading import OPTIONS as READING_OPTIONS

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

SUBJECTS = {
    "Which policy": ("simulate", "recommend", "watch", "explore", "pagecache"),
    "Drives, tiers, file caches, translation, locality": (
        "ssd",
        "tier",
        "filecache",
        "translate",
        "locality",
    ),
    "Experiments and papers": ("sweep", "report", "reproduce"),
    "Real programs, disks and machines": ("run", "serve", "measure"),
    "Policies of your own": ("check-policy", "new-policy"),
    "Traces, and what there is": ("trace", "formats", "policies", "devices", "man"),
}
"""The commands by what people come for."""

EXAMPLES = {
    "simulate": "simulate app.trace --policy clock,cflru,craw --memory 5%,20% --report out.html",
    "recommend": "recommend app.trace --memory 10% --device mlc-nand",
    "watch": "watch app.trace --policy clock,craw --frames 8 --out hand.html",
    "explore": "explore app.trace",
    "pagecache": "pagecache calls.events --policy clock,lru --memory 5%,20%",
    "ssd": "ssd disk.trace --buffer fab:total=16MiB --buffer clock-dnv:total=16MiB,dram_share=0.1",
    "filecache": "filecache app.trace --capacity 5%,20% --device hdd,slc-nand",
    "translate": "translate app.trace --page-size 4KiB,64KiB --tlb 64,1536/12 --memory 20%",
    "tier": "tier app.trace --fast 10%,25%,50% --policy lru,tpp,memtis --tiers cxl",
    "locality": "locality app.trace --report locality.html",
    "sweep": "sweep experiments/craw/experiment.toml",
    "report": "report DATASET --report report.html",
    "reproduce": "reproduce craw --report craw.html",
    "run": "run --policy craw --memory 64MiB --swap swap.img -- python3 job.py",
    "serve": "serve --buffer fab:total=16MiB --disk disk.img --size 2GiB --socket disk.sock",
    "measure": "measure /mnt/disk --out disk.toml",
    "check-policy": "check-policy mine.py:Mine",
    "new-policy": "new-policy my-clock",
    "trace": "trace info app.trace.gz",
    "trace info": "trace info app.trace.gz",
    "trace convert": "trace convert app.csv.gz app.parquet",
    "trace capture": "trace capture --out tar.parquet -- tar cf /tmp/a.tar /etc",
    "trace synthesize": "trace synthesize zipf:skew=0.9,footprint=1GiB --out zipf.parquet",
    "formats": "formats spc",
    "policies": "policies craw",
    "devices": "devices slc-nand",
    "man": "man --folder ~/.local/share/man/man1",
}
"""A command line for each command, without the name of the executable."""

OUTPUT = (
    "format",
    "out",
    "report",
    "plots",
    "theme",
    "tables",
    "tables_as",
    "figure",
    "gauges",
    "io_log",
    "highlight",
    "html",
    "folder",
    "quiet",
    "wide",
)
"""The options about what is written and where."""

OWN = "Options"
WRITTEN = "What is written"
READ = "How traces are read"
OTHER = "Other"


def laid_out(command: Any, words: Sequence[str] = ()) -> None:
    """Have a command and all below it print help by subject.

    Args:
        command: What Typer has made.
        words: How it is called, after the name of the executable.
    """
    below = getattr(command, "commands", {})
    for name, one in below.items():
        laid_out(one, (*words, name))

    def format_options(context: "Context", formatter: "HelpFormatter") -> None:
        for title, records in sections(command, context):
            with formatter.section(title):
                formatter.write_dl(records)
        if below:
            _write_commands(below, words, formatter)
        elif " ".join(words) in EXAMPLES:
            with formatter.section("Example"):
                formatter.write(f"  $ clockhand {EXAMPLES[' '.join(words)]}\n")

    command.format_options = format_options


def sections(command: "Command", context: "Context") -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Return titles with arguments and options: how each is written, and what it means."""
    grouped: dict[str, list[tuple[str, str]]] = {
        "Arguments": [], OWN: [], WRITTEN: [], READ: [], OTHER: []
    }  # fmt: skip
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            title = "Arguments"
        elif parameter.name in READING_OPTIONS:
            title = READ
        elif parameter.name in OUTPUT:
            title = WRITTEN
        elif parameter.name in ("jobs", "help") and not hasattr(command, "commands"):
            title = OTHER
        else:
            title = OWN
        grouped[title].append(record)
    for title, records in grouped.items():
        if records:
            yield title, records


def summary(command: "Command") -> str:
    """Return what a command does, in its first sentence."""
    text: str = inspect.cleandoc(command.help or "").partition("\n\n")[0]
    return " ".join(text.split()).removesuffix(".")


def _write_commands(
    below: "Mapping[str, Command]", words: Sequence[str], formatter: "HelpFormatter"
) -> None:
    """Write commands by subject with whole summaries; an example of the first of each subject."""
    listed = {name for names in SUBJECTS.values() for name in names}
    others = tuple(name for name in below if name not in listed)
    subjects = {"Commands": tuple(below)} if words else {**SUBJECTS, "Others": others}
    for title, names in subjects.items():
        known = [name for name in names if name in below]
        if not known:
            continue
        with formatter.section(title):
            formatter.write_dl([(name, summary(below[name])) for name in known])
        example = EXAMPLES.get(" ".join((*words, known[0])))
        if example is not None:
            formatter.write(f"\n  $ clockhand {example}\n")
