"""The page of ``clockhand explore``: knobs, the heat map, the curves and a player.

``clockhand explore`` has marimo run it as an app; ``marimo edit`` shows how it is made.
"""

import marimo

app = marimo.App(width="full", app_title="Clockhand: explore")


@app.cell
def _():
    import json

    import marimo as mo

    import clockhand
    from clockhand.explore import sources

    return clockhand, json, mo, sources


@app.cell
def _(json, mo, sources):
    _given = mo.cli_args()
    source = sources.source_of(str(_given["of"]), json.loads(str(_given.get("reading") or "{}")))
    mo.md(f"# {source.name}\nTurn a knob: what is below is computed again, and kept.")
    return (source,)


@app.cell
def _(mo, source, sources):
    trace = mo.ui.dropdown(source.traces, value=source.traces[0], label="trace")
    policies = mo.ui.multiselect(source.policies, value=source.first_policies, label="policies")
    memory = mo.ui.slider(
        1, 100, value=10, label="memory (% of the footprint)", show_value=True, debounce=True
    )
    page_size = mo.ui.dropdown(source.page_sizes, value=source.first_page_size, label="page size")
    device = mo.ui.dropdown(source.devices, value=source.devices[0], label="device")
    ratio = mo.ui.slider(
        1, 32, value=8, label="a write costs (reads)", show_value=True, debounce=True
    )
    frames = mo.ui.slider(
        2,
        32,
        value=sources.WATCHED_FRAMES,
        label="frames of the player",
        show_value=True,
        debounce=True,
    )
    return device, frames, memory, page_size, policies, ratio, trace


@app.cell
def _(device, frames, memory, mo, page_size, policies, ratio, source, sources, trace):
    _knobs = [policies, memory, page_size, device]
    if source.has_ratio and device.value == sources.BY_RATIO:
        _knobs.append(ratio)
    if len(source.traces) > 1:
        _knobs.insert(0, trace)
    mo.hstack([*_knobs, frames], justify="start", gap=2, wrap=True)
    return


@app.cell
def _(device, memory, mo, page_size, policies, ratio, sources, trace):
    mo.stop(not policies.value, mo.callout(mo.md("Choose a policy."), kind="warn"))
    knobs = sources.Knobs(
        policies=tuple(policies.value),
        memory=memory.value / 100,
        page_size=page_size.value,
        device=f"scm:ratio={ratio.value}" if device.value == sources.BY_RATIO else device.value,
        trace=trace.value,
    )
    return (knobs,)


@app.cell
def _(clockhand, knobs, mo, source):
    try:
        result = source.result(knobs)
        at_memory = source.at_memory(knobs)
    except clockhand.ClockhandError as _error:
        mo.stop(True, mo.callout(mo.md(str(_error)), kind="danger"))
    return at_memory, result


@app.cell
def _(at_memory, mo, result, sources):
    _charts = result.charts()
    _heat_map = _charts.get("io_time_heat_map") or next(iter(_charts.values()))
    _curves = _charts.get("io_time_relative_to_clock") or _charts["io_time"]
    figures = mo.vstack([sources.small(_heat_map), sources.marked(_curves, at_memory)])
    return (figures,)


@app.cell
def _(at_memory, clockhand, frames, knobs, mo, source):
    try:
        _watched = source.watched(knobs, frames.value, at_memory["policy"][0])
        player = mo.md("There is no trace here to step through.") if _watched is None else _watched
    except clockhand.ClockhandError as _error:
        player = mo.callout(mo.md(str(_error)), kind="warn")
    return (player,)


@app.cell
def _(at_memory, figures, mo, player, sources):
    _rows = mo.ui.table(at_memory, selection=None, pagination=False, show_column_summaries=False)
    _answer = mo.md(f"## {sources.answer(at_memory)}")
    mo.vstack(
        [
            _answer,
            mo.hstack([mo.vstack([figures, _rows]), player], widths=[1, 1.1], align="start", gap=2),
        ]
    )
    return


if __name__ == "__main__":
    app.run()
