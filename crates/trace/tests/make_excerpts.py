"""Writes the binary excerpts of tests/excerpts and what must come out of them.

Each excerpt is made of a few records that show what is particular to its format. The expected
requests are written down beside the records, not computed by a reader.

    python3 crates/trace/tests/make_excerpts.py
"""

from pathlib import Path
from struct import pack

FOLDER = Path(__file__).parent / "excerpts"
MAGIC = pack("<Q", 0x123456789ABCDEF0)


def write(name: str, data: bytes, columns: str, rows: list[tuple]) -> None:
    """Writes `NAME` and, with the extension replaced, `NAME.expected.csv`."""
    (FOLDER / name).write_bytes(data)
    lines = [columns] + [",".join(str(value) for value in row) for row in rows]
    (FOLDER / name).with_suffix(".expected.csv").write_text("\n".join(lines) + "\n")


def hp_srt() -> None:
    """Two disks with sectors of 256 and 512 bytes, a SUSPECTIO record, a request without bytes."""
    header = b"""$$TR_IOREC-1.3 (made for a test)
version      = 1.3;
description  = "not a disk: 3 -> { sectorsize = 1 }";
disks        = {
    0 -> { adaptor = 1 -> { hp_ib, 1.2, 250 }, sectorsize  = 256, sections = { 8 -> { "/" } } },
    1 -> { disktype = hp335h, sectorsize  = 512 }
};
\x0c"""
    read, write_ = 0x0108800B, 0x0008890A
    data, rows = header, []
    for index in range(20):
        disk, section = index % 3 % 2, 8 + index % 2 * 6
        flags = read if index % 3 else write_
        size_bytes = 0 if index == 7 else 1024 * (1 + index % 9)
        sector = (index * 4993) % 1_300_000
        seconds, microseconds = index // 2, index * 22_479 % 1_000_000
        data += pack(
            ">14I",
            *(56, 0x00040001, seconds, microseconds, 174, 19_687, size_bytes, sector),
            *(8 << 24 | disk << 8 | section, 4, 1, flags, 0, 1),
        )
        if index == 4:
            data += pack(">5I", 20, 0x00040004, 1, 2, 3)
        if size_bytes:
            time_ns = seconds * 1_000_000_000 + microseconds * 1_000
            op = "R" if index % 3 else "W"
            rows.append((op, sector * (512 if disk else 256), size_bytes, time_ns, disk))
    write("hp-srt.bin", data, "op,address,size,time_ns,stream", rows)


def vscsi() -> None:
    """All read and write commands, one other command (TEST UNIT READY), a request without bytes."""
    reads, writes = (0x28, 0x08, 0xA8, 0x88), (0x2A, 0x0A, 0xAA, 0x8A)
    first, second, rows = b"", b"", []
    for index in range(20):
        command = (reads if index % 3 == 0 else writes)[index % 4]
        if index == 11:
            command = 0
        size_bytes = 0 if index == 5 else 512 << index % 6
        block, time_us = 42_932_745 + index * 7919, 5_633_898_368_802 + index * 250_000
        numbers = (0x80000001 + index, size_bytes, 1 + index % 3)
        first += pack("<3I2H2Q", *numbers, command, 0x0100, block, time_us)
        second += pack("<2H3I3Q", command, 0x0200, *numbers, block, time_us, 900)
        if size_bytes and command:
            rows.append(("W" if index % 3 else "R", block * 512, size_bytes, time_us * 1000))
    for name, data in (("vscsi.v1.bin", first), ("vscsi.v2.bin", second)):
        write(name, data, "op,address,size,time_ns", rows)


def champsim() -> None:
    """A loop; unused slots before and between used ones; addresses of a kernel."""
    for size, stores, padding in ((64, 2, b""), (96, 4, bytes(6))):
        data, rows = b"", []
        for index in range(12):
            pointer = (0xFFFFFFFF81000000 if index > 7 else 0x401000) + index % 4 * 5
            is_branch = index % 4 == 3
            loads = [0, 0x7FFE0000 + index * 4096, 0, 0x601000][: 4 if index % 2 else 2] + [0] * 4
            last_store = 0 if index % 3 else 0x7FFD0000 + index * 64
            stored = [0] * (stores - 1) + [last_store]
            data += pack("<Q2B", pointer, is_branch, is_branch and index < 11)
            data += bytes(range(1, stores + 5)) + padding
            data += pack(f"<{stores}Q4Q", *stored, *loads[:4])
            data += bytes(size - 88) if stores == 4 else b""
            rows.append(("R", pointer, 1))
            rows += [("R", address, 1) for address in loads[:4] if address]
            rows += [("W", address, 1) for address in stored if address]
        assert len(data) == 12 * size
        write(f"champsim.{size}.bin", data, "op,address,size", rows)


def drmemtrace() -> None:
    """Every kind of entry, a bundle of instructions, two processes."""
    stack = 0x7FFE12345678
    header = [(25, 0, 5), (28, 12, 5), (28, 9, 0x640), (22, 0, 4711), (24, 0, 4700)]
    entries = [
        ((28, 2, 13_236_734_289_995_944), None),
        ((47, 3, 0x00C48348), None),
        ((10, 3, 0x401000), ("R", 0x401000, 3, 0)),
        ((0, 8, stack), ("R", stack, 8, 0)),
        ((11, 5, 0x401003), ("R", 0x401003, 5, 0)),
        ((1, 4, stack - 8), ("W", stack - 8, 4, 0)),
        ((17, 1, 0x04), ("R", 0x401008, 4, 0)),
        ((17, 1, 0x05), ("R", 0x40100C, 5, 0)),
        ((29, 2, 0x401100), None),
        ((31, 2, 0x401200), ("R", 0x401200, 2, 0)),
        ((3, 64, stack + 640), None),
        ((18, 64, 0x401000), None),
        ((48, 2, 0x401202), ("R", 0x401202, 2, 0)),
        ((0, 0, stack), None),
        ((24, 0, 4800), None),
        ((49, 2, 0x401000), ("R", 0x401000, 2, 1)),
        ((0, 32, stack), ("R", stack, 32, 1)),
        ((23, 0, 4711), None),
        ((26, 0, 0), None),
    ]
    rows = [row for _, row in entries if row]
    entries_alone = header + [entry for entry, _ in entries]
    data = b"".join(pack("<2HQ", *entry) for entry in entries_alone)
    write("drmemtrace.bin", data, "op,address,size,stream", rows)


def blktrace() -> None:
    """In both byte orders: a message, other actions, a mapped device, a flush, FUA, a discard, a packet command."""
    queued, issued, completed, remapped = 1, 7, 8, 15
    reads, writes, flushes, sync, packets, notifies, ahead, discards, fua = (
        1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 9, 1 << 10, 1 << 11, 1 << 13, 1 << 15
    )  # fmt: skip
    disk, mapped = 8 << 20 | 16, 253 << 20
    events = [
        (0, notifies, 0, 0, disk, b"blkparse"),
        (queued, reads, 8, 4096, disk, b""),
        (issued, reads, 8, 4096, disk, b""),
        (queued, writes | sync, 2048, 8192, mapped, b""),
        (remapped, writes | sync, 6144, 8192, disk, pack(">IIQ", mapped, disk, 2048)),
        (queued, writes | sync, 6144, 8192, disk, b""),
        (queued, writes | flushes, 0, 0, disk, b""),
        (queued, writes | fua | sync, 16, 512, disk, b""),
        (queued, writes | discards, 0, 1 << 20, disk, b""),
        (queued, reads | packets, 0, 36, disk, b"\x12\0\0\0\x24\0"),
        (queued, reads | ahead, 1 << 31, 131072, disk, b""),
        (completed, reads, 8, 4096, disk, b""),
        (queued, reads, 24, 4096, mapped, b""),
    ]
    counted = {1: "8,16", 3: "253,0", 7: "8,16", 10: "8,16", 12: "253,0"}
    rows = []
    for order, name in (("<", "little"), (">", "big")):
        data, rows = b"", []
        for index, (action, categories, sector, size, device, more) in enumerate(events):
            time_ns = 1000 * index
            data += pack(
                f"{order}IIQQIIIIIHH",
                *(0x65617407, index + 1, time_ns, sector, size),
                *(action | categories << 16, 1234, device, index % 2, 0, len(more)),
            )
            data += more
            if index in counted:
                op = "W" if categories & writes else "R"
                rows.append((op, sector * 512, size, time_ns, f'"{counted[index]}"'))
        write(f"blktrace.{name}.bin", data, "op,address,size,time_ns,stream", rows)


def objects() -> list[tuple]:
    """Requests of a cache: time in s, object, size, operation, owner, next request."""
    requests = []
    for index in range(20):
        number = (7, 8, 9, 1 << 52 | 7, 0xFEDCBA9876543210)[index % 5]
        size_bytes = 0 if index == 6 else 100 << index % 8
        operation = (1, 3, 12, 13, 2, 9, 14)[index % 7]
        following = index + 5 if index < 15 else -1
        requests.append((index // 3, number, size_bytes, operation, index % 4 // 3, following))
    return requests


def object_rows(has_operations: bool, has_owners: bool) -> list[tuple]:
    rows, streams = [], {}
    for time_s, number, size_bytes, operation, owner, _ in objects():
        if has_operations and operation == 9:
            continue
        key = (owner if has_owners else 0, number >> 52)
        stream = streams.setdefault(key, len(streams))
        op = "W" if has_operations and operation in (3, 13, 14) else "R"
        if size_bytes:
            address = (number << 12) % (1 << 64)
            rows.append((op, address, min(size_bytes, 4096), time_s * 1_000_000_000, stream))
    return rows


def oracle_general() -> None:
    columns = "op,address,size,time_ns,stream"
    plain, with_operations = b"", b""
    for time_s, number, size_bytes, operation, owner, following in objects():
        plain += pack("<IQIq", time_s, number, size_bytes, following)
        with_operations += pack("<IQIBHq", time_s, number, size_bytes, operation, owner, following)
    write("oracle-general.bin", plain, columns, object_rows(False, False))
    write("oracle-general-opns.bin", with_operations, columns, object_rows(True, True))


def lcs() -> None:
    """Version 2, and the older header with its own list of fields."""
    columns = "op,address,size,time_ns,stream"
    second = MAGIC + pack("<Q", 2) + bytes(8168) + MAGIC
    older = b""
    for time_s, number, size_bytes, operation, owner, following in objects():
        second += pack("<IQIIq", time_s, number, size_bytes, operation | owner << 8, following)
        older += pack("<BQdIHq", operation, number, 0.5, time_s, owner, size_bytes)
    write("lcs.v2.bin", second, columns, object_rows(True, True))
    types = b"<BQdIHq"
    numbers = bytes((2, 6, 4, 0, 0, 1, 0, 5))
    header = MAGIC + types.ljust(240, b"\0") + numbers.ljust(240, b"\0") + bytes(512)
    header += pack("<IIQ", len(types) - 1, 31, 1) + MAGIC
    write("lcs.older.bin", header + older, columns, object_rows(True, True))


if __name__ == "__main__":
    for excerpt in (hp_srt, vscsi, champsim, drmemtrace, blktrace, oracle_general, lcs):
        excerpt()
