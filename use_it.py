import polars as pl
import clockhand
from clockhand import Trace


class Lifo:
    """Own policy."""
    def __init__(self, frames: int) -> None: ...


frame = pl.DataFrame({"op": ["R"], "address": [0]})
rows = clockhand.simulate(frame, policies=["clock"], memory="10%")
run = clockhand.simulate("a.csv", policies="clock,craw", memory=[0.05, 0.2])
run.write_plots("p.pdf")
run.chart("io_time", highlight=["craw"]).save("x.svg")
print(run.rows.filter(pl.col("policy") == "craw"))
rec = clockhand.recommend(frame, memory="10%", device="slc-nand")
print(rec, rec.policy)
trace = Trace.from_arrays(["R"], [0], name="x")
clockhand.ssd(trace, buffers=["lru:total=1MiB"], ssds="small")
clockhand.locality([trace, frame])
