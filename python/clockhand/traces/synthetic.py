"""Synthetic traces: requests that a recipe describes and a seed fixes."""

import os
from pathlib import Path

import polars as pl

from clockhand import _engine
from clockhand.study.calls import in_python
from clockhand.study.errors import UsageError
from clockhand.study.progress import Watch
from clockhand.traces import Trace, convert_traces


@in_python()
def synthesize(
    recipe: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    requests: int | str | None = None,
    seed: int | None = None,
    arrivals: str | None = None,
    watch: Watch | None = None,
) -> Trace:
    """Make a synthetic trace; the same recipe and seed give the same requests on every machine.

    Args:
        recipe: Patterns such as ``"zipf:skew=0.9,footprint=1GiB,reads=70%"``, joined by ``+`` into
            mixes and by ``then`` into phases; the name of one of :func:`recipes`; or a TOML file.

        out: A Parquet file to write; without it the requests are made whenever the trace is used,
            and nothing is kept.

        requests: How many requests, such as ``"20M"``; the recipe's number if not given.

        seed: Seed of all random choices, from 0; the recipe's, else 0, if not given.

        arrivals: ``"constant:RATE"`` or ``"poisson:RATE"`` in requests per second; requests have
            no times if neither this nor the recipe says when they arrive. ``"none"`` drops the
            recipe's.

        watch: Called now and then with the progress of writing.

    Returns:
        The trace, of the file if one was written. Its ``synthetic`` label is the whole recipe.

    Raises:
        UsageError: the recipe makes no sense, or ``out`` does not name a Parquet file.
        OSError: there is no place for the file.
        ClockhandError: the recipe's file cannot be read, or the trace cannot be written.
    """
    trace = Trace.from_recipe(
        os.fspath(recipe),
        requests=None if requests is None else str(requests),
        seed=None if seed is None else str(seed),
        arrivals=arrivals,
    )
    if out is None:
        return trace
    if Path(out).suffix != ".parquet":
        raise UsageError(
            f"a synthetic trace is written as Parquet and {os.fspath(out)!r} does not end "
            "in .parquet",
            "give a name that does",
        )
    convert_traces(trace, out, watch=watch)
    return Trace(out)


def recipes() -> pl.DataFrame:
    """Return the recipes that come with the package.

    A recipe with ``stands_for`` is a stand-in: it meets what is known of that workload, and must
    not be mistaken for it. ``pattern`` is the whole notation, with every default.
    """
    return pl.DataFrame(_engine.recipes())
