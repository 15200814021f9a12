"""A class on CLOCK: FIFO, second chances and LRU by hand, with exercises and their answers.

Open it with `marimo edit notebooks/class_on_clock.py`, or run it as a script.
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
    # A class on CLOCK

    Three page frames, and the references of the textbooks (Silberschatz, Galvin, Gagne). FIFO throws out what came first; CLOCK does so
    too, unless the page was used since the hand last passed; LRU throws out what was not used for longest.
    """)
    return


@app.cell
def _(clockhand):
    pages = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1]
    textbook = clockhand.Trace.from_arrays(
        ["R"] * len(pages), [page * 4096 for page in pages], name="textbook"
    )
    return pages, textbook


@app.cell
def _(clockhand, mo, textbook):
    faults = clockhand.simulate(textbook, policies="fifo,clock,lru,min", frames=3).rows
    mo.vstack(
        [
            mo.md("**Exercise 1.** Count the faults of FIFO and LRU by hand, then look:"),
            mo.accordion({"Answer": faults.select("policy", "misses")}),
        ]
    )
    return (faults,)


@app.cell
def _(mo):
    frames = mo.ui.slider(1, 6, value=3, label="frames", show_value=True)
    player = mo.ui.dropdown(["fifo", "clock", "nru", "lru"], value="clock", label="policy to watch")
    mo.hstack([frames, player], justify="start", gap=2)
    return frames, player


@app.cell
def _(clockhand, frames, player, textbook):
    clockhand.watch_policies(textbook, policies=player.value, frames=frames.value)
    return


@app.cell
def _(clockhand, mo, textbook):
    watched = clockhand.watch_policies(textbook, policies="clock", frames=3)
    (course,) = watched.courses
    _steps = [
        {
            "reference": place + 1,
            "page": watched.pages[page][1],
            "": "hit" if step["hit"] else "miss",
            "looked at": step["examined"],
            "left": ", ".join(str(watched.pages[left][1]) for left, _ in step["left"]),
            "from the hand": ", ".join(
                str(watched.pages[held][1]) for held in step["lists"][0]["pages"]
            ),
            "with its bit set": ", ".join(
                str(watched.pages[held][1]) for _, held, state in step["frames"] if state & 1
            ),
        }
        for place, ((page, _), step) in enumerate(
            zip(watched.references, course.steps, strict=True)
        )
    ]
    mo.vstack(
        [
            mo.md(
                "## The hand\n\nEvery step of CLOCK, as a table and as a player. **Exercise 2.** At "
                "which reference does a page get its first second chance?"
            ),
            mo.ui.table(_steps, selection=None, page_size=20),
            watched,
        ]
    )
    return course, watched


@app.cell
def _(mo):
    mo.md("""
    ## More memory, more faults

    **Exercise 3.** Belady's anomaly: find references on which FIFO with four frames faults more often than with three. Then try LRU on
    them. (Answer below.)
    """)
    return


@app.cell
def _(clockhand):
    _belady = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]
    anomaly = clockhand.simulate(
        clockhand.Trace.from_arrays(["R"] * 12, [page * 4096 for page in _belady]),
        policies="fifo,lru",
        frames="3,4",
    ).rows.pivot("frames", index="policy", values="misses")
    anomaly
    return (anomaly,)


@app.cell
def _(mo):
    mo.md("""
    ## When a write costs more

    Odd pages are written now, and a write costs eight reads. **Exercise 4.** Why can a policy with more faults be the faster one?
    """)
    return


@app.cell
def _(clockhand, pages):
    written = clockhand.Trace.from_arrays(
        [page % 2 == 1 for page in pages], [page * 4096 for page in pages], name="written"
    )
    costs = clockhand.simulate(
        written, policies="clock,cflru,craw,min", frames=3, device="slc-nand", flush_at_end=True
    ).rows
    costs.select("policy", "misses", "read_ios", "write_ios", "io_time_us")
    return (costs,)


@app.cell
def _(anomaly, course, faults):
    assert dict(faults.select("policy", "misses").iter_rows())["fifo"] == 15
    assert dict(faults.select("policy", "misses").iter_rows())["lru"] == 12
    assert course.misses == dict(faults.select("policy", "misses").iter_rows())["clock"]
    assert anomaly.row(0) == ("fifo", 9, 10) and anomaly.row(1) == ("lru", 10, 8)
    return


if __name__ == "__main__":
    app.run()
