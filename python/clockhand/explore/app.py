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
    policies = mo.ui.multiselect(
        source.policies, value=source.first_policies, label=source.compared
    )
    memory = mo.ui.slider(
        1, 100, value=10, label="memory (% of the footprint)", show_value=True, debounce=True
    )
    page_size = mo.ui.dropdown(
        source.page_sizes, value=source.first_page_size or None, label="page size"
    )
    device = mo.ui.dropdown(source.devices, value=next(iter(source.devices), None), label="device")
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
    _knobs = [
        (trace, len(source.traces) > 1),
        (policies, len(source.policies) > 1),
        (memory, source.has_memory),
        (page_size, len(source.page_sizes) > 1),
        (device, len(source.devices) > 1),
        (ratio, source.has_ratio and device.value == sources.BY_RATIO),
        (frames, source.has_memory),
    ]
    # A knob that cannot be turned is not shown.
    mo.hstack([knob for knob, turns in _knobs if turns], justify="start", gap=2, wrap=True)
    return


@app.cell
def _(device, memory, mo, page_size, policies, ratio, source, sources, trace):
    _is_empty = bool(source.policies) and not policies.value
    mo.stop(_is_empty, mo.callout(mo.md("Choose what is compared."), kind="warn"))
    _device = f"scm:ratio={ratio.value}" if device.value == sources.BY_RATIO else device.value
    knobs = sources.Knobs(
        policies=tuple(policies.value),
        memory=memory.value / 100,
        page_size=page_size.value or "",
        device=_device or "",
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
    figures = mo.vstack(sources.figures(result, at_memory))
    return (figures,)


@app.cell
def _(at_memory, clockhand, frames, knobs, mo, source):
    try:
        _best = at_memory["policy"][0] if source.has_memory else ""
        _watched = source.watched(knobs, frames.value, _best)
        player = mo.md("There is no trace here to step through.") if _watched is None else _watched
    except clockhand.ClockhandError as _error:
        player = mo.callout(mo.md(str(_error)), kind="warn")
    return (player,)


@app.cell
def _(at_memory, figures, mo, player, result, sources):
    _rows = mo.ui.table(at_memory, selection=None, pagination=False, show_column_summaries=False)
    _answer = mo.md(f"## {sources.answer(result, at_memory)}")
    _side_by_side = mo.hstack([figures, player], widths=[1, 1.1], align="start", gap=2)
    mo.vstack([_answer, _side_by_side, _rows])
    return


if __name__ == "__main__":
    app.run()
