"""The tools, built from the C sources beside this file when they are first used.

They go to the user's cache folder, named after a hash of the sources and of what they were built
with, so that they are built again for a new version of either. Only there: a tool that another user
could have put into the folder would run with the user's rights.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from clockhand.study.errors import ClockhandError
from clockhand.study.files import cache_folder
from clockhand.study.ownership import foreign_entry, own_folder, take_from_others

SOURCES = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter"]
VALGRIND_PLATFORM = "amd64-linux"
VALGRIND_FLAGS = [
    "-O3",
    "-std=gnu11",
    *WARNINGS,
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fno-builtin",
    "-fno-pie",
    "-fcf-protection=none",
    "-DVGA_amd64=1",
    "-DVGO_linux=1",
    "-DVGP_amd64_linux=1",
    "-DVGPV_amd64_linux_vanilla=1",
]
VALGRIND_LINK_FLAGS = [
    "-static",
    "-no-pie",
    "-nodefaultlibs",
    "-nostartfiles",
    "-Wl,--entry=_start",
    "-Wl,--undefined=_start",
    "-Wl,--build-id=none",
]
PLUGIN_FLAGS = ["-O2", "-std=gnu11", *WARNINGS, "-fPIC", "-shared", "-pthread"]
FIRST_QEMU_OF_PLUGIN_VERSION_2 = 9
"""Major version; what we use of the interface is the same in both."""
VALGRIND_PARTS = "valgrind's headers and static libraries"
INSTALL_VALGRIND = "install them (Debian, Ubuntu: valgrind; Fedora: valgrind-devel)"


def built_valgrind_tool() -> Path:
    """Return the folder that ``VALGRIND_LIB`` must name, with our tool and Valgrind's own files.

    Raises:
        ClockhandError: something that the tool needs is missing; it says what to install.
    """
    version = valgrind_version()
    return _built("valgrind", version, lambda folder: _build_valgrind_tool(folder, version))


def built_plugin(qemu_major: int) -> Path:
    """Return the plugin for QEMU of a major version.

    Raises:
        ClockhandError: no compiler is found.
    """
    version = 2 if qemu_major >= FIRST_QEMU_OF_PLUGIN_VERSION_2 else 1
    folder = _built("qemu", f"plugin{version}", lambda folder: _build_plugin(folder, version))
    return folder / "clockhand.so"


def valgrind_version() -> str:
    """Return the version of the ``valgrind`` that is on the path.

    Raises:
        ClockhandError: there is none.
    """
    if shutil.which("valgrind") is None:
        raise ClockhandError(
            "valgrind is not found; install it (Debian, Ubuntu, Fedora: package valgrind)"
        )
    said = _output(["valgrind", "--version"])
    return said.strip().removeprefix("valgrind-").partition("-")[0]


def _built(front_end: str, version: str, build: Callable[[Path], None]) -> Path:
    sources = sorted([*SOURCES.glob("filter/*.h"), *SOURCES.glob(f"{front_end}/*.c")])
    content = hashlib.sha256(version.encode())
    for source in [*sources, Path(__file__)]:
        content.update(source.name.encode() + b"\0" + source.read_bytes())
    cache = cache_folder()
    name = f"{front_end}-{version}-{content.hexdigest()[:16]}"
    try:
        cache = own_folder(cache, "the capture tool")
        folder = cache / name
        if folder.is_dir():
            _check_own(folder)
            return folder
        with tempfile.TemporaryDirectory(prefix=".building-", dir=cache) as beside:
            unfinished = Path(beside, "tool")
            unfinished.mkdir()
            build(unfinished)
            take_from_others(unfinished)
            _publish(unfinished, folder)
    except OSError as error:
        raise ClockhandError(
            f"{cache}: the capture tool cannot be built there ({error.strerror}); "
            "make the folder writable, or set XDG_CACHE_HOME"
        ) from error
    return folder


def _check_own(folder: Path) -> None:
    """Refuse a tool that others may have put there, or changed."""
    foreign = foreign_entry(folder)
    if foreign is not None:
        raise ClockhandError(
            f"{foreign}: another user could have put this there, and it would run with your "
            f"rights; remove {folder}"
        )


def _publish(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        # Another run that built the same at the same time did just as well.
        if not folder.is_dir():
            raise


def _build_valgrind_tool(folder: Path, version: str) -> None:
    compiler = _compiler()
    if shutil.which("pkg-config") is None:
        raise ClockhandError(
            "pkg-config is not found, which tells where valgrind's headers are; install it "
            "(Debian, Ubuntu: pkg-config; Fedora: pkgconf)"
        )
    try:
        flags, libraries, headers_version, prefix, library_folder, load_address = (
            _output(["pkg-config", *question, "valgrind"]).strip()
            for question in (
                ["--cflags"],
                ["--libs"],
                ["--modversion"],
                ["--variable=prefix"],
                ["--variable=libdir"],
                ["--variable=valt_load_address"],
            )
        )
    except ClockhandError as error:
        raise ClockhandError(
            f"{VALGRIND_PARTS} are not found by pkg-config; {INSTALL_VALGRIND}"
        ) from error
    if headers_version.partition("-")[0] != version:
        raise ClockhandError(
            f"valgrind is {version} and its headers are {headers_version}; install both from one "
            "source"
        )
    tool = folder / f"clockhand-{VALGRIND_PLATFORM}"
    linking = [*VALGRIND_LINK_FLAGS, f"-Wl,-Ttext-segment={load_address or '0x58000000'}"]
    words = [*VALGRIND_FLAGS, *flags.split(), *linking, "-o", str(tool)]
    source = str(SOURCES / "valgrind/clockhand.c")
    _compile([compiler, *words, source, *libraries.split()], f"{VALGRIND_PARTS} are incomplete")
    for part in _valgrinds_own(Path(prefix), Path(library_folder)).iterdir():
        (folder / part.name).symlink_to(part)


def _valgrinds_own(prefix: Path, library_folder: Path) -> Path:
    """Return the folder of what every tool needs: the preloaded library and the suppressions."""
    folders = [
        prefix / "libexec/valgrind",
        library_folder / "valgrind",
        prefix / "lib/valgrind",
        prefix / "lib64/valgrind",
    ]
    for folder in folders:
        if (folder / f"vgpreload_core-{VALGRIND_PLATFORM}.so").exists():
            return folder
    raise ClockhandError(
        f"valgrind's own folder with vgpreload_core-{VALGRIND_PLATFORM}.so is not found under "
        f"{prefix}; install valgrind again"
    )


def _build_plugin(folder: Path, version: int) -> None:
    flags = [*PLUGIN_FLAGS, f"-DPLUGIN_VERSION={version}"]
    words = [*flags, str(SOURCES / "qemu/clockhand.c"), "-o", str(folder / "clockhand.so")]
    _compile([_compiler(), *words], "the C compiler does not work")


def _compiler() -> str:
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    raise ClockhandError(
        "there is no C compiler (cc), which builds the capture tool on first use; install one "
        "(Debian, Ubuntu: gcc and libc6-dev; Fedora: gcc)"
    )


def _compile(command: Sequence[str], failure: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        errors = [line for line in run.stderr.splitlines() if "error" in line or "cannot" in line]
        reason = (errors or run.stderr.splitlines() or ["no reason is given"])[0].strip()
        raise ClockhandError(f"{failure} ({reason}); install what is missing")


def _output(command: Sequence[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise ClockhandError(
            f"{command[0]} failed with exit code {run.returncode}; install it again"
        )
    return run.stdout
