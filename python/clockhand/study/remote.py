"""Files and folders at addresses such as ``s3://…``, through fsspec, with copies in a cache.

A copy (:mod:`~.copies`) is known by its address and by what the store says of the content (tag,
digest, time of change, size), and used as long as the store says the same.
"""

import hashlib
import importlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clockhand.study.copies import (
    HELD,
    PROCESS,
    alone,
    hold,
    make_room,
    private_folder,
    remove_unused,
)
from clockhand.study.errors import ClockhandError, UsageError
from clockhand.study.files import streamed
from clockhand.study.progress import Watch
from clockhand.study.records import Fields, Record

PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "memory": "fsspec",
}
"""What a scheme needs beside fsspec."""

WEB = ("http", "https")
"""Schemes without folders: files are read one by one, and nothing is written."""

LOCAL = "file://"
CHUNK_BYTES = 4 * 2**20
UNTOLD_BYTES = 2**20
"""Free space is checked again after this much more, if the size is unknown."""

CONTENT_FACTS = (
    "ETag", "etag", "Content-MD5", "Digest", "md5Hash", "content_md5", "crc32c", "generation",
    "Last-Modified", "LastModified", "last_modified", "mtime", "updated", "created",
)  # fmt: skip
"""What stores say of a content that changes with it."""


@dataclass(frozen=True)
class Fetched(os.PathLike[str]):
    """A copy of a file at an address; as a path, the copy.

    Attributes:
        address: Where the file is.
        file: The copy.
    """

    address: str
    file: Path

    def __fspath__(self) -> str:
        return os.fspath(self.file)


def is_address(text: object) -> bool:
    """Whether it is an address, and not the path of a file."""
    return isinstance(text, str) and re.match(r"[a-z][a-z0-9+.-]*://", text) is not None


def local_path(address: str) -> str | None:
    """Return the path of ``file://…``; none of any other address."""
    return address.removeprefix(LOCAL) if address.startswith(LOCAL) else None


def addresses(pattern: str) -> list[str]:
    """Return the addresses that a pattern such as ``s3://bucket/*.parquet`` fits, in order.

    The web has no folders to look through: there it is one address.

    Raises:
        UsageError: it is not an address that can be read.
        ClockhandError: the store cannot be asked.
    """
    scheme = pattern.partition("://")[0]
    if scheme in WEB or not set("*?[") & set(pattern):
        return [pattern]
    system, path = _opened(pattern)
    if "@" in urlsplit(pattern).netloc:
        raise UsageError(
            f"{pattern}: patterns need an address without @", "name the files one by one"
        )
    with _named_in_errors(pattern):
        system.invalidate_cache()
        found = [str(one) for one in system.glob(path)]
    return sorted(f"{scheme}://{one.removeprefix('/')}" for one in found)


def fetched(address: str, watch: Watch | None = None) -> Fetched:
    """Return a copy of a file at an address; it is downloaded unless there is one already.

    Args:
        address: The file's address.
        watch: Called now and then with ``"downloading"`` and the bytes.

    Raises:
        UsageError: it is not an address that can be read.
        ClockhandError: a package is missing, the file cannot be read, changes during the download,
            or does not fit on the disk.
    """
    system, path = _opened(address)
    with _named_in_errors(address):
        info = _info(system, path)
    if info.get("type") == "directory":
        raise UsageError(f"{address} is a folder", f"name a file in it, or write {address}/*")
    folder = private_folder("remote")
    key = hashlib.sha256(address.encode()).hexdigest()[:24]
    content = _content(info)
    place = folder / f"{key}-{content}" / _file_name(address)
    with PROCESS, alone(folder / f"{key}.lock"):
        while not hold(place, info.get("size")):
            for older in folder.glob(f"{key}-*"):
                remove_unused(older)
            make_room(folder, address, info.get("size") or 0)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                _download(system, path, address, info, place, watch)
            finally:
                with suppress(OSError):  # It is empty if there is no copy.
                    place.parent.rmdir()
    return Fetched(address, place)


class RemoteFolder:
    """A folder in a store: whole files come and go.

    Args:
        address: Where it is.

    Raises:
        UsageError: it is not the address of a folder.
        ClockhandError: a package is missing.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        if address.partition("://")[0] in WEB:
            raise UsageError(
                f"{address}: the web has no folders to look through or write to",
                "name a local folder, or one in s3://, gs:// or az://",
            )
        self._system, self._path = _opened(self.address)

    def names(self, pattern: str) -> dict[str, int]:
        """Return the names of its files that a pattern fits, with their bytes.

        Raises:
            ClockhandError: the store cannot be asked.
        """
        with _named_in_errors(self.address):
            self._system.invalidate_cache()
            found = self._system.glob(f"{self._path.rstrip('/')}/{pattern}", detail=True)
        return {path.rpartition("/")[2]: int(info["size"]) for path, info in found.items()}

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            ClockhandError: it cannot be read.
        """
        with _named_in_errors(f"{self.address}/{name}"):
            return bytes(self._system.cat_file(f"{self._path.rstrip('/')}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which stores show whole or not at all.

        Raises:
            ClockhandError: it cannot be written.
        """
        with _named_in_errors(f"{self.address}/{name}"):
            self._system.pipe_file(f"{self._path.rstrip('/')}/{name}", content)


# fsspec is not always installed, and its file systems are typed in parts only: they are Any here.


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there."""
    scheme = address.partition("://")[0]
    if urlsplit(address).password is not None:
        shown = re.sub(r"//[^@/]*@", "//…@", address)
        raise UsageError(
            f"{shown} has a password, which would stand in results",
            "leave it out, and give it in the way that the store's package documents",
        )
    if scheme not in PACKAGES or "::" in address:
        known = ", ".join(f"{one}://" for one in PACKAGES if one != "memory")
        raise UsageError(f"{address} is not an address that can be read", f"there is {known}")
    try:
        fsspec: Any = importlib.import_module("fsspec")
    except ImportError as error:
        raise ClockhandError(
            f"{address} needs fsspec, which is not installed; run: pip install 'clockhand[remote]'"
        ) from error
    try:
        system, path = fsspec.url_to_fs(address, **_web_options(scheme))
    except ImportError as error:
        raise ClockhandError(
            f"{address}: {scheme}:// needs {PACKAGES[scheme]}, which is not installed; run: "
            f"pip install {PACKAGES[scheme]}"
        ) from error
    except Exception as error:
        raise _unreadable(address, error) from error
    return system, str(path)


def _web_options(scheme: str) -> Fields:
    """Have servers send what they store, for as long as that takes."""
    if scheme not in WEB:
        return {}
    aiohttp: Any = importlib.import_module("aiohttp")
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
    return {
        "headers": {"Accept-Encoding": "identity"},
        "client_kwargs": {"timeout": timeout},
        "block_size": 0,
    }


@contextmanager
def _named_in_errors(address: str) -> Iterator[None]:
    """Name the address in what a store's package raises."""
    try:
        yield
    except ClockhandError:
        raise
    except FileNotFoundError as error:
        if error.__cause__ is not None:
            raise _unreadable(address, error.__cause__) from error
        raise ClockhandError(f"{address}: there is no such file; correct the address") from error
    except PermissionError as error:
        raise ClockhandError(
            f"{address}: access is refused; check your credentials, as the store's package "
            "documents"
        ) from error
    except Exception as error:
        raise _unreadable(address, error) from error


def _unreadable(address: str, error: BaseException) -> ClockhandError:
    said = (str(error).splitlines() or [""])[0].rstrip(".")
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return ClockhandError(
        f"{address}: the store cannot be used ({reason}); check address, network and credentials"
    )


def _info(system: Any, path: str) -> Record:
    system.invalidate_cache()
    info: Record = system.info(path)
    return info


def _content(info: Record) -> str:
    """Return what changes with the content of a file, as far as its store tells."""
    known = {name: str(info[name]) for name in CONTENT_FACTS if info.get(name) is not None}
    identity = json.dumps({**known, "size": info.get("size")}, sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _file_name(address: str) -> str:
    name = urlsplit(address).path.rpartition("/")[2]
    return re.sub(r"[^\w.+-]", "_", name)[-100:].lstrip(".") or "file"


def _download(
    system: Any,
    path: str,
    address: str,
    info: Record,
    place: Path,
    watch: Watch | None,
) -> None:
    size = info.get("size")
    done = with_room = 0
    options = {} if address.partition("://")[0] in WEB else {"cache_type": "none"}
    try:
        with streamed(place) as copy, _opened_file(system, path, address, options) as source:
            while True:
                with _named_in_errors(address):
                    chunk = source.read(CHUNK_BYTES)
                done += len(chunk)
                if not chunk or (size is not None and done > size):
                    break
                if size is None and done > with_room:
                    make_room(place.parent.parent, address, done, unfinished=place.parent)
                    with_room = done + UNTOLD_BYTES
                copy.write(chunk)
                if watch is not None:
                    watch("downloading", done, size or 0)
            with _named_in_errors(address):
                is_same = _content(_info(system, path)) == _content(info)
            if not is_same or (size is not None and done != size):
                raise ClockhandError(
                    f"{address} changed or ended early while it was downloaded, after {done:,} "
                    "bytes; run the command again"
                )
    except OSError as error:
        raise ClockhandError(
            f"{place.parent}: a copy of {address} cannot be kept there ({error.strerror}); free "
            "some room, or name a folder on another disk with XDG_CACHE_HOME"
        ) from error
    if size is None:
        HELD.setdefault(place, os.open(place, os.O_RDONLY))


@contextmanager
def _opened_file(system: Any, path: str, address: str, options: Record) -> Iterator[Any]:
    with _named_in_errors(address):
        file = system.open(path, "rb", **options)
    try:
        yield file
    finally:
        file.close()
