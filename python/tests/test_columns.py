"""The columns of rows: declared in the engine, documented, and what commands print."""

from pathlib import Path

import polars as pl
import pytest

from clockhand import _engine
from clockhand.study.columns import page, schema

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_columns_is_what_the_engine_declares() -> None:
    assert (ROOT / "docs/columns.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("study", _engine.columns())
def test_every_column_has_a_type(study: str) -> None:
    assert all(issubclass(kind, pl.DataType) for kind in schema(study).values())
