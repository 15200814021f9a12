"""Quotations of reproductions are in the papers, word for word.

The papers are not ours to ship: `CLOCKHAND_PAPERS` names a folder with their texts, whose names
begin `craw`, `cflru`, `clock-dnv` and `scm`. Without it the test is skipped.
"""

import os
import re
from pathlib import Path

import polars as pl
import pytest

RESULTS = Path(__file__).resolve().parents[2] / "experiments/results"
FLOATS = {"best-of-four", "writes-of-write-intensive"}
"""Claims whose sentences go around a figure in the paper's text."""


def letters(text: str) -> str:
    """Return the letters and digits, without breaks of lines and words, and without marks."""
    return re.sub(r"[^0-9a-z%]", "", text.lower())


def is_whole(quote: str, text: str) -> bool:
    """Say whether a quotation begins and ends with sentences of the text, or says that it does not.

    What a sentence is about is often at its ends: "sometimes", "in most cases".
    """
    first, last = quote.split("…")[0], quote.split("…")[-1]
    text = re.sub(r"\s+", " ", text)
    start, end = (spelled(part, text) for part in (first, last))
    begins = not letters(first) or any(
        re.search(r"[.?!](?: ?\[[^]]*\])?[^0-9a-zA-Z]*$", text[: it.start()]) for it in start
    )
    ends = not letters(last) or any(
        re.match(r"[^0-9a-zA-Z]*(?:\[[^]]*\])?\.(?: |\[|$)", text[it.end() :]) for it in end
    )
    return begins and ends


def spelled(part: str, text: str) -> list[re.Match[str]]:
    """Find a part of a quotation in the text, whatever marks and breaks stand between letters."""
    pattern = "[^0-9a-z%]*".join(map(re.escape, letters(part)))
    return list(re.finditer(pattern, text, re.IGNORECASE)) if pattern else []


@pytest.mark.parametrize("paper", ["craw", "cflru", "clock-dnv", "scm"])
def test_claims_quote_their_paper(paper: str) -> None:
    folder = os.environ.get("CLOCKHAND_PAPERS")
    if folder is None:
        pytest.skip(
            "CLOCKHAND_PAPERS does not name the papers' texts: quotations were not looked up"
        )
    texts = [path.read_text() for path in sorted(Path(folder).glob(f"{paper}*.txt"))]
    text = "".join(map(letters, texts))
    claims = pl.read_csv(RESULTS / paper / "claims.csv", comment_prefix="#")
    for claim in claims.iter_rows(named=True):
        if any(claim["claim"].startswith(name) for name in FLOATS):
            continue
        for part in claim["quote"].split("…"):
            assert letters(part) in text, claim
        assert any(is_whole(claim["quote"], text) for text in texts), claim
