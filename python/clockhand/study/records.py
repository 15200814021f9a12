"""What has its values by name, each of a type of its own: rows, facts, options, tables of TOML."""

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
"""Values by name, to read."""

Fields = dict[str, Any]
"""Values by name, as they are put together."""

Records = Sequence[Record]
"""Rows as the engine gives them: values by the names of columns."""
