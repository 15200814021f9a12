"""What a server counts, for Prometheus: ``/metrics`` as text over HTTP."""

import http.server
import os
import socket
import socketserver
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from clockhand._engine import __version__
from clockhand.serving.server import BlockServer
from clockhand.study.errors import UsageError, option
from clockhand.study.records import Record

PREFIX = "clockhand_serve"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOT_COUNTED = frozenset({
    "disk", "buffer", "buffer_pages", "residual_dirty", "hit_ratio", "write_hit_ratio",
    "dram_pages", "nvm_pages", "page_bytes", "buffer_resolved", "seconds",
})  # fmt: skip
"""Columns of the row that are not counts. Times have a histogram instead."""


def metrics_text(server: BlockServer) -> str:
    """Return what a server has counted, in Prometheus's text format."""
    figures = server.figures()
    if figures is None:
        return ""
    row, gauges, times = figures
    lines = []
    for name, value in row.items():
        if name not in NOT_COUNTED and "_us_" not in name:
            lines += [f"# TYPE {PREFIX}_{name}_total counter", f"{PREFIX}_{name}_total {value}"]
    for name, value in gauges.items():
        if value is not None:
            lines += [f"# TYPE {PREFIX}_{name} gauge", f"{PREFIX}_{name} {int(value)}"]
    lines.append(f"# TYPE {PREFIX}_request_seconds histogram")
    for of in times:
        lines += _histogram(of)
    version, buffer = _escaped(__version__), _escaped(row["buffer_resolved"])
    lines.append(f"# TYPE {PREFIX}_info gauge")
    lines.append(f'{PREFIX}_info{{version="{version}",buffer="{buffer}"}} 1')
    return "\n".join(lines) + "\n"


def _histogram(of: Record) -> Iterator[str]:
    name, command = f"{PREFIX}_request_seconds", f'command="{of["command"]}"'
    for bound_us, count in of["buckets"]:
        yield f'{name}_bucket{{{command},le="{bound_us / 1e6:g}"}} {count}'
    yield f'{name}_bucket{{{command},le="+Inf"}} {of["count"]}'
    yield f"{name}_sum{{{command}}} {of['sum_seconds']}"
    yield f"{name}_count{{{command}}} {of['count']}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class _Handler(http.server.BaseHTTPRequestHandler):
    served: BlockServer
    timeout = 10

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        body = metrics_text(self.served).encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "a client"

    def log_message(self, format: str, *args: object) -> None:
        pass


class _UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # The name gets the socket's mode: no other user can ever connect.
        os.fchmod(self.socket.fileno(), 0o600)
        super().server_bind()

    def verify_request(self, request: Any, client_address: object) -> bool:
        """Let in this user and root."""
        size = struct.calcsize("3i")
        peer = request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return struct.unpack("3i", peer)[1] in (0, os.geteuid())


@contextmanager
def metrics_served(server: BlockServer, place: str | None) -> Iterator[str | None]:
    """Serve ``/metrics`` while the block runs, if there is a place for it.

    Args:
        server: What is counted.
        place: The path of a Unix socket, or an address and a port.

    Raises:
        UsageError: the place is neither, or not free.
    """
    if place is None:
        yield None
        return
    handler = type("Handler", (_Handler,), {"served": server})
    listener, where = _listener(place, handler)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield where
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
        if isinstance(listener, _UnixServer):
            with suppress(FileNotFoundError):
                Path(place).unlink()


def _listener(place: str, handler: type[_Handler]) -> tuple[socketserver.BaseServer, str]:
    host, colon, port = place.rpartition(":")
    try:
        if "/" not in place and colon and port.isdigit():
            address = (host.strip("[]"), int(port))
            tcp = http.server.ThreadingHTTPServer(address, handler)
            return tcp, f"http://{host}:{tcp.server_port}/metrics"
        _make_way(Path(place))
        return _UnixServer(place, handler), place
    except OSError as error:
        raise UsageError(
            option("metrics") + f" {place}: {error.strerror or error}", "name another place"
        ) from None


def _make_way(path: Path) -> None:
    """Remove a socket without a listener."""
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise UsageError(
            option("metrics") + f" {path} exists and is not a socket", "give another path"
        )
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise UsageError(
        option("metrics") + f" {path}: another program listens on it", "give another path"
    )
