"""What papers need: tables for LaTeX and Markdown, figures as wide as a column, legible in grey."""

import csv
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clockhand
from clockhand import UsageError
from clockhand.command.keeping import TableKeeper
from clockhand.command.papers import Outputs, TableForm
from clockhand.command.programs import _print as print_run
from clockhand.command.tables import print_table
from clockhand.report.appearance import IDENTITIES, INK, MUTED
from clockhand.report.paper import FONTS, PAPER, paper_of
from clockhand.report.paper_tables import PaperTable, latex, latex_text, markdown
from conftest import Clockhand, assert_one_sentence, run_each
from test_library_calls import trace
from test_notebook_charts import ALL, comparison, paged

ASCII = "".join(map(chr, range(32, 127)))
HARD = PaperTable(
    title=f"Hard: {ASCII} – … ± \u00d7 · ≤ ≥ ∞ µ ►\u00a0--",
    slug="hard",
    content=pl.DataFrame(
        {
            "name": [f"[x] {ASCII}", "b\nc", None],
            "n": [1, -22, None],
            "share %": [0.5, float("inf"), float("nan")],
            "5.0 %": [1.0, 2.0, 3.0],
            "read p50 µs": [1e-4, 2.0, None],
            "on": [True, False, None],
        }
    ),
)
"""A table with every character that means something, and every kind of value."""


def test_a_table_for_latex_has_numbers_for_siunitx_and_rules_of_booktabs() -> None:
    lines = latex(HARD, ["made by % us"]).splitlines()
    assert lines[0] == "% made by % us"
    assert lines[5].startswith(r"\label{tab:hard}") and r"\toprule" in lines
    assert lines[6] == (
        r"\begin{tabular}{l S[table-format=-2] S[table-format=1.3] S[table-format=1.3] "
        r"S[table-format=1.6] l}"
    )
    # A unit is one; behind a number it belongs to a size.
    assert lines[8] == (
        r"name & {n} & {share (\unit{\percent})} & {5.0 \%} & {read p50 (\unit{\micro\second})} "
        r"& on \\"
    )
    assert lines[11] == r"b c & -22 & {$\infty$} & 2.000 & 2.000000 & no \\"
    assert lines[12] == r"-- & {--} & {--} & 3.000 & {--} & -- \\"


def test_no_character_of_a_name_means_anything_to_latex() -> None:
    escaped = latex_text(ASCII + "---")
    assert not re.search(r"(?<!\\)[#$%&_^~]", escaped.replace("\\#", ""))
    assert "--" not in escaped
    # A bracket at the begin of a line would be an option of the line before.
    assert latex_text("[b]") == "{[}b{]}"
    assert latex_text("5 – 6\nms") == "5 -- 6 ms"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex with siunitx")
def test_pdflatex_takes_a_table_with_every_character(tmp_path: Path) -> None:
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,siunitx}\n\\begin{document}\n"
        + latex(HARD, [HARD.title])
        + "\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")


def test_a_table_for_markdown_has_as_many_cells_in_each_line() -> None:
    lines = markdown(HARD, ["--> ends a comment"]).splitlines()
    assert lines[:3] == ["<!--", "-- > ends a comment", "-->"]
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 5
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert set(cells) == {HARD.content.width + 1}
    assert table[1] == "| --- | ---: | ---: | ---: | ---: | --- |"
    assert table[3] == "| b c | -22 | ∞ | 2.000 | 2.000000 | no |"


STUDIES = {
    "simulate": ["--policy", "clock,craw", "--frames", "2,3"],
    "pagecache": ["--policy", "clock,lru", "--frames", "2,3"],
    "ssd": ["--buffer", "fab:total=2", "--ssd", "small"],
    "tier": ["--fast-frames", "2,3", "--policy", "lru", "--tiers", "cxl"],
    "translate": ["--tlb", "2", "--frames", "2,3"],
    "filecache": ["--capacity", "2,3", "--device", "hdd"],
    "locality": [],
}
"""Every study of traces with --plots, and what it needs."""


FORMS = {"latex": "tex", "markdown": "md", "csv": "csv"}


def test_every_study_writes_the_tables_that_it_prints(textbook: Path, tmp_path: Path) -> None:
    asked = list(itertools.product(STUDIES, FORMS))
    commands = [
        [study, str(textbook), *STUDIES[study], "--tables", f"{study}-{form}", "--as", form]
        for study, form in asked
    ]
    for (study, form), run in zip(asked, run_each(commands, tmp_path), strict=True):
        assert run.code == 0, run.err
        files = sorted((tmp_path / f"{study}-{form}").iterdir())
        assert files and all(path.suffix == f".{FORMS[form]}" for path in files)
        # Each table that was printed has a line below its headings.
        assert len(files) == len(re.findall("^ *───", run.out.decode(), re.MULTILINE)), study
        for path in files:
            text = path.read_text()
            assert f"clockhand {study}" in text and "SHA-256" in text
            if form == "latex":
                body = [line for line in text.splitlines() if line.endswith(r" \\")]
                assert len(body) > 1
                assert len({len(re.findall(r"(?<!\\)&", line)) for line in body}) == 1
                assert text.count("{") == text.count("}")


@pytest.mark.parametrize("result", [paged, comparison])
def test_tables_of_programs_are_written_too(result: Callable[[], Any], tmp_path: Path) -> None:
    done = result()
    papers = Outputs(tables=tmp_path, form=TableForm.LATEX)
    files = papers.files(partial(print_run, done), done.facts)
    assert tmp_path / "sort.tex" in files
    assert all(b"\\toprule" in content for content in files.values())


def test_tables_have_the_numbers_of_the_rows(clockhand: Clockhand, textbook: Path) -> None:
    arguments = [textbook, *STUDIES["simulate"], "--tables", "t", "--format", "json"]
    rows = json.loads(clockhand("simulate", *arguments).out)
    table = textbook.parent / "t" / "textbook-trace.csv"
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    read = list(csv.DictReader(lines))
    assert [int(line["write I/Os"]) for line in read] == [row["write_ios"] for row in rows]
    assert [line["policy"] for line in read] == [row["policy"] for row in rows]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--as", "latex"], "--tables"),
        (["--theme", "paper"], "--plots"),
        (["--plots", "p", "--theme", "poster"], "paper"),
        (["--plots", "p", "--theme", "paper:width=5mm"], "40 to 400 mm"),
        (["--plots", "p", "--theme", "paper:width=84"], "84mm"),
        (["--plots", "p", "--theme", "paper:font=comic"], "serif or sans"),
        (["--plots", "p", "--theme", "paper:height=1mm"], "'height'"),
    ],
)
def test_what_means_nothing_is_refused_before_the_work(
    clockhand: Clockhand, textbook: Path, options: list[str], words: str
) -> None:
    run = clockhand("simulate", textbook, *STUDIES["simulate"], *options)
    assert_one_sentence(run)
    assert run.code == 2 and words in run.err
    assert not (textbook.parent / "p").exists()


def test_a_width_has_a_unit() -> None:
    assert paper_of("paper").width_mm == paper_of("paper:width=8.4cm").width_mm == 84
    assert paper_of("paper:width=240pt").width_mm == pytest.approx(84.667, abs=1e-3)


@pytest.mark.parametrize("font", ["serif", "sans"])
def test_figures_for_a_paper_have_its_width_and_their_fonts(
    clockhand: Clockhand, textbook: Path, tmp_path: Path, font: str
) -> None:
    theme = f"paper:width=84mm,font={font}"
    run = clockhand("simulate", textbook, *STUDIES["simulate"], "--plots", "p", "--theme", theme)
    assert run.code == 0, run.err
    family = {"serif": b"Tinos", "sans": b"Arimo"}[font]
    drawn = sorted((tmp_path / "p").iterdir())
    assert {path.suffix for path in drawn} == {".pdf", ".svg"} and len(drawn) > 4
    for path in drawn:
        content = path.read_bytes()
        assert family in content, path
        if path.suffix == ".svg":
            assert b'width="84.00mm"' in content
            assert b"src:url(data:font/ttf;base64," in content
        else:
            [box] = re.findall(rb"MediaBox ?\[ ?0 0 ([\d.]+) [\d.]+ ?\]", content)
            assert float(box) == pytest.approx(84 / 25.4 * 72, abs=0.1)
            assert b"/FontFile" in content


@pytest.mark.parametrize("name", ALL)
def test_every_figure_of_every_study_fits_a_column(name: str, tmp_path: Path) -> None:
    result = ALL[name]()
    result.write_plots(tmp_path / "p", theme="paper:width=84mm")
    for key in result.specifications():
        svg = (tmp_path / "p" / f"{key}.svg").read_text()
        [(width, _)] = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        # The type is then no more than 3 % smaller or larger than it says.
        assert float(width) == pytest.approx(84 / 25.4 * 96, rel=0.03), key


def lightness(color: str) -> float:
    """CIE L*: the grey of a copy."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = sum(part * c for part, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_what_a_copy_in_grey_cannot_tell_by_shape_or_dash_it_tells_by_lightness() -> None:
    greys = {INK: lightness(PAPER.ink), MUTED: lightness(PAPER.muted)}
    greys |= {place: lightness(color) for place, color in enumerate(PAPER.series)}
    assert max(greys.values()) < 62, "a contrast of 3:1 with white"
    admissions = {"always", "second-touch", "tinylfu", "write-around", "belady"}
    for (one, a), (other, b) in itertools.combinations(IDENTITIES.items(), 2):
        if a[1:] == b[1:] and (one in admissions) == (other in admissions):
            assert abs(greys[a[0]] - greys[b[0]]) > 5, (one, other)


def test_the_fonts_have_the_letters_of_figures() -> None:
    assert sorted(path.name for path in FONTS.glob("*.ttf")) == [
        "Arimo-Bold.ttf", "Arimo-Regular.ttf", "Tinos-Bold.ttf", "Tinos-Regular.ttf",
    ]  # fmt: skip
    assert "SIL OPEN FONT LICENSE" in (FONTS / "OFL.txt").read_text()


def test_a_theme_is_of_a_folder(tmp_path: Path) -> None:
    result = clockhand.run_simulation(trace(), policies="clock,craw", frames="4,8")
    with pytest.raises(UsageError, match="folder"):
        result.write_plots(tmp_path / "p.pdf", theme="paper")


def test_tables_call_policies_of_ones_own_by_their_class() -> None:
    keeper = TableKeeper()
    print_table("t", {"policy": ["/home/me/mine.py:Oldest", None], "29\n5 %": [1, 2]}, keeper)
    assert keeper.tables == [("t", {"policy": ["Oldest", None], "29, 5 %": [1, 2]})]


def test_any_table_can_be_written_for_a_paper() -> None:
    rows = pl.DataFrame({"policy": ["a_b"], "misses": [12]})
    assert r"a\_b & 12 \\" in clockhand.report.paper_table(rows, "latex", title="T")
    assert "| a\\_b | 12 |" in clockhand.report.paper_table(rows, "markdown", title="T")
    with pytest.raises(UsageError, match="latex or markdown"):
        clockhand.report.paper_table(rows, "word", title="T")
