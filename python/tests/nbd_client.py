"""A small NBD client for tests."""

import socket
import struct
from pathlib import Path
from typing import Self

READ, WRITE, DISCONNECT, FLUSH, TRIM, ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
GO, STARTTLS = 7, 5
ACK = 1


class NbdClient:
    """A connection that may send requests."""

    def __init__(self, place: Path | tuple[str, int], export: str = "") -> None:
        if isinstance(place, tuple):
            self.socket = socket.create_connection(place, timeout=30)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(30)
            self.socket.connect(str(place))
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        self.socket.sendall(struct.pack(">I", 3))
        self.export = export

    def go(self) -> Self:
        """Enter the export."""
        name = self.export.encode()
        replies = self.option(GO, struct.pack(">I", len(name)) + name + struct.pack(">H", 0))
        assert replies[-1] == ACK, replies
        return self

    def option(self, option: int, data: bytes = b"") -> list[int]:
        """Return the kinds of the replies to an option."""
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", option, len(data)) + data)
        kinds = []
        while True:
            _, _, kind, length = struct.unpack(">QIII", self.take(20))
            self.take(length)
            kinds.append(kind)
            if kind == ACK or kind >= 1 << 31:
                return kinds

    def take(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                raise ConnectionError("the server has closed the connection")
            parts += part
        return bytes(parts)

    def request(
        self, command: int, at: int = 0, length: int = 0, payload: bytes = b"", flags: int = 0
    ) -> tuple[int, bytes]:
        """Return the error of a request and what it reads."""
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, 1, at, length)
        self.socket.sendall(header + payload)
        magic, error, _ = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698
        return error, self.take(length) if command == READ and not error else b""

    def write(self, at: int, payload: bytes, *, fua: bool = False) -> int:
        return self.request(WRITE, at, len(payload), payload, FUA if fua else 0)[0]

    def close(self) -> None:
        self.socket.close()
