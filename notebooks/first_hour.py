"""A first hour with Clockhand: policies on real references, and what a write costs.

Open it with `marimo edit notebooks/first_hour.py`, or run it as a script.
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import altair as alt
    import marimo as mo
    import polars as pl

    import clockhand

    return alt, clockhand, mo, pl


@app.cell
def _(mo):
    mo.md("""
    # A first hour with Clockhand

    A page-replacement policy is usually judged by its hit ratio. On flash, that is half of the story: a page that leaves memory
    *dirty* has to be written, and a write costs eight reads. Here are the references of `tar` and `gzip`, with their writes.
    """)
    return


@app.cell
def _(mo):
    trace = mo.notebook_dir().parent / "traces" / "tar-gzip.parquet"
    return (trace,)


@app.cell
def _(clockhand, trace):
    rows = clockhand.simulate(
        trace,
        policies="clock,lru,cflru,craw,craw-a,credit-clock,min,bound",
        memory="4%,6%,8%,10%,15%,20%,30%,40%",
        device="slc-nand",
        bound_effort=0,
    )
    rows.select("policy", "frames", "hit_ratio", "read_ios", "write_ios", "io_time_us").head(8)
    return (rows,)


@app.cell
def _(mo):
    mo.md("""
    `hit_ratio` and `io_time_us` disagree: CRAW misses more often than CLOCK and still needs less time, because it writes less. The
    figure divides by CLOCK's time. `bound` is what no policy can do better on this trace and device.
    """)
    return


@app.cell
def _(alt, pl, rows):
    clock = rows.filter(pl.col("policy") == "clock").select(
        "frames", pl.col("io_time_us").alias("clock_us")
    )
    relative = rows.join(clock, on="frames").with_columns(
        (pl.col("io_time_us") / pl.col("clock_us")).alias("relative"),
        (100 * pl.col("memory_share")).alias("memory"),
    )
    (
        alt.Chart(relative)
        .mark_line(point=True)
        .encode(
            x=alt.X("memory", title="memory (% of footprint)"),
            y=alt.Y("relative", title="I/O time over CLOCK's"),
            color="policy",
            tooltip=["policy", "frames", "relative"],
        )
        .properties(width=560, height=320)
    )
    return (relative,)


@app.cell
def _(mo):
    mo.md("""
    ## How much does it depend on the device?

    On a disk a write costs as much as a read, and CRAW has nothing to gain. The more a write costs, the more it gains.
    """)
    return


@app.cell
def _(clockhand, pl, trace):
    devices = pl.concat(
        clockhand.simulate(trace, policies="clock,craw", memory="6%", device=device)
        for device in ("hdd", "slc-nand", "mlc-nand")
    )
    by_device = devices.pivot("policy", index="device", values="io_time_us").with_columns(
        (pl.col("craw") / pl.col("clock")).alias("craw over clock")
    )
    by_device
    return (by_device,)


@app.cell
def _(by_device, pl):
    _ratio = dict(by_device.select("device", "craw over clock").iter_rows())
    assert _ratio["mlc-nand"] < _ratio["slc-nand"] < 1 < _ratio["hdd"], _ratio
    return


@app.cell
def _(mo):
    mo.md("""
    ## Where to go from here

    * `clockhand.policies()` lists the policies, `clockhand.policies("craw")` is the page of one.
    * `clockhand.run_simulation(...)` takes the same options and can write a report: `.write_report("report.html")`.
    * `clockhand.watch_policies(trace, policies="clock,craw", frames=8, limit=400).write_report("hand.html")` shows every step.
    * The next notebook takes a trace of your own.
    """)
    return


if __name__ == "__main__":
    app.run()
