"""The frame of every study's command: options come from their declaration, and rows go out."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from clockhand.command.options import Jobs, Traces
from clockhand.command.own_policies import with_libraries
from clockhand.command.papers import Outputs, with_outputs
from clockhand.command.progress import shown_progress
from clockhand.command.reading import with_reading
from clockhand.command.saying import command_line, say
from clockhand.command.tables import print_table
from clockhand.completion.values import CATALOGS, Values, values_of, words_of
from clockhand.report.reported import INTERVAL
from clockhand.study.facts import trace_label
from clockhand.study.options import Option, options_of
from clockhand.study.records import Fields
from clockhand.study.run import Study, run_study
from clockhand.traces import Reading

if TYPE_CHECKING:
    from rich.console import Console

    from clockhand.studies.result import StudyResult

Made = TypeVar("Made", bound="StudyResult")
"""The result of a study."""

GIVEN: Fields = {}
"""Stands for the options that a command is given, where parameters with defaults come before."""


def with_options(
    study: str | Mapping[str, Option],
    *,
    needed: bool = True,
    names: Collection[str] | None = None,
    place: str = "options",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a study in the place of one of its parameters.

    Typer makes options of the parameters in a function's signature.

    Args:
        study: The name of the study, or options by their names.
        needed: Whether what is required must be given.
        names: The options that the command has; all of the study's if not given.
        place: The parameter, which gets them as a dictionary.
    """
    of_study = options_of(study) if isinstance(study, str) else study
    declared = {name: it for name, it in of_study.items() if names is None or name in names}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)

        def parameters() -> Iterator[inspect.Parameter]:
            for name, parameter in signature.parameters.items():
                if name == place:
                    yield from (_parameter(it, needed and it.required) for it in declared.values())
                else:
                    yield parameter

        @wraps(command)
        def with_given(**given: object) -> None:
            options = {name: given.pop(name) for name in declared}
            command(**given, **{place: options})

        # Parameters without a default come first, as Python wants them.
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        unordered = list(parameters())
        ordered = [
            parameter
            for kind in kinds
            for is_optional in (False, True)
            for parameter in unordered
            if parameter.kind is kind
            and (parameter.default is not inspect.Parameter.empty) is is_optional
        ]
        vars(with_given)["__signature__"] = signature.replace(parameters=ordered)
        return with_given

    return decorated


def _parameter(option: Option, is_required: bool) -> inspect.Parameter:
    """Return the parameter of which Typer makes the option."""
    types: Mapping[str, object] = {"flag": bool, "whole": int, "names": list[str]}
    kind: Any = types.get(option.kind, str)
    default: object = option.default
    if option.kind == "flag":
        default = False
    elif option.kind == "names":
        default = [] if default is None else [default]
    elif default is None and not is_required:
        kind = kind | None
    elif option.kind == "whole":
        default = int(str(default))
    return inspect.Parameter(
        option.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=inspect.Parameter.empty if is_required else default,
        annotation=Annotated[
            kind,
            typer.Option(
                f"--{option.long_name}",
                metavar=option.metavar or None,
                help=option.help,
                autocompletion=_completing(option),
            ),
        ],
    )


def _completing(option: Option) -> Values | None:
    """Return what completes the values of an option, if they have names."""
    if option.kind == "word":
        return words_of(option.words)
    if option.kind == "device":
        return values_of("devices")
    return values_of(option.of, several=True) if option.of in CATALOGS else None


def add_study(
    app: typer.Typer,
    name: str,
    study: Study[Made],
    print_tables: "Callable[[Made, Console], None]",
    *,
    summary: str,
    example: str,
    highlights: bool = False,
) -> None:
    """Add the command of a study that needs nothing but the frame.

    Args:
        app: What the command is added to.

        name: The study's name, so that completion of words knows it without loading the study.

        study: The study.

        print_tables: Prints a result for people.

        summary: What the command does, in a sentence.

        example: A command line, without the name of the executable.

        highlights: Whether its figures emphasise some of what is compared.
    """

    def command(
        traces: Traces,
        options: Fields,
        jobs: Jobs = None,
        *,
        reading: Reading,
        outputs: Outputs,
    ) -> None:
        outputs.check()
        marked = outputs.marked(compared(study, options))
        run = run_shown(study, traces, options, jobs, reading, outputs)
        files = outputs.figures(run, marked)
        shown = (
            partial(print_tables, run)
            if options["every"] is None
            else partial(print_intervals, run)
        )
        outputs.deliver(run.rows, shown, files | outputs.files(shown, run.facts))

    command.__doc__ = summary
    outputs = with_outputs(*(() if highlights else ("highlight",)))
    whole = with_reading(outputs(with_options(name)(command)))
    whole = with_libraries(whole) if "policy" in options_of(name) else whole
    app.command(name=name, epilog=example)(whole)


def print_intervals(run: "StudyResult", console: "Console") -> None:
    """Print the rows of intervals, a table per trace."""
    leading = [*INTERVAL, *(name for name in run.leading if name != "trace")]
    for rows in run.rows.partition_by("trace", maintain_order=True):
        shown = rows.select(name for name in leading if name in rows.columns)
        filled = shown.select(column for column in shown if column.null_count() < len(column))
        print_table(f"{trace_label(rows['trace'][0], run.facts)}, by interval", filled, console)


def compared(study: Study[object], options: Fields) -> list[str]:
    """Return what is compared, patterns expanded."""
    assert study.contender is not None, "a command that emphasises what it compares"
    names: list[str] = options_of(study.name)[study.contender].checked(options[study.contender])
    return names


def run_shown(
    study: Study[Made],
    traces: list[str],
    options: Fields,
    jobs: int | None,
    reading: Reading,
    outputs: Outputs,
) -> Made:
    """Run a study with progress, and say what the readers passed over; the result.

    Where nothing is written that shows its facts, they lack the digests of traces.
    """
    with shown_progress() as watch:
        run = run_study(
            study,
            traces,
            options,
            jobs=jobs,
            watch=watch,
            command=command_line(),
            reading=reading,
            digested=outputs.show_facts,
        )
    for warning in run.warnings:
        say(warning)
    return run
