"""A write buffer in front of a flash drive: what reaches the flash, and how long it lasts.

Open it with `marimo edit notebooks/ssd_buffer.py`, or run it as a script.
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import clockhand

    return clockhand, mo


@app.cell
def _(mo):
    mo.md("""
    # A write buffer in an SSD

    A drive holds writes back in DRAM (and NVM) and writes them in an order that suits flash. Fewer and more sequential writes mean
    less garbage collection, so that fewer blocks are erased and the drive lives longer. The workload is **synthetic**: small writes, most of
    them to a tenth of 64 MiB.
    """)
    return


@app.cell
def _(clockhand):
    workload = clockhand.synthesize(
        "zipf:skew=1.1,footprint=64MiB,reads=30%", requests=60_000, seed=3
    )
    run = clockhand.run_ssd(
        workload,
        buffers=[
            f"{name}:total={size}MiB"
            for name in ("fab", "cbm", "clock-dnv", "lru")
            for size in (1, 2, 4, 8)
        ],
        ssds="dnv-textbook:size=128MiB",
        precondition="random:2",
    )
    run
    return (run,)


@app.cell
def _(mo):
    mo.md("""
    `host_writes` are the pages that the buffer gave to the flash, `flash_programs` those that the flash wrote, with the copies of
    garbage collection; `waf` is their ratio, the write amplification.
    """)
    return


@app.cell
def _(run):
    run.chart("erases")
    return


@app.cell
def _(mo):
    mo.md("""
    ## What a drive's spare space is worth

    The same writes on drives with more over-provisioning: garbage collection finds emptier blocks.
    """)
    return


@app.cell
def _(clockhand, workload):
    spare = clockhand.run_ssd(
        workload,
        buffers="lru:total=1MiB",
        ssds=[f"small:over_provisioning={share}%" for share in (10, 20, 40)],
        precondition="random:2",
        map="wrap",
    ).rows
    spare.select("ssd", "waf", "erases")
    return (spare,)


@app.cell
def _(mo):
    mo.md("""
    ## Turn the knobs

    Which buffer, how large, and on how much spare space?
    """)
    return


@app.cell
def _(clockhand, mo):
    names = [entry["name"] for entry in clockhand.write_buffers().to_dicts()]
    buffer = mo.ui.dropdown([name for name in names if name != "none"], value="fab", label="buffer")
    size = mo.ui.slider(
        steps=[0.5, 1, 2, 4, 8, 16], value=2, label="its size (MiB)", show_value=True
    )
    share = mo.ui.slider(7, 40, value=20, label="spare space (%)", show_value=True)
    mo.hstack([buffer, size, share], justify="start", gap=2)
    return buffer, share, size


@app.cell
def _(buffer, clockhand, share, size, workload):
    turned = clockhand.run_ssd(
        workload,
        buffers=[f"{name}:total={size.value}MiB" for name in dict.fromkeys(["lru", buffer.value])],
        ssds=f"small:over_provisioning={share.value}%",
        precondition="random:2",
        map="wrap",
    )
    turned
    return (turned,)


@app.cell
def _(buffer, run, spare, turned):
    _of_dnv = run.rows.filter(run.rows["buffer"].str.starts_with("clock-dnv"))
    _erases = _of_dnv.sort("buffer_pages")["erases"]
    assert _erases.is_sorted(descending=True), "a larger buffer erases no more"
    assert spare["waf"].is_sorted(descending=True), "spare space lowers write amplification"
    assert len(run.rows) == 16
    assert len(turned.rows) == len({"lru", buffer.value})
    return


if __name__ == "__main__":
    app.run()
