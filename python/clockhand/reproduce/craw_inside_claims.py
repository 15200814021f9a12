"""The claims of the CRAW paper on the inside of CRAW: the sizes of its areas, and its hand."""

import polars as pl

from clockhand.report.words import percent
from clockhand.reproduce.claims import CASES_RULE, Claim, judged_cases
from clockhand.reproduce.evidence import Evidence

SMALL_MEMORY = 0.2
"""The share of the footprint up to which memory is called small."""

FEW_MOVEMENTS = 5


def area_rows(gauges: pl.DataFrame) -> pl.DataFrame:
    """Return the least and the most pages of CRAW's read area, of each trace's gauges.

    Returns:
        The columns trace, frames, least and most.
    """
    sizes = gauges.filter(pl.col("gauge") == "S_R_pages").group_by(
        "trace", "frames", maintain_order=True
    )
    return sizes.agg(pl.col("value").min().alias("least"), pl.col("value").max().alias("most"))


def areas_move(areas: pl.DataFrame) -> Claim:
    rows = areas.to_dicts()
    held = [(row["most"] - row["least"]) / row["frames"] >= 0.1 for row in rows]
    return Claim(
        "areas-move",
        "section V.B, Figure 15",
        "we can notice that the memory space is dynamically allocated according to the change of "
        "reference patterns.",
        f"Traces on which the desired size of the read area, at {percent(SMALL_MEMORY)} of memory, "
        f"moves by a tenth of memory or more. {CASES_RULE}",
        judged_cases(held),
        f"{sum(held)} of {len(held)} traces",
        why="The areas start at S/c for reads and the rest for writes. A hit in a ghost write area "
        "moves a whole page from the read area, while the read area needs c hits in its ghosts "
        "for one.",
        evidence=(
            ("trace", "least (pages)", "most (pages)", "memory (pages)"),
            *(
                (row["trace"], f"{row['least']:.0f}", f"{row['most']:.0f}", str(row["frames"]))
                for row in rows
            ),
        ),
    )


def few_hand_movements(evidence: Evidence) -> Claim:
    evictions = pl.col("clean_evictions") + pl.col("dirty_evictions")
    movements = (
        evidence.rows.filter((pl.col("policy") == "craw") & (evictions > 0))
        .with_columns((pl.col("hand_movements") / evictions).alias("each"))
        .sort("each")
    )
    median = float(str(movements["each"].median()))
    most = movements.row(-1, named=True)
    held = (movements["each"] <= FEW_MOVEMENTS).to_list()
    return Claim(
        "few-hand-movements",
        "section V.C",
        "in practical situations, the scanning requires only a few movements of the clock-hand",
        f"Cells with at most {FEW_MOVEMENTS} hand movements per replaced page. {CASES_RULE}",
        judged_cases(held),
        f"{percent(sum(held) / len(held))} of the cells; median {median:.1f} movements",
        why=f"The most are {most['each']:.1f}, on {most['trace']} with "
        f"{percent(most['memory_share'])} of memory: the fewer pages leave, the more bits have "
        "been set since the hand came by.",
    )
