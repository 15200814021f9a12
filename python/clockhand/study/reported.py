"""Results that can be written as a report and as figures."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from clockhand.study.files import publish


class Reported(ABC):
    """A result with a report and figures, which are made when they are asked for."""

    def write_report(self, path: str | os.PathLike[str], *, highlight: Sequence[str] = ()) -> None:
        """Write one HTML file with figures, table and facts that opens without a network.

        ``highlight`` names what figures with many lines emphasise, besides the best and the
        baseline: names or patterns, of at most six lines.
        """
        publish(self.report_files(Path(path), None, highlight))

    def write_plots(self, folder: str | os.PathLike[str], *, highlight: Sequence[str] = ()) -> None:
        """Write each figure as SVG and PNG into a folder, which is made if absent."""
        publish(self.report_files(None, Path(folder), highlight), folder=Path(folder))

    def report_files(
        self, report: Path | None, plots: Path | None, highlight: Sequence[str] = ()
    ) -> dict[Path, bytes]:
        """Return the content of each file of a report and of a folder of figures."""
        files: dict[Path, bytes] = {}
        if report is not None:
            files[report] = self._rendered(highlight).encode()
        if plots is not None:
            files |= self._pictures(plots, highlight)
        return files

    @abstractmethod
    def _rendered(self, highlight: Sequence[str]) -> str:
        """Return the report as HTML."""

    @abstractmethod
    def _pictures(self, folder: Path, highlight: Sequence[str]) -> dict[Path, bytes]:
        """Return the content of each file with a figure in ``folder``."""
