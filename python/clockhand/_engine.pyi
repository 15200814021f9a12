"""The engine, written in Rust; private to the package."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

__version__: str
NUMBERS_VERSION: int

class ClockhandError(Exception): ...
class UsageError(ClockhandError): ...

class TraceSource:
    @staticmethod
    def file(
        path: str | PathLike[str],
        format: str | None = None,
        cpu_cache: bool = False,
        assume_reads: bool = False,
        view: str | None = None,
        fetches: bool | None = None,
        memory_limit: str | None = None,
    ) -> TraceSource: ...
    def named(self, /, name: str) -> TraceSource: ...
    def on_scratch(self, /, folder: str) -> TraceSource: ...
    def part(
        self,
        /,
        only: str | None = None,
        streams: str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> TraceSource: ...
    @staticmethod
    def table(
        name: str,
        is_write: npt.NDArray[np.bool_],
        addresses: npt.NDArray[np.uint64],
        sizes_bytes: npt.NDArray[np.uint32] | None = None,
        streams: npt.NDArray[np.uint32] | None = None,
        times_ns: npt.NDArray[np.uint64] | None = None,
    ) -> TraceSource: ...
    @staticmethod
    def synthetic(
        recipe: str,
        requests: str | None = None,
        seed: str | None = None,
        arrivals: str | None = None,
        memory_limit: str | None = None,
    ) -> TraceSource: ...
    @property
    def name(self) -> str: ...

class PreparedTrace:
    @staticmethod
    def read(
        trace: TraceSource,
        policies: list[str],
        devices: list[str],
        page_sizes_bytes: list[int],
        watch: Callable[[str, int, int], None] | None = None,
    ) -> PreparedTrace: ...
    def read_beside(
        self,
        /,
        trace: TraceSource,
        policies: list[str],
        devices: list[str],
        page_sizes_bytes: list[int],
        watch: Callable[[str, int, int], None] | None = None,
    ) -> PreparedTrace | None: ...
    @property
    def traces(self) -> list[dict[str, Any]]: ...
    def simulate(
        self,
        /,
        cells: list[tuple[str, int]],
        options: dict[str, Any],
        *,
        jobs: int | None,
        on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None],
        watch: Callable[[str, int, int], None] | None = None,
    ) -> None: ...

class CaptureConversion:
    @staticmethod
    def begin(
        folder: str | PathLike[str], prefix: str, out: str | PathLike[str]
    ) -> CaptureConversion: ...
    def give_up(self, /) -> None: ...
    def finish(
        self,
        /,
        labels: list[tuple[str, str]],
        watch: Callable[[str, int, int], None] | None = None,
    ) -> list[dict[str, Any]]: ...

class Measurement:
    @staticmethod
    def storage(
        path: str | PathLike[str],
        *,
        file_bytes: int,
        operations: int,
        write_to_existing: bool,
        seed: int,
    ) -> Measurement: ...
    @staticmethod
    def memory(seed: int) -> Measurement: ...
    def steps(self, /) -> list[str]: ...
    @property
    def file_bytes(self) -> int: ...
    @property
    def written_bytes(self) -> int: ...
    def run(self, /, step: int) -> list[dict[str, Any]]: ...

def machine() -> dict[str, Any]: ...
def options() -> dict[str, list[dict[str, Any]]]: ...
def check_options(study: str, options: dict[str, Any]) -> None: ...
def policy_name(text: str) -> str: ...
def buffer_with_total(buffer: str, total: str) -> str: ...
def columns() -> dict[str, list[dict[str, Any]]]: ...
def policies() -> list[dict[str, Any]]: ...
def policy_page(name: str) -> str: ...
def add_policy(own: type, facts: dict[str, Any]) -> None: ...
def use_policy_library(file: str) -> list[str]: ...
def own_code(file: str, most_bytes: int, named: str) -> bytes: ...
def check_policy(policy: str) -> dict[str, Any]: ...
def own_policies() -> list[dict[str, Any]]: ...
def devices() -> list[dict[str, Any]]: ...
def device_page(device: str) -> str: ...
def write_buffers() -> list[dict[str, Any]]: ...
def write_buffer_page(name: str) -> str: ...
def ssds() -> list[dict[str, Any]]: ...
def ssd_page(ssd: str) -> str: ...
def ssd_facts(ssd: str) -> dict[str, str]: ...
def run_ssd(
    traces: list[TraceSource],
    options: dict[str, Any],
    *,
    jobs: int | None,
    watch: Callable[[str, int, int], None] | None = None,
    cells: list[int] | None = None,
    on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None] | None = None,
) -> dict[str, Any]: ...
def filecache(
    traces: list[TraceSource],
    options: dict[str, Any],
    *,
    jobs: int | None,
    watch: Callable[[str, int, int], None] | None = None,
    cells: list[int] | None = None,
    on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None] | None = None,
) -> dict[str, Any]: ...
def break_even(options: dict[str, Any]) -> list[dict[str, Any]]: ...
def capacities(text: str) -> list[str]: ...
def admissions() -> list[str]: ...
def readings() -> list[str]: ...
def predict_window(
    trace: TraceSource,
    *,
    frames: str | None,
    memory: str | None,
    page_bytes: int,
    device: str,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def run_pagecache(
    traces: list[TraceSource],
    options: dict[str, Any],
    *,
    jobs: int | None,
    watch: Callable[[str, int, int], None] | None = None,
    cells: list[int] | None = None,
    on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None] | None = None,
) -> dict[str, Any]: ...
def formats() -> list[dict[str, Any]]: ...
def format_page(name: str) -> str: ...
def recipes() -> list[dict[str, Any]]: ...
def parse_page_bytes(text: str) -> int: ...
def parse_bytes(text: str) -> int | None: ...
def memory_sizes(*, frames: str | None, memory: str | None) -> list[str]: ...
def io_times_us(device: str, page_bytes: int, ios: list[tuple[int, int]]) -> list[float]: ...
def plan_cells(options: dict[str, Any], *, footprint_pages: int | None) -> dict[str, Any]: ...
def count_trace(
    trace: TraceSource,
    page_bytes: int,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def simulate_sampled(
    trace: TraceSource,
    cells: list[tuple[str, int]],
    options: dict[str, Any],
    *,
    jobs: int | None,
    on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None],
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def simulate(
    traces: list[TraceSource],
    options: dict[str, Any],
    *,
    jobs: int | None,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def translate(
    traces: list[TraceSource],
    options: dict[str, Any],
    *,
    jobs: int | None,
    watch: Callable[[str, int, int], None] | None = None,
    cells: list[int] | None = None,
    on_rows: Callable[[list[tuple[int, dict[str, Any]]]], None] | None = None,
) -> dict[str, Any]: ...
def locality(
    trace: TraceSource,
    options: dict[str, Any],
    *,
    curve: bool = True,
    inter_reference: bool = True,
    rankings: bool = True,
    working_sets: bool = True,
    jobs: int | None = None,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def write_parquet(
    file: BinaryIO, kinds: list[tuple[str, str]], parts: list[Mapping[str, Any]]
) -> None: ...
def write_json(
    file: BinaryIO, kinds: list[tuple[str, str]], parts: list[Mapping[str, Any]]
) -> None: ...
def write_csv(
    file: BinaryIO, kinds: list[tuple[str, str]], parts: list[Mapping[str, Any]]
) -> None: ...
def parquet_demand(path: str | PathLike[str]) -> int: ...
def read_trace(
    trace: TraceSource, watch: Callable[[str, int, int], None] | None = None
) -> dict[str, Any]: ...
def trace_info(
    trace: TraceSource, page_bytes: int, watch: Callable[[str, int, int], None] | None = None
) -> dict[str, Any]: ...
def convert_trace(
    traces: list[TraceSource],
    out: str | PathLike[str],
    labels: list[tuple[str, str]],
    *,
    to: str | None = None,
    widen: bool = False,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def convert_capture(
    paths: list[str | PathLike[str]],
    out: str | PathLike[str],
    labels: list[tuple[str, str]],
    watch: Callable[[str, int, int], None] | None = None,
) -> list[dict[str, Any]]: ...
def convert_timeline(
    paths: list[str | PathLike[str]],
    log: str | PathLike[str],
    out: str | PathLike[str],
    labels: list[tuple[str, str]],
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def become_followed(command: list[str], tells: bool) -> str: ...
def follow(
    child: int, tells: bool, log: str | PathLike[str], news: str | PathLike[str]
) -> None: ...

class Frames:
    def __len__(self, /) -> int: ...
    def holds_page(self, frame: int, /) -> bool: ...
    def page(self, frame: int, /) -> int: ...
    def read_bit(self, frame: int, /) -> bool: ...
    def write_bit(self, frame: int, /) -> bool: ...
    def is_referenced(self, frame: int, /) -> bool: ...
    def is_dirty(self, frame: int, /) -> bool: ...
    def is_pinned(self, frame: int, /) -> bool: ...
    def clear_read_bit(self, frame: int, /) -> None: ...
    def clear_write_bit(self, frame: int, /) -> None: ...
    def clear_bits(self, frame: int, /) -> None: ...
    def set_read_bit(self, frame: int, /) -> None: ...
    def request_write_back(self, frame: int, /) -> None: ...

class Pager:
    def __new__(
        cls,
        policy: str,
        *,
        frames: int,
        reserve: int,
        read_ahead: int,
        bits: str,
        swap: str | None,
        swap_limit_bytes: int | None,
        memory_bytes: int,
        write_read_ratio: str | None,
        record: str | None,
        seed: int,
        emulated_us: tuple[float, float] | None = None,
    ) -> Pager: ...
    def inherited_socket(self, /) -> int: ...
    def environment(self, /) -> list[tuple[str, str]]: ...
    def is_direct(self, /) -> bool: ...
    def statistics(self, /) -> list[dict[str, object]]: ...
    def finish(self, /) -> list[dict[str, object]]: ...

def pager_obstacle() -> str | None: ...
def watch_buffers(
    trace: TraceSource,
    options: dict[str, Any],
    *,
    watch: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]: ...
def watch_policies(
    trace: TraceSource,
    policies: list[str],
    *,
    frames: int,
    page_bytes: int,
    device: str,
    bits: str,
    write_miss: str,
    seed: int,
    watch: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]: ...
