"""A trace of your own: from arrays or a file, its locality, and which policy suits it.

Open it with `marimo edit notebooks/your_own_trace.py`, or run it as a script.
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo
    import numpy as np

    import clockhand

    return clockhand, mo, np


@app.cell
def _(mo):
    mo.md("""
    # Your own trace

    Anything with an operation and an address is a trace. Here an invented one, made with NumPy: a scan that only reads, and a few hot
    pages that are mostly written. In its place, read your own: `clockhand.Trace("my.csv")` finds the format of a file by its content.
    """)
    return


@app.cell
def _(clockhand, np):
    random = np.random.default_rng(7)
    count = 60_000
    is_hot = random.random(count) < 0.6
    hot_pages = random.zipf(1.3, count) % 300
    scan_pages = 300 + np.arange(count) // 4 % 2_000
    pages = np.where(is_hot, hot_pages, scan_pages)
    is_write = is_hot & (random.random(count) < 0.7)
    trace = clockhand.Trace.from_arrays(is_write, pages.astype(np.uint64) * 4096, name="invented")
    return is_write, pages, trace


@app.cell
def _(clockhand, mo, trace):
    locality = clockhand.locality(trace)
    mo.vstack([mo.md("## Does recency or frequency predict the next reference?"), locality])
    return (locality,)


@app.cell
def _(mo):
    mo.md("""
    ## How much memory is worth having?

    What LRU misses at every memory size; the knee is where more memory stops paying.
    """)
    return


@app.cell
def _(locality):
    locality.chart("misses")
    return


@app.cell
def _(mo):
    mo.md("""
    ## Which policy?
    """)
    return


@app.cell
def _(clockhand, mo):
    memory = mo.ui.slider(2, 60, value=10, label="memory (% of the footprint)", show_value=True)
    device = mo.ui.dropdown(
        [entry["name"] for entry in clockhand.devices().to_dicts()],
        value="mlc-nand",
        label="device",
    )
    mo.hstack([memory, device], justify="start", gap=2)
    return device, memory


@app.cell
def _(clockhand, device, memory, trace):
    recommendation = clockhand.recommend(trace, memory=memory.value / 100, device=device.value)
    recommendation
    return (recommendation,)


@app.cell
def _(mo):
    mo.md("""
    ## Files

    A trace can be kept in Parquet, with labels that follow it. What is invented should be called so.
    """)
    return


@app.cell
def _(clockhand, trace):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as _folder:
        _path = Path(_folder) / "invented.parquet"
        clockhand.convert_traces(trace, _path, labels=[("synthetic", "invented with NumPy")])
        again = clockhand.simulate(clockhand.Trace(_path), policies="clock", frames=100).rows
    again.select("references", "misses", "write_ios")
    return (again,)


@app.cell
def _(again, clockhand, trace):
    _direct = clockhand.simulate(trace, policies="clock", frames=100).rows
    assert again["misses"].to_list() == _direct["misses"].to_list(), "the file has the same trace"
    return


if __name__ == "__main__":
    app.run()
