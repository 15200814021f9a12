"""A report as Chromium draws it."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """Skip a test that needs a browser; where ``CI=true`` it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def opened_page(page: Path) -> str:
    """Return a page as it is when its figures are drawn; nothing went wrong on the way."""
    chromium = shutil.which("chromium")
    if chromium is None:
        unavailable("chromium is not here: the page was not opened")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
        f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=60000", "--dump-dom",
        page.as_uri(),
    ]  # fmt: skip
    opened = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert 'data-figures="drawn"' in opened.stdout
    assert 'role="alert"' not in opened.stdout
    assert "CONSOLE" not in opened.stderr, opened.stderr
    return opened.stdout
