"""The windows that CFLRU should have, beside those that a study simulates."""

from collections.abc import Iterable, Sequence

from clockhand import _engine
from clockhand.study.facts import PredictedWindow
from clockhand.study.ranges import families, is_of_window
from clockhand.study.records import Record


def predicted_windows(
    sources: Sequence[_engine.TraceSource], rows: Sequence[Record], page_bytes: int, device: str
) -> list[PredictedWindow]:
    """Predict CFLRU's window for each trace and memory size of rows in which its windows vary.

    Each trace is read once more for each memory size; standard input cannot be, and is left out.

    Args:
        sources: The traces as the engine takes them.
        rows: Result rows with the columns ``trace``, ``policy`` and ``frames``.
        page_bytes: Bytes of a page.
        device: The device that weighs writes against reads.
    """
    if not varies_window(row["policy"] for row in rows):
        return []
    return [
        {
            "trace": source.name,
            "page_bytes": page_bytes,
            "device": device,
            "frames": frames,
            "window_pages": _engine.predict_window(
                source, frames=str(frames), memory=None, page_bytes=page_bytes, device=device
            )["predicted_window"],
        }
        for source in sources
        if source.name != "-"
        for frames in sorted({row["frames"] for row in rows if row["trace"] == source.name})
    ]


def varies_window(policies: Iterable[str]) -> bool:
    """Tell whether policies are CFLRU with windows of a range."""
    return any(is_of_window(family) for family in families(policies))
