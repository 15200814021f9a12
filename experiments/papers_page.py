"""Puts what the kept tables say into papers.md, between its markers.

    .venv/bin/python experiments/papers_page.py

It reads `experiments/results` alone; a test holds that the page is what it makes.
"""

import itertools
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean

import polars as pl
from credit_clock_page import Row, between, markdown, rows_of

from clockhand.reproduce import Claim, judge
from clockhand.reproduce.statements import JUDGED
from clockhand.studies.ssd.findings import FAMILY

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments/results"
PAGE = ROOT / "experiments/papers.md"
MIXES = ROOT / "experiments/mixes.toml"

SETS = {
    "CRAW, committed traces": "craw",
    "CRAW, whole sessions": "craw/whole",
    "CFLRU": "cflru",
    "SCM": "scm",
    "CLOCK-DNV": "clock-dnv",
}
TOO_FEW = "too few cases"
VERDICTS = (
    "reproduced", "direction only", "sign only", "contradicted", "inconclusive", TOO_FEW,
    "not testable here",
)  # fmt: skip
BESIDE = ("craw", "craw-a", "cfclock", "cflru", "lru-wsr", "arc", "opt-feasible", "bound")
ALL = "all traces"
BEYOND = "beyond the paper"
UNCOUNTED = ("true by construction", BEYOND)


def claims_of(folder: str) -> list[Row]:
    """Return the kept claims of a reproduction."""
    return rows_of(RESULTS / folder / "claims.csv")


def verdicts() -> list[str]:
    """Return a column per set of claims: how many were judged how."""
    columns = []
    for folder in SETS.values():
        claims = claims_of(folder)
        counted = [claim for claim in claims if claim["counted"] == "yes"]
        counts = [
            str(sum(claim["verdict"] == verdict for claim in counted)) for verdict in VERDICTS
        ]
        said = {claim.get("statement") for claim in counted}
        many = "–" if None in said else str(len(said))
        others = [
            str(sum(claim["counted"] == f"no, {why}" for claim in claims)) for why in UNCOUNTED
        ]
        columns.append([many, str(len(counted)), *counts, *others])
    heads = ["statements", "with their readings", *VERDICTS, *UNCOUNTED]
    table = markdown(["", *SETS], [list(row) for row in zip(heads, *columns, strict=True)])
    return [*table, "", _controllers()]


def _controllers() -> str:
    """Say how many of CFLRU's readings that are contradicted are controllers of ours."""
    dynamic = [claim for claim in claims_of("cflru") if claim["statement"] == "swap-dynamic"]
    ours = sum(claim["verdict"] == "contradicted" for claim in dynamic)
    return (
        f"{ours} of CFLRU's contradicted readings are controllers whose period and step are ours; "
        "section 5.2's threshold is not in them."
    )


def statements(folder: str) -> list[str]:
    """Return what a paper says: in how many readings each statement holds, what becomes of it as it
    is written, the best, the worst."""
    rows = rows_of(RESULTS / folder / "statements.csv")
    body = []
    for row in rows:
        holds = _short(row["holds"].removesuffix("s").removesuffix(" reading"))
        written, best, worst = (_short(row[key] or "") for key in ("as_written", "best", "worst"))
        at_end = {worst: "worst", best: "best"} if worst else {best: ""}
        own, least = (
            _without_unit(INTERVAL.sub("", it), best)
            for it in (at_end.get(written, written), worst)
        )
        ends = [best, "same" if best == worst else least]
        body.append([f"`{row['statement']}`", _ranges(row["paper"] or ""), holds, own, *ends])
    return [
        *markdown(["statement", "paper", "holds in", "as written", "best", "worst"], body),
        "",
        *without_verdict(folder, {row["statement"] for row in rows}),
        *undecided(folder, {row["statement"] for row in rows}),
    ]


LEFT_OUT = re.compile(
    r";.*|it holds in |(?<=combinations) of program and memory|\w+ stand-in, |(?<=cases) from .*|"
    r", the traces' means from .*|, on .* of memory|(?<=of )the (?=cells)|(?<=\()95 %: |"
    r"(another policy costs less|another page is fastest|no worse) in (?=\d)|(?<=: )in (?=\d)|"
    r", \+[\d.]+ % at most|, (no|\d+) ties?|(?<=%\)), \d+ cases|\b(fab|cbm): |up to (?=[-+\d])|"
    r", CRAW-A better in .*| for scm:ratio=1|: –$"
)
UNITS = re.compile(
    r"(?<=\d) (traces|cases|cells|combinations|programs)( and (ratios|caches))?(?=$|,)"
)
"""What the tables leave out of a verdict and its numbers; ``claims.csv`` has it."""


INTERVAL = re.compile(r" \([^)]* %\)")


def _short(verdict: str) -> str:
    counts = UNITS.sub("", re.sub(r"(\d+) of (\d+)", r"\1/\2", LEFT_OUT.sub("", verdict)))
    counts = re.sub(r"^(direction|sign) only", r"\1", counts)
    means = re.sub(r"([-\d.]+ %) on average", r"mean \1", counts)
    return _ranges(means)


def _ranges(text: str) -> str:
    once = re.sub(r"([\d.]+) % to", r"\1 to", text.replace("\u00a0", " "))
    return re.sub(r"(?<![-+\d.])([\d.]+) to (?=[\d.]+ %)", r"\1–", once)


def _without_unit(worst: str, best: str) -> str:
    """The worst reading, without the word for its cases where it is the best one's."""
    units = [re.search(r"(\d+/\d+|%) ([a-z ]+)$", text) for text in (worst, best)]
    one, other = units
    return worst[: one.end(1)] if one and other and one[2] == other[2] else worst


def without_verdict(folder: str, judged: Collection[str]) -> list[str]:
    """Return the other statements of a paper, by why they count neither way; of those beyond the
    paper, in how many readings they hold."""
    why: dict[str, dict[str, None]] = {}
    beyond: dict[str, list[bool]] = {}
    for claim in claims_of(folder):
        reason = claim["verdict"] if claim["counted"] == "yes" else claim["counted"][4:]
        if reason == BEYOND:
            if claim["verdict"] in map(str, JUDGED):
                held = claim["verdict"] == "reproduced"
                beyond.setdefault(claim["statement"], []).append(held)
        elif claim["statement"] not in judged:
            why.setdefault(reason, {})[f"`{claim['statement']}`"] = None
    others = ", ".join(f"`{name}` {sum(held)}/{len(held)}" for name, held in beyond.items())
    told = [f"* {reason}: {', '.join(names)}" for reason, names in sorted(why.items())]
    return [*told, *([f"* {BEYOND}: {others}"] if others else [])]


def undecided(folder: str, judged: Collection[str]) -> list[str]:
    """Return in how many readings other statements are inconclusive, or have too few cases: of
    these in how many it holds, where they are cases and no numbers."""
    told = []
    for verdict in ("inconclusive", TOO_FEW):
        readings: dict[str, list[str]] = {}
        for claim in claims_of(folder):
            statement, is_counted = claim["statement"], claim["counted"] == "yes"
            if claim["verdict"] == verdict and is_counted and statement in judged:
                cases = re.search(r"^(?:in )?(\d+) of (\d+) ", claim["found"])
                key = claim["claim"].removeprefix(f"{statement}-")
                of_cases = f"{key} {cases[1]}/{cases[2]}" if cases else ""
                readings.setdefault(statement, []).append(of_cases)
        names: dict[str, list[str]] = {}
        for name, held in readings.items():
            told_of = ", ".join(held) if all(held) else str(len(held))
            names.setdefault(told_of, []).append(f"`{name}`")
        texts = (f"{', '.join(of)} {told_of}" for told_of, of in names.items())
        told += [f"* {verdict} in some readings: {'; '.join(texts)}"] if readings else []
    return told


def curves() -> list[str]:
    """Return the verdicts that another threshold of ours would change: a row per statement, in its
    first reading."""
    body = []
    for folder in ("craw", "cflru", "scm", "clock-dnv"):
        first: dict[tuple[str, str], list[Row]] = {}
        for row in rows_of(RESULTS / folder / "thresholds.csv"):
            rows = first.setdefault((row["statement"], row["threshold"]), [])
            if not rows or rows[0]["claim"] == row["claim"]:
                rows.append(row)
        for (statement, _), rows in first.items():
            if len({row["verdict"] for row in rows}) > 1:
                same = itertools.groupby(rows, key=itemgetter("verdict"))
                told = (f"{verdict} {_values(list(of))}" for verdict, of in same)
                body.append([f"`{statement}`", ", ".join(told)])
    return markdown(["statement", "verdict and thresholds"], body)


OURS = "*"
"""Marks the value of a threshold that is ours."""

LIMITS = {
    "tolerance": "of a number, a share of it",
    "alike": "of its size, a factor",
    "nearly_all": "of all cases, a share",
    "most": "of the direction, a share of cases",
    "least_cases": "of cases, how many",
}
"""Thresholds of the rules, in words."""


def rules() -> list[str]:
    """Return how many claims are reproduced, and have the direction only, with the next smaller and
    larger thresholds of the rules: over all papers."""
    counts: dict[str, dict[str, list[int]]] = {}
    for folder in SETS.values():
        for row in rows_of(RESULTS / folder / "rules.csv"):
            mark = f"{float(row['value']):g}{OURS if row['ours'] == 'yes' else ''}"
            at = counts.setdefault(row["threshold"], {}).setdefault(mark, [0, 0])
            for place, verdict in enumerate(("reproduced", "direction only")):
                at[place] += row[verdict]
    body = []
    for name, words in LIMITS.items():
        at = [(mark, f"{held}+{some}") for mark, (held, some) in counts[name].items()]
        [ours] = [place for place, (mark, _) in enumerate(at) if OURS in mark]
        shown = at[ours - 1 : ours + 2]
        body.append([words, ", ".join(" ".join(pair) for pair in shown)])
    return markdown(["threshold", "reproduced+direction only"], body)


def _values(rows: Sequence[Row]) -> str:
    """The first and the last of some values, with a mark at ours or for those between."""
    marked = [f"{float(row['value']):g}{OURS if row['ours'] == 'yes' else ''}" for row in rows]
    between = OURS if any(OURS in value for value in marked[1:-1]) else ""
    return "–".join(dict.fromkeys((marked[0], marked[-1]))) + between


SPREAD = (
    ("CRAW over CLOCK", "craw", "mean-against-clock", "sessions"),
    ("CRAW over CLOCK, pages that go to swap", "craw", "mean-against-clock-anonymous", "sessions"),
    ("CFLRU-static over LRU, 16 MiB", "cflru", "swap-static-16-mib", "whole"),
    ("CFLRU-dynamic over LRU, 16 MiB", "cflru", "swap-dynamic-16-mib", "whole"),
)
"""Means that choices move: what they are of, a set of claims, one of it, and the whole sessions."""


def spread() -> list[str]:
    """Return headline numbers in the readings that multiply: cut or whole, flushed or not."""
    body = []
    for name, folder, key, whole in SPREAD:
        claims = {claim["claim"]: claim for claim in claims_of(folder)}
        on_whole = f"{key.removesuffix('-anonymous')}-{whole}"
        on_whole += "-anonymous" if key.endswith("-anonymous") else ""
        keys = (key, f"{key}-flushed", on_whole, f"{on_whole}-flushed")
        body.append([name, claims[key]["paper"], *(_mean(claims[it]) for it in keys)])
    heads = ["mean", "the paper", "cut", "cut, flushed", "whole", "whole, flushed"]
    return markdown(heads, body)


def _mean(claim: Row) -> str:
    few = f" ({TOO_FEW})" if claim["verdict"] == TOO_FEW else ""
    return f"{claim['found'].partition(' %')[0]} %{few}"


def mixes() -> list[str]:
    """Return mean changes where programs share the memory, without and with a final flush."""
    rows = rows_of(RESULTS / "mixes/means.csv")
    claims = {row["claim"]: row["paper"] for row in rows}
    cells = {
        (row["programs"], row["turn"], row["claim"], row["flush_at_end"]): row["mean"]
        for row in rows
    }
    body = []
    for programs, turn in dict.fromkeys((row["programs"], row["turn"]) for row in rows):
        told = (
            "/".join(f"{100 * cells[programs, turn, claim, flush]:+.1f}" for flush in (False, True))
            for claim in claims
        )
        body.append([str(programs), "–" if turn is None else f"{turn:,}", *told])
    heads = [f"{claim} ({100 * paper:+.1f})" for claim, paper in claims.items()]
    memory = tomllib.loads(MIXES.read_text(encoding="utf-8"))["memory"]
    sizes = f"{memory[0].removesuffix('%')} to {memory[-1].replace('%', ' %')}"
    return [
        *markdown(["programs", "turn", *heads], body),
        "",
        f"Memory is {sizes}, so one program alone differs from the table above.",
    ]


def bands() -> list[str]:
    """Return I/O time over CLOCK's, mean and worst cell, of both sets of traces."""
    body = []
    for name, folder in (("committed", "craw"), ("whole", "craw/whole")):
        rows = [row for row in rows_of(RESULTS / folder / "bands.csv") if row["trace"] == ALL]
        cells = {(row["memory"], row["policy"]): row for row in rows}
        for memory in dict.fromkeys(row["memory"] for row in rows):
            of_band = (cells[memory, policy] for policy in BESIDE)
            told = [f"{row['mean']:.2f}, {row['worst']:.2f}" for row in of_band]
            body.append([name, memory, *told])
    return markdown(["traces", "memory", *(f"`{policy}`" for policy in BESIDE)], body)


def data_caches() -> list[str]:
    """Return what caches of a processor make of writes, and of what CRAW saves."""
    rows = [row for row in rows_of(RESULTS / "craw/data-cache.csv") if row["view"] == "paper"]
    programs = {"tar-gzip part-0": "tar", "tar-gzip part-1": "gzip", "sqlite3 part-0": "sqlite3"}
    cells = {(f"{row['session']} {row['command']}", row["data_cache"]): row for row in rows}
    caches = list(dict.fromkeys(row["data_cache"] for row in rows))

    def told(row: Row) -> str:
        share = f"{row['top_10_percent_share']:.2f}"
        times = (f"{row[it]:.2f}" for it in ("craw_over_clock", "craw_over_clock_flushed"))
        return f"{share}, {'–'.join(times)}"

    body = [
        [name, *(told(cells[key, cache]) for cache in caches)] for key, name in programs.items()
    ]
    head = [str(cache).replace("KiB", " KiB").replace("128", "128 bytes") for cache in caches]
    return markdown(["program", *head], body)


def reserves() -> list[str]:
    """Return mean I/O times over CLOCK's by the frames that are kept free."""
    rows = rows_of(RESULTS / "craw/mean-i-o-time-relative-to-clock-by-reserve.csv")
    frames = [column for column in rows[0] if column != "policy"]
    body = [[f"{it} free", *(f"{row[it]:.3f}" for row in rows[1:])] for it in frames]
    return markdown(["frames", *(f"`{row['policy']}`" for row in rows[1:])], body)


def swap_times() -> list[str]:
    """Return how much longer gcc took than under plain Linux in the same turn: median and ends."""
    rows = pl.DataFrame(rows_of(RESULTS / "cflru/swap-time.csv"), infer_schema_length=None)
    wide = rows.pivot("kernel", index=["memory", "run"], values="seconds")
    kernels = [name for name in wide.columns[2:] if name != "plain"]
    body = []
    for (memory,), runs in wide.group_by("memory", maintain_order=True):
        told = []
        for kernel in kernels:
            changes = 100 * (runs[kernel] / runs["plain"] - 1)
            least, most = changes.min(), changes.max()
            told.append(f"{changes.median():+.1f} % ({least:+.1f} to {most:+.1f})")
        plain = f"{runs['plain'].median():.1f} s"
        body.append([str(memory).replace("MiB", " MiB"), str(runs.height), plain, *told])
    return markdown(["memory", "runs", "plain", *kernels], body)


def mobile() -> list[str]:
    """Return where verdicts on mobile programs differ on committed traces and on longer ones."""
    told: dict[str, list[str]] = {}
    for folder in ("scm", "scm/whole"):
        for claim in mobile_claims(folder):
            if not claim.uncounted:
                told.setdefault(claim.key, []).append(_short(f"{claim.verdict}: {claim.found}"))
    return markdown(
        ["claim", "first 1.4 million records", "first 60 million"],
        [[f"`{key}`", *verdicts] for key, verdicts in told.items() if len(set(verdicts)) > 1],
    )


def mobile_claims(folder: str) -> Iterable[Claim]:
    """Judge the mobile programs of a folder of results again."""
    slugs = {"mobile": "mobile", "mobile_tlb": "mobile-tlb"}
    ratio = pl.col("storage_ratio").cast(pl.Float64)
    rows = {
        name: pl.read_csv(RESULTS / folder / f"{slug}.csv", comment_prefix="#").with_columns(ratio)
        for name, slug in slugs.items()
    }
    return judge("scm", rows)


RIVALS = {
    "FAB": "fab",
    "FAB, no reads": "fab:cache_reads=false",
    "CBM-like, T = 4": "cbm",
    "CBM-like, T = 16": "cbm:threshold=16",
    "LRU": "lru",
    "block LRU, writes only": "bplru:padding=off",
}


def rivals() -> list[str]:
    """Return where CLOCK-DNV is no worse than other buffers, and its counts over theirs."""
    sets = {
        "stand-ins": ("rows", ""),
        "real traces": ("real-traces", ""),
        "stand-ins, synced": ("synced", "commands=safe"),
    }
    body = []
    for name, (slug, heeded) in sets.items():
        rows = pl.read_csv(RESULTS / f"clock-dnv/{slug}.csv", comment_prefix="#")
        per_run = (pl.col(it) / pl.col("repetitions") for it in ("host_writes", "erases"))
        policy = FAMILY.str.replace(f"[:,]{heeded}$", "").alias("policy")
        counts = rows.select("trace", "buffer_pages", policy, *per_run)
        ours = counts.filter(pl.col("policy") == "clock-dnv")
        for called, other in RIVALS.items():
            pairs = ours.join(
                counts.filter(pl.col("policy") == other), on=["trace", "buffer_pages"]
            )
            told = []
            for column in ("host_writes", "erases"):
                known = pairs.filter(pl.min_horizontal(column, f"{column}_right") > 0)
                ratios = (known[column] / known[f"{column}_right"]).to_list()
                held = sum(ratio <= 1 for ratio in ratios)
                mean = f"{geometric_mean(ratios):.2f}" if ratios else "–"
                told += [f"{held}/{len(ratios)}", mean]
            body.append([name, called, *told])
    heads = ["traces", "other buffer", "writes no worse", "over its", "erases no worse", "over its"]
    return markdown(heads, body)


BLOCKS: dict[str, Callable[[], Sequence[str]]] = {
    "verdicts": verdicts,
    "spread": spread,
    "mixes": mixes,
    "thresholds": curves,
    "rules": rules,
    "craw-statements": lambda: statements("craw"),
    "craw-whole-statements": lambda: statements("craw/whole"),
    "craw-bands": bands,
    "craw-data-caches": data_caches,
    "craw-reserves": reserves,
    "cflru-swap-time": swap_times,
    "cflru-statements": lambda: statements("cflru"),
    "scm-statements": lambda: statements("scm"),
    "scm-mobile": mobile,
    "clock-dnv-rivals": rivals,
    "clock-dnv-statements": lambda: statements("clock-dnv"),
}


def page(text: str) -> str:
    """Return the page with all blocks made again."""
    for marker, lines in BLOCKS.items():
        text = between(text, marker, "\n".join(lines()))
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
