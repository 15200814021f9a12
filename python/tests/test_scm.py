"""`clockhand reproduce scm`: what becomes of the SCM paper's claims, and what is refused."""

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clockhand
from clockhand import UsageError
from clockhand.measure.measured import LOOP, Measured, MeasuredPoint, read_measured
from clockhand.reproduce import (
    Claim,
    Reproduction,
    Verdict,
    judge,
    read_paper_experiment,
    reproduce,
)
from clockhand.reproduce.measures.file_caches import hits_rise
from clockhand.reproduce.measures.page_sizes import best_pages, knee, translation_weighs_less
from conftest import Clockhand, assert_one_sentence, cut
from opened import opened_page

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments/scm/experiment.toml"
DISK, SCM = "hdd", "scm:ratio=1"
READINGS_JUDGED = ("half", "copy", "storage")
WORKLOADS = ("freecell", "gedit", "gqview", "kghostview", "xmms")
SERVERS = ("web server", "proxy server")
APPLICATIONS = ("facebook", "angrybirds", "youtube", "farmstory", "chrome")
SIZES = [512 << doubling for doubling in range(8)]
HITS = pl.DataFrame(
    [
        {"device": device, "insert": insert, "required_hits": hits}
        for device, hits in ((DISK, 1), (SCM, 2))
        for insert in READINGS_JUDGED
    ]
)
CLAIMS = 123


def judge_paging(rows: pl.DataFrame) -> list[Claim]:
    return judge("scm", {"desktop": rows})


def judge_caching(
    rows: pl.DataFrame, required_hits: pl.DataFrame, measured: Measured
) -> list[Claim]:
    return judge("scm", {"servers": rows, "required_hits": required_hits, "measured": measured})


def judge_mobile(rows: pl.DataFrame, tlb_rows: pl.DataFrame) -> list[Claim]:
    return judge("scm", {"mobile": rows, "mobile_tlb": tlb_rows})


def made_rows(best_for_faults: dict[str, int], fastest: dict[float, int]) -> pl.DataFrame:
    """Rows in which these page sizes, in bytes, are best; translation gets faster with the page."""
    return pl.DataFrame(
        [
            {
                "workload": workload,
                "trace": workload,
                "memory": memory,
                "page_bytes": size,
                "storage_ratio": ratio,
                "t_addr_ns": 2.0 + 64.0 / SIZES.index(size) if size > 512 else 90.0,
                "page_fault_ratio": 0.01 if size == best_for_faults[workload] else 0.02,
                "amat_ns": 60.0 if size == fastest[ratio] else 70.0,
            }
            for workload in WORKLOADS
            for memory in ("1MiB", "2MiB", "4MiB", "8MiB", "16MiB")
            for size in SIZES
            for ratio in fastest
        ]
    )


def test_rows_as_the_paper_tells_them_reproduce_its_claims() -> None:
    as_told = {"gqview": 8192, "kghostview": 8192, "xmms": 8192, "gedit": 1024, "freecell": 4096}
    claims = judge_paging(made_rows(as_told, {1.0: 8192, 10.0: 512, 100.0: 512}))
    verdicts = {claim.key: claim.verdict for claim in claims}
    # All programs were made alike in time, and three of five have the fewest faults there.
    assert verdicts.pop("access-times-differ") is Verdict.CONTRADICTED
    assert verdicts.pop("faults-are-not-time") is Verdict.CONTRADICTED
    # One page was made best, whatever the memory, and all others fault alike.
    assert verdicts.pop("large-pages-fault-less") is Verdict.CONTRADICTED
    assert verdicts.pop("small-pages-in-little-memory") is Verdict.CONTRADICTED
    of_programs = [verdicts.pop(f"faults-{workload}") for workload in WORKLOADS]
    assert set(of_programs) == {Verdict.UNTESTABLE}, "the programs are gone"
    assert set(verdicts.values()) == {Verdict.REPRODUCED}


def test_rows_unlike_the_paper_do_not() -> None:
    rows = made_rows(dict.fromkeys(WORKLOADS, 512), {1.0: 512, 10.0: 4096, 100.0: 512})
    verdicts = {claim.key: claim.verdict for claim in judge_paging(rows)}
    for key in ("faults-differ", "as-fast-as-memory", "smallest-at-10"):
        assert verdicts[key] is Verdict.CONTRADICTED
    assert verdicts["smallest-at-100"] is Verdict.REPRODUCED
    assert set(best_pages(rows, "amat_ns", 10.0)["page_bytes"]) == {4096}


def servers(disk: float, scm: float, admission: float) -> pl.DataFrame:
    """Rows in which a cache saves these shares, whatever its size."""
    saved = {(DISK, "always"): disk, (SCM, "always"): scm, (SCM, "second-touch"): admission}
    return pl.DataFrame(
        [
            {
                "workload": server,
                "capacity_share": share,
                "device": device,
                "admission": rule,
                "insert": insert,
                "time_us": 100.0 * (1 - gain),
                "time_without_cache_us": 100.0,
            }
            for server in SERVERS
            for share in (0.1, 0.2, 0.4, 0.8)
            for insert in READINGS_JUDGED
            for (device, rule), gain in saved.items()
        ]
    )


def measured(storage_us: float, cached_us: float, copied_us: float) -> Measured:
    def at(median_us: float) -> dict[int, MeasuredPoint]:
        point = MeasuredPoint(median_us / 2, median_us, 2 * median_us)
        return {4096 << doubling: point for doubling in range(5)}

    return Measured("a machine", "2020-09-21", "brd", at(storage_us), at(cached_us), at(copied_us))


def verdicts_of(claims: Iterable[Claim]) -> dict[str, Verdict]:
    return {claim.key: claim.verdict for claim in claims}


def test_servers_and_a_machine_as_the_paper_tells_them_reproduce_its_claims() -> None:
    verdicts = verdicts_of(judge_caching(servers(0.7, 0.02, 0.3), HITS, measured(1.3, 1.0, 0.5)))
    for faster in ("disk-70-percent-speed", "disk-70-percent-practical-speed"):
        assert verdicts.pop(faster) is Verdict.DIRECTION, "70 % less time is 3.3 times as fast"
    assert set(verdicts.values()) == {Verdict.REPRODUCED}


def test_servers_and_a_machine_unlike_the_paper_do_not() -> None:
    hits = HITS.with_columns(required_hits=3 - pl.col("required_hits"))
    rows = servers(-0.1, 0.04, -0.2)
    verdicts = verdicts_of(judge_caching(rows, hits, measured(0.9, 1.0, 0.5)))
    for insert in READINGS_JUDGED:
        assert verdicts.pop(f"two-hits-{insert}") is Verdict.DIRECTION
    assert set(verdicts.values()) == {Verdict.CONTRADICTED}


def test_hits_that_pay_follow_from_measured_times() -> None:
    def found(storage_us: float, copied_us: float) -> str:
        claims = judge_caching(servers(0, 0, 0), HITS, measured(storage_us, 1.0, copied_us))
        [claim] = [claim for claim in claims if claim.key == "two-hits-measured"]
        return claim.evidence[1][1]

    # h (T - t) must be more than what inserting takes: 2 · 0.25 is not more than 0.5.
    assert found(1.25, 0.5) == "3"
    assert found(1.5, 0.25) == "1"
    assert found(1.0, 0.25) == "no number"


def test_gains_of_admission_are_a_range_if_all_of_them_are_in_it() -> None:
    rows = servers(0.7, 0.0, 0.2)
    last = (pl.col("capacity_share") == 0.8) & (pl.col("admission") == "second-touch")
    rows = rows.with_columns(time_us=pl.when(last).then(30.0).otherwise("time_us"))
    verdicts = verdicts_of(judge_caching(rows, HITS, measured(1.3, 1.0, 0.5)))
    assert verdicts["admission-over-lru-copy"] is Verdict.DIRECTION
    assert verdicts["admission-over-lru-copy-practical"] is Verdict.REPRODUCED


def test_a_loop_device_is_no_part_of_memory_used_as_a_disk() -> None:
    def untested(disk: str) -> set[str]:
        of_disk = replace(measured(1.3, 1.0, 0.5), disk=disk)
        claims = judge_caching(servers(0.7, 0.02, 0.3), HITS, of_disk)
        return {claim.key for claim in claims if claim.verdict is Verdict.UNTESTABLE}

    assert untested("brd") == set()
    assert untested(LOOP) == {"storage-30-percent-slower", "two-hits-measured"}


def test_the_best_page_grows_with_memory() -> None:
    def found(*best_of_memory: int) -> Verdict:
        rows = [
            {"workload": workload, "trace": workload, "memory": memory, "page_bytes": size,
             "storage_ratio": ratio, "page_fault_ratio": 0.01 if size == best else 0.02,
             "t_addr_ns": 1.0, "amat_ns": 1.0}
            for workload in WORKLOADS
            for memory, best in zip(("1MiB", "2MiB", "4MiB"), best_of_memory, strict=True)
            for size in SIZES
            for ratio in (1.0, 10.0, 100.0)
        ]  # fmt: skip
        return verdicts_of(judge_paging(pl.DataFrame(rows)))["small-pages-in-little-memory"]

    assert found(512, 4096, 4096) is Verdict.REPRODUCED
    assert found(512, 4096, 2048) is Verdict.CONTRADICTED
    assert found(512, 512, 512) is Verdict.CONTRADICTED


def paged(device: str, amat_ns: float) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"workload": workload, "memory": "50%", "device": device, "amat_ns": amat_ns}
            for workload in WORKLOADS
        ]
    )


def test_what_a_change_saves_depends_on_the_storage() -> None:
    def verdicts(disk: float, scm: float) -> dict[str, Verdict]:
        plain = pl.concat([paged(DISK, 100.0), paged(SCM, 100.0), paged("scm:ratio=10", 100.0)])
        changed = pl.concat([paged(DISK, disk), paged(SCM, scm), paged("scm:ratio=10", scm)])
        return verdicts_of(judge("scm", {"paged": plain, "prefetched": changed, "huge": changed}))

    assert set(verdicts(50.0, 120.0).values()) == {Verdict.REPRODUCED}
    assert set(verdicts(120.0, 50.0).values()) == {Verdict.CONTRADICTED}


def mobile(times_ns: list[float], hit_ratios: list[float]) -> pl.DataFrame:
    """Rows of every application: by page size, access times at all ratios, and TLB hit rates."""
    return pl.DataFrame(
        [
            {
                "trace": "stand-in",
                "workload": application,
                "references": 15_000_000,
                "page_bytes": size,
                "storage_ratio": ratio,
                "tlb_hit_ratio": hit_ratio,
                "page_fault_ratio": 1 / size,
                "amat_ns": time_ns,
            }
            for application in APPLICATIONS
            for ratio in (1.0, 1000.0)
            for size, time_ns, hit_ratio in zip(SIZES, times_ns, hit_ratios, strict=True)
        ]
    )


def tlbs(hit_ratios: dict[int, float]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"trace": "stand-in", "workload": application, "page_bytes": 4096,
             "tlb_entries": entries,
             "tlb_hit_ratio": hit_ratio}
            for application in APPLICATIONS
            for entries, hit_ratio in hit_ratios.items()
        ]
    )  # fmt: skip


def test_mobile_programs_as_the_paper_tells_them_reproduce_its_claims() -> None:
    rows = mobile([90, 60, 50, 50, 50, 50, 50, 51], [0.5, 0.7, 0.8, 0.85, 0.87, 0.88, 0.88, 0.88])
    of_tlbs = tlbs({1: 0.1, 8: 0.7, 16: 0.9, 20: 0.91, 64: 0.95})
    verdicts = verdicts_of(judge_mobile(rows, of_tlbs))
    assert set(verdicts.values()) == {Verdict.REPRODUCED} and len(verdicts) == 7


def test_mobile_programs_unlike_the_paper_do_not() -> None:
    rows = mobile([50, 60, 70, 80, 90, 99, 120, 150], [0.9, 0.89, 0.88, 0.8, 0.7, 0.6, 0.5, 0.6])
    verdicts = verdicts_of(judge_mobile(rows, tlbs({1: 0.1, 20: 0.3, 32: 0.9, 64: 0.95})))
    assert verdicts.pop("mobile-faults") is Verdict.REPRODUCED, "by construction"
    assert set(verdicts.values()) == {Verdict.CONTRADICTED}


def test_a_curve_bends_where_it_is_highest_above_the_line_between_its_ends() -> None:
    assert knee([(1, 0.0), (8, 0.6), (20, 0.7), (64, 1.0)]) == 8
    assert knee([(1, 0.0), (20, 0.2), (32, 0.9), (64, 1.0)]) == 32
    assert knee([(1, 0.5), (8, 0.5), (64, 0.5)]) == 1, "a flat line bends nowhere"


@pytest.fixture(scope="module")
def short_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment on the beginnings of traces, with fewer cells, which are kept beside it."""
    folder = tmp_path_factory.mktemp("scm")
    text = EXPERIMENT.read_text()
    small = {
        "freecell": "tar-gzip", "gedit": "sqlite3", "geeqie": "cc1", "evince": "freecell",
        "audacious": "gedit",
    }  # fmt: skip
    for name, instead in small.items():
        short = cut(ROOT / f"traces/{instead}.parquet", folder)
        text = text.replace(f'"../../traces/{name}.parquet"', f'"{short}"')
    for name in ("chat", "physics", "player", "town", "browser"):
        short = cut(ROOT / f"traces/mobile/{name}.parquet", folder)
        text = text.replace(f'"../../traces/mobile/{name}.parquet"', f'"{short}"')
    text = text.replace('"../../', f'"{ROOT}/').replace('dataset = "../datasets/scm"\n', "")
    text = text.replace('"../devices/', f'"{ROOT}/experiments/devices/')
    text = text.replace("recipe:../", f"recipe:{ROOT}/experiments/")
    text = text.replace('"2MiB", "4MiB", "8MiB", "16MiB"', '"256KiB", "1MiB"')
    path = folder / "short.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def made(short_experiment: Path) -> Reproduction:
    return reproduce(read_paper_experiment("scm", short_experiment))


def test_the_command_prints_verdicts_and_writes_page_and_tables(
    made: Reproduction, short_experiment: Path, tmp_path: Path, clockhand: Clockhand
) -> None:
    dataset = short_experiment.parent / "datasets/short"
    parts = sorted(dataset.glob("*/part-*.parquet"))
    assert {part.parent.name for part in parts} == {
        "servers", "servers_bound", "servers_many", "servers_many_bound", "desktop",
        "desktop_priced", "desktop_shares", "desktop_two_levels", "paged", "prefetched", "huge",
        "sequential", "mobile", "mobile_two_levels", "mobile_tlb",
    }  # fmt: skip
    run = clockhand(
        "reproduce", "scm", "--experiment", short_experiment, "--html", "p.html", "--tables", "t",
        "--out", "claims.csv",
    )  # fmt: skip
    assert run.code == 0, run.err
    assert sorted(dataset.glob("*/part-*.parquet")) == parts, "no cell is computed twice"
    claims = pl.read_csv(tmp_path / "claims.csv")
    assert claims["found"].to_list() == [it.found.replace("\u00a0", " ") for it in made.claims]
    assert claims.height == CLAIMS
    untested = claims.filter(pl.col("verdict") == "not testable here")["claim"]
    of_programs = {f"faults-{workload}" for workload in WORKLOADS}
    assert set(untested) == of_programs | {"two-hits-measured"}
    assert {path.name for path in (tmp_path / "t").iterdir()} == {
        "claims.csv", "statements.csv", "thresholds.csv", "rules.csv", "fastest-page-size.csv",
        "servers-bound.csv", "servers-many-bound.csv", "desktop-two-levels.csv",
        "mobile-two-levels.csv",
        "mobile.csv", "mobile-tlb.csv", "required-hits.csv", "hits-curve.csv",
        "desktop-priced.csv",
        "desktop-shares.csv", "paged.csv",
        "prefetched.csv", "huge.csv", "sequential.csv", "rows.csv", "servers.csv",
        "servers-many.csv",
    }  # fmt: skip
    assert (
        f"The SCM paper on 12 traces: of {CLAIMS - 15} claims" in (tmp_path / "p.html").read_text()
    )
    opened_page(tmp_path / "p.html")


def test_an_admission_that_knows_the_future_is_never_beaten(made: Reproduction) -> None:
    bound, servers = made.results["servers_bound"], made.results["servers"]
    assert bound["admission_resolved"].str.starts_with("belady:reuse=").all()
    key = ["trace", "device", "insert", "capacity"]
    both = servers.join(bound.select(*key, best="time_us"), on=key)
    assert both.height == 2 * bound.height and (both["best"] <= both["time_us"]).all()
    [claim] = [it for it in made.claims if it.key == "admission-bound-copy"]
    assert claim.statement == "admission" and claim.uncounted == "beyond the paper"
    small = both.filter(
        (pl.col("admission") == "always")
        & (pl.col("insert") == "copy")
        & (pl.col("capacity_share").round(2) < 0.5)
    )
    gains = (1 - small["best"] / small["time_us"]).to_list()
    assert f"{100 * max(gains):.1f}" in claim.found


def test_a_second_level_of_the_tlb_saves_walks_and_takes_a_look_up(made: Reproduction) -> None:
    two = made.results["desktop_two_levels"]
    assert set(two["tlb2"]) == {"2048/16"}
    missed = pl.col("references") - pl.col("tlb_hits")
    walked = missed - pl.col("tlb2_hits")
    expected = 1 + (7 * missed + 50 * walked) / pl.col("references")
    assert two.select((pl.col("t_addr_ns") - expected).abs().max()).item() < 1e-3
    cell = ["trace", "memory", "page_bytes", "storage_ratio"]
    both = two.join(made.results["desktop"].select(*cell, one="t_addr_ns"), on=cell)
    assert both.height == two.height
    # Where it saves a walk in fewer than 7 of 50 misses, the second look-up costs more.
    pays = (50 * both["tlb2_hits"] > 7 * (both["references"] - both["tlb_hits"])).to_list()
    assert pays == (both["t_addr_ns"] < both["one"]).to_list() and True in pays
    keys = {claim.key for claim in made.claims}
    assert {"translation-shrinks-two-levels", "smallest-at-10-two-levels"} <= keys
    assert {"mobile-access-time-two-levels", "mobile-large-is-best-two-levels"} <= keys


def test_cells_are_those_of_the_studies(made: Reproduction, short_experiment: Path) -> None:
    alone = clockhand.translate(
        short_experiment.with_name("cc1.parquet"),
        page_size="512,64KiB", memory="256KiB", ratio="1,10,100,1000",
    ).rows  # fmt: skip
    same = made.results["desktop"].filter(
        (pl.col("workload") == "gqview")
        & pl.col("page_bytes").is_in([512, 65536])
        & (pl.col("memory") == "256KiB")
    )
    assert same.select(alone.columns[1:]).rows() == alone.select(alone.columns[1:]).rows()
    disk = clockhand.filecache(
        ROOT / "traces/servers/calls/web.parquet", capacity="10%", devices=DISK
    )
    of_disk = made.results["servers"].filter(
        (pl.col("workload") == "web server")
        & (pl.col("device") == DISK)
        & (pl.col("admission") == "always")
        & (pl.col("insert") == "copy")
    )
    own = disk.rows.columns[1:]
    assert of_disk.select(own).row(0) == disk.rows.select(own).row(0)
    mobile = clockhand.translate(
        short_experiment.with_name("player.parquet"), page_size="4KiB", tlb="1,64", memory="100%",
        ratio="1", no_swap=True,
    ).rows  # fmt: skip
    of_player = made.results["mobile_tlb"].filter(
        (pl.col("workload") == "youtube") & pl.col("tlb_entries").is_in([1, 64])
    )
    own = mobile.columns[1:]
    assert of_player.select(own).rows() == mobile.select(own).rows()
    assert set(made.results["mobile"]["evictions"]) == set(made.results["mobile"]["kills"]) == {0}


def test_longer_captures_in_a_folder_are_taken_and_named_so(
    short_experiment: Path, tmp_path: Path
) -> None:
    (tmp_path / "longer").mkdir()
    shutil.copy(ROOT / "traces/sqlite3.parquet", tmp_path / "longer/chat.parquet")
    parts = dict(read_paper_experiment("scm", short_experiment, traces=tmp_path / "longer").parts)
    for name in ("mobile", "mobile_tlb"):
        part = parts[name]
        by_workload = dict(zip(part.workloads, part.names, strict=True))
        assert by_workload["facebook"] == "chat, whole"
        assert by_workload["chrome"] == "browser"
        assert str(tmp_path / "longer/chat.parquet") in part.sweep.traces


def test_claims_on_stand_ins_name_them_so(made: Reproduction) -> None:
    places = ("Figure 3", "Figure 4", "Figure 5", "Figure 10", "Figure 11", "Figure 13")
    of_stand_ins = [claim for claim in made.claims if claim.place.partition(",")[0] in places]
    assert len(of_stand_ins) == 62
    assert all("stand-ins" in claim.why for claim in of_stand_ins)
    [times] = [claim.evidence for claim in made.claims if claim.key == "mobile-access-time"]
    assert all(" for " in row[0] for row in times[1:])


def test_experiments_that_are_none_are_refused(tmp_path: Path, clockhand: Clockhand) -> None:
    text = EXPERIMENT.read_text().replace('"../../', f'"{ROOT}/')
    text = text.replace('"../devices/', f'"{ROOT}/experiments/devices/')
    wrong = {
        "no-toml.toml": ("question = ", "is not TOML"),
        "unknown.toml": (text.replace("break_even]", "even]"), "required_hits asks nothing"),
        "workload.toml": (text.replace("gqview =", "doom ="), "the workloads of desktop are"),
        "twice.toml": (text.replace("proxy.parquet", "web.parquet"), "no trace twice"),
        "ratios.toml": (text.replace('"100", ', ""), "the ratios of desktop lack 100"),
        "device.toml": (text.replace('devices = ["hdd", ', "devices = ["), "devices of required"),
        "tlb.toml": (
            text.replace('tlb = "64"', 'tlbs = "64"'),
            "[part.desktop.translate] unknown key 'tlbs'",
        ),
        "text.toml": (text.replace('["hdd", "slc-nand", "scm:ratio=1"]', '"hdd"'), "not a list"),
    }
    for name, (content, words) in wrong.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match=re.escape(words)):
            read_paper_experiment("scm", tmp_path / name)
    run = clockhand("reproduce", "scm", "--experiment", "ratios.toml")
    assert run.code == 2
    assert_one_sentence(run)


def test_measurements_without_a_disk_in_memory_are_refused(
    tmp_path: Path, clockhand: Clockhand
) -> None:
    text = (ROOT / "experiments/devices/scm-memory.toml").read_text()
    wrong = {
        "none.toml": ("", "'measured'"),
        "user.toml": (text.replace("ram_disk_read", "read"), "not measured at the same sizes"),
        "order.toml": (text.replace("p1_us = ", "p1_us = 9"), "are not in order"),
    }
    for name, (content, words) in wrong.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match=re.escape(words)):
            read_measured(tmp_path / name)
    experiment = EXPERIMENT.read_text().replace("../devices/scm-memory.toml", "user.toml")
    experiment = experiment.replace('"../../', f'"{ROOT}/')
    (tmp_path / "experiment.toml").write_text(experiment)
    run = clockhand("reproduce", "scm", "--experiment", "experiment.toml")
    assert run.code == 2
    assert_one_sentence(run)


def test_what_is_true_by_construction_holds_whatever_the_trace() -> None:
    """As many entries of an LRU TLB translate more; no page leaves. A disk needs one hit."""
    random = np.random.default_rng(1)
    for spread in (8, 64, 1024, 1 << 20):
        pages = random.integers(0, spread, 3000)
        requests = {"op": ["R"] * len(pages), "address": pages * 512 + random.integers(0, 512)}
        rows = clockhand.translate(
            pl.DataFrame(requests), page_size="512,1KiB,4KiB,64KiB", tlb="1,4,16", memory="100%",
            no_swap=True, ratio="1",
        ).rows  # fmt: skip
        named = rows.with_columns(workload=pl.lit("w"))
        for entries in (1, 4, 16):
            of_tlb = named.filter(pl.col("tlb_entries") == entries)
            assert of_tlb.sort("page_bytes")["tlb_hit_ratio"].is_sorted()
    run = pl.DataFrame({"op": ["R"] * 4096, "address": [64 * at for at in range(4096)]})
    rows = clockhand.translate(run, page_size="512,4KiB,64KiB", memory="64KiB", ratio="1").rows
    assert rows["page_faults"].to_list() == [512, 64, 4]
    hits = clockhand.break_even(DISK, insert=READINGS_JUDGED)
    assert set(hits["required_hits"]) == {1}
    ratios = [f"scm:ratio={ratio:.3f}" for ratio in 1 + random.random(20) * random.random(20) * 9]
    curve = clockhand.break_even(ratios, insert=READINGS_JUDGED)
    assert all(all(hits_rise(curve, insert=insert).values) for insert in READINGS_JUDGED)
    assert curve["required_hits"].n_unique() > 1
    slower = clockhand.translate(
        pl.DataFrame(requests), page_size="4KiB", tlb="4", memory="50%", ratio="1,10,100"
    ).rows.with_columns(workload=pl.lit("w"), memory=pl.lit("50%"))
    assert all(translation_weighs_less(slower).values)
