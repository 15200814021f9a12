"""A first hour with Clockhand: policies on real references, and what a write costs.

Open it with `marimo edit notebooks/first_hour.py`, or run it as a script.
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo
    import polars as pl

    import clockhand

    return clockhand, mo, pl


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
    result = clockhand.run_simulation(
        trace,
        policies="clock,lru,cflru,craw,craw-a,credit-clock,min,bound",
        memory=[0.04, 0.06, 0.08, 0.10, 0.15, 0.20, 0.30, 0.40],
        device="slc-nand",
        bound_effort=0,
    )
    result
    return (result,)


@app.cell
def _(mo):
    mo.md("""
    The figure ranks the policies by their I/O time over CLOCK's. In the table, `hit_ratio` and `io_time_us` disagree: with 6 % of memory CRAW
    misses more often than CLOCK and still needs less time, because it writes less. `bound` is what no policy can go below.

    A result has all figures of its report: `result.charts()` lists them, and `result.chart(name)` is one. It is a chart of Altair, so
    it can be changed.
    """)
    return


@app.cell
def _(result):
    result.chart("io_time_relative_to_clock", highlight=["craw"])
    return


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
        clockhand.simulate(trace, policies="clock,craw", memory=0.06, device=device).rows
        for device in ("hdd", "slc-nand", "mlc-nand")
    )
    by_device = devices.pivot("policy", index="device", values="io_time_us").with_columns(
        (pl.col("craw") / pl.col("clock")).alias("craw over clock")
    )
    by_device
    return (by_device,)


@app.cell
def _(mo):
    mo.md("""
    ## Turn the knobs

    Choose the memory, what a write costs and a policy: what is below is computed again.
    """)
    return


@app.cell
def _(clockhand, mo):
    memory = mo.ui.slider(2, 60, value=10, label="memory (% of the footprint)", show_value=True)
    ratio = mo.ui.slider(1, 32, value=8, label="a write costs (reads)", show_value=True)
    policy = mo.ui.dropdown(
        [entry["name"] for entry in clockhand.policies().to_dicts() if entry["name"] != "bound"],
        value="craw",
        label="policy",
    )
    mo.hstack([memory, ratio, policy], justify="start", gap=2)
    return memory, policy, ratio


@app.cell
def _(clockhand, memory, policy, ratio, trace):
    turned = clockhand.run_simulation(
        trace,
        policies=list(dict.fromkeys(["clock", "lru", policy.value])),
        memory=memory.value / 100,
        device=f"scm:ratio={ratio.value}",
    )
    turned
    return (turned,)


@app.cell
def _(by_device, pl, policy, result, turned):
    _rows = result.rows.filter(pl.col("memory_share").is_between(0.05, 0.06))
    _hits = dict(_rows.select("policy", "hit_ratio").iter_rows())
    _times = dict(_rows.select("policy", "io_time_us").iter_rows())
    assert _hits["craw"] < _hits["clock"] and _times["craw"] < _times["clock"]
    _ratio = dict(by_device.select("device", "craw over clock").iter_rows())
    assert policy.value in turned.rows["policy"].to_list()
    assert _ratio["mlc-nand"] < _ratio["slc-nand"] < 1 < _ratio["hdd"], _ratio
    return


@app.cell
def _(mo):
    mo.md("""
    ## Where to go from here

    * `clockhand.policies()` lists the policies, `clockhand.policies("craw")` is the page of one.
    * `result.write_report("report.html")` writes all figures and rows as one page; `result.rows` are the rows alone.
    * `clockhand.watch_policies(trace, policies="clock,craw", frames=8, limit=400)` shows every step.
    * The next notebook takes a trace of your own.
    """)
    return


if __name__ == "__main__":
    app.run()
