"""Results that can be written as a report and as figures."""

import os
from abc import ABC, abstractmethod
from pathlib import Path

from clockhand.study.files import publish


class Reported(ABC):
    """A result with a report and figures, which are made when they are asked for."""

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file with figures, table and facts that opens without a network."""
        publish(self.report_files(Path(path), None))

    def write_plots(self, folder: str | os.PathLike[str]) -> None:
        """Write each figure as SVG and PNG into a folder, which is made if absent."""
        publish(self.report_files(None, Path(folder)), folder=Path(folder))

    def report_files(self, report: Path | None, plots: Path | None) -> dict[Path, bytes]:
        """Return the content of each file of a report and of a folder of figures."""
        files: dict[Path, bytes] = {}
        if report is not None:
            files[report] = self._rendered().encode()
        if plots is not None:
            files |= self._pictures(plots)
        return files

    @abstractmethod
    def _rendered(self) -> str:
        """Return the report as HTML."""

    @abstractmethod
    def _pictures(self, folder: Path) -> dict[Path, bytes]:
        """Return the content of each file with a figure in ``folder``."""
