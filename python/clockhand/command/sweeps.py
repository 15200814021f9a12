"""``clockhand sweep`` and ``report``: experiments as files, and what their datasets hold."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, TextColumn
from rich.text import Text

from clockhand.command.options import Jobs, Scratch
from clockhand.command.own_policies import with_libraries
from clockhand.command.papers import Outputs, with_outputs
from clockhand.command.progress import Lines, progress_bar
from clockhand.command.saying import command_line, is_quiet, say
from clockhand.command.tables import print_table
from clockhand.datasets.analysis import DEVICE
from clockhand.datasets.comparison import Comparison
from clockhand.datasets.layout import PAGES, Layout, files_of
from clockhand.datasets.over_traces import dataset_over_traces
from clockhand.datasets.result import reported
from clockhand.report.paper_tables import PaperTable
from clockhand.study.errors import UsageError, option
from clockhand.study.facts import base_names, printable
from clockhand.study.files import refuse_overwriting
from clockhand.study.options import options_of
from clockhand.study.records import Fields, Record
from clockhand.sweep import Analysis, Dataset, analyse, differences, read_experiment, run_sweep
from clockhand.sweep.experiment import Experiment
from clockhand.sweep.run import SweepWatch

ExperimentFile = Annotated[Path, typer.Argument(help="A TOML file; docs/sweeps.md describes it.")]
DatasetFolder = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar="FOLDER",
        help="Keep the cells in this folder, or at this address, not in the experiment's own.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Have a Dask cluster compute the cells: tcp://HOST:PORT of its scheduler, or local:N.",
    ),
]
MemoryBudget = Annotated[
    str | None,
    typer.Option(
        "--memory-budget",
        "--memory-limit",
        metavar="SIZE",
        help=options_of("reading")["memory_limit"].help,
    ),
]
ReportedFolder = Annotated[
    str, typer.Argument(metavar="DATASET", help="The folder of a sweep, or its address.")
]
OtherDataset = Annotated[
    str | None,
    typer.Argument(metavar="[OTHER]", help="Another one: what moved in it, and by how much."),
]
OverTracesFlag = Annotated[
    bool,
    typer.Option(
        "--over-traces",
        help="Say which is better over the traces: ranks, Wilcoxon's test of each pair with Holm's "
        "correction, intervals by bootstrap.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(help="With --over-traces: compare each with this one alone, not all pairs."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="sweep", epilog="sweep experiments/craw/experiment.toml")(
        with_libraries(_sweep)
    )
    app.command(name="report", epilog="report DATASET --report report.html")(_report)


@with_outputs()
def _sweep(
    experiment: ExperimentFile,
    dataset: DatasetFolder = None,
    scratch: Scratch = None,
    memory_budget: MemoryBudget = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    *,
    outputs: Outputs,
) -> None:
    """Run an experiment: compute the cells that its dataset lacks, then its analyses."""
    outputs.check()
    read = read_experiment(experiment)
    devices = [name for setting in read.settings for name in files_of(setting.options)]
    written = {"--out": outputs.out, "--report": outputs.report}
    refuse_overwriting(
        {option: path for option, path in written.items() if path is not None},
        [*read.traces, *devices],
    )
    marked = _highlighted(outputs, read.policies, read.layout)
    with sweep_progress() as watch:
        sweep = run_sweep(
            read,
            dataset=dataset,
            jobs=jobs,
            cluster=cluster,
            watch=watch,
            command=command_line(),
            scratch=scratch,
            memory_budget=memory_budget,
        )
    for warning in sweep.warnings:
        say(warning)
    folder = read.dataset if dataset is None else dataset
    say(f"{sweep.rows.height:,} rows, {sweep.computed:,} cells computed now; kept in {folder}")
    made = [
        PaperTable(item.title, item.slug, analyse(sweep.rows, item, read.layout))
        for item in read.analyses
    ]
    files = outputs.analyses(made, sweep.facts)
    if outputs.has_figures:
        files |= outputs.figures(sweep.reported(_asked(read, made, sweep.facts)), marked)
    shown = partial(_print_analyses, made, sweep.rows, sweep.facts, read.layout)
    outputs.deliver(read.layout.shown(sweep.rows), shown, files)


@with_outputs()
def _report(
    dataset: ReportedFolder,
    other: OtherDataset = None,
    over_traces: OverTracesFlag = False,
    against: Against = None,
    *,
    outputs: Outputs,
) -> None:
    """Show a dataset: a table per trace and setting, or which policy is better over its traces, or
    what differs in another dataset."""
    outputs.check()
    if outputs.highlight and (other is not None or over_traces):
        raise UsageError(option("highlight") + " is about the figures of a study", "leave it out")
    if other is not None and over_traces:
        raise UsageError(
            option("over-traces") + " is about one dataset", "leave it or the other one out"
        )
    if against is not None and not over_traces:
        raise UsageError(option("against") + " is about " + option("over-traces"), "add it")
    if other is not None:
        made = differences(dataset, other, command=command_line())
        return _deliver_comparison(made, outputs)
    found = Dataset.found(dataset)
    rows, facts = found.report()
    layout = found.layout
    if over_traces:
        compared = dataset_over_traces(rows, facts, layout, against)
        return _deliver_comparison(compared, outputs)
    contender = layout.study.contender
    given = [] if contender is None else rows[contender].unique(maintain_order=True).to_list()
    marked = _highlighted(outputs, given, layout)
    files: dict[Path, bytes] = {}
    if outputs.has_figures:
        files = outputs.figures(reported(rows, facts, layout), marked)
    shown = partial(_print_rows, rows, facts, layout)
    outputs.deliver(layout.shown(rows), shown, files | outputs.files(shown, facts))


def _deliver_comparison(made: Comparison, outputs: Outputs) -> None:
    """Print a table and the sentences of a comparison, and write what else is wanted of it."""

    def shown(to: Console) -> None:
        if not made.printed.is_empty():
            print_table(made.heading, made.printed, to)
        for sentence in made.sentences():
            to.print(Text(printable(sentence)), soft_wrap=True)

    files = outputs.figures(made) | outputs.files(shown, made.facts or {})
    outputs.deliver(made.rows, shown, files)


def _highlighted(outputs: Outputs, given: Sequence[str], layout: Layout) -> list[str]:
    """Return what figures emphasise, in studies whose figures do."""
    if outputs.highlight and layout.study.contender is None:
        raise UsageError(
            option("highlight") + f" means nothing in reports of {layout.study.name}",
            "leave it out",
        )
    return outputs.marked(given)


def _print_rows(rows: pl.DataFrame, facts: Record, layout: Layout, to: Console) -> None:
    """Print rows as the study's own command does."""
    own = import_module(f"clockhand.command.{layout.study.name}")
    if layout is PAGES:  # Those of whole cells are shown beside those of intervals.
        own.print_rows(rows.to_dicts(), facts, to)
    else:
        own.print_tables(reported(rows, facts, layout), to)


def _print_analyses(
    tables: list[PaperTable], rows: pl.DataFrame, facts: Record, layout: Layout, to: Console
) -> None:
    """Print the table of each analysis; the rows themselves where none is asked for."""
    for table in tables:
        print_table(table.title, _with_base_names(table.content, facts), to)
    if not tables:
        _print_rows(rows, facts, layout, to)


@contextmanager
def sweep_progress() -> Iterator[SweepWatch | None]:
    """Give a function that shows a sweep's progress; none where it would not be seen."""
    with progress_bar(MofNCompleteColumn(), TextColumn("cells")) as progress:
        if progress is None:
            lines = Lines()

            def tell(trace: str, done: int, total: int) -> None:
                lines.update(f"{printable(trace)}, cells", done, total)

            yield None if is_quiet() else tell
            return
        task = progress.add_task("", total=None)

        def watch(trace: str, done: int, total: int) -> None:
            progress.update(task, description=printable(trace), completed=done, total=total)

        yield watch


def _with_base_names(table: pl.DataFrame, facts: Record) -> pl.DataFrame:
    """Return a table for people, with the short names of traces as in the rest of a report."""
    short = base_names(trace["name"] for trace in facts["traces"])
    if "trace" in table.columns:
        table = table.with_columns(pl.col("trace").replace(short))
    return table.rename({name: short[name] for name in table.columns if name in short})


def _headings(analysis: Analysis, table: pl.DataFrame) -> dict[str, str]:
    """Return the headings, in percent, of the columns of an analysis that are shares."""
    from clockhand.report.table import SHARES

    if analysis.columns is None or not analysis.columns.endswith(SHARES):
        return {}
    others = (*analysis.rows, DEVICE, "null")
    shares = [name for name in table.columns if name not in others]
    return {name: f"{100 * float(name):.4g}\u00a0%" for name in shares}


def _asked(experiment: Experiment, tables: Iterable[PaperTable], facts: Record) -> Fields:
    """Return what an experiment asks, what its author expects and its analyses, for a report."""
    from clockhand.report.table import plain_table

    return {
        "question": " ".join(experiment.question.split()),
        "expected": " ".join(experiment.expected.split()),
        "analyses": [
            {
                "title": table.title,
                "columns": [(it.heading, it.numeric) for it in shown.columns],
                "rows": shown.rows,
            }
            for analysis, table in zip(experiment.analyses, tables, strict=True)
            for named in [_with_base_names(table.content, facts)]
            for shown in [plain_table(named, _headings(analysis, named))]
        ],
    }
