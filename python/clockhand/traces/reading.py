"""Options of reading traces from paths, as mappings of what the engine declares."""

from typing import TYPE_CHECKING

from clockhand.study.calls import FILE_READING, PART, READING, Argument

if TYPE_CHECKING:
    from clockhand.api import FileReading, Part, Reading
else:
    from typing import TypedDict

    def _mapping(name: str, about: str, declared: tuple[Argument, ...]) -> type:
        made = TypedDict(name, {one.keyword: one.type for one in declared}, total=False)
        entries = [line for one in declared for line in one.entry()]
        made.__doc__ = "\n".join([about, "", "Attributes:", *entries])
        made.declared = declared
        return made

    Part = _mapping(
        "Part",
        "Which requests of a trace are wanted; all of them if nothing is given.\n\n"
        "``only`` and ``streams`` choose first, then ``skip`` and ``limit`` count the requests "
        "that are\nleft. The trace is still read to its end, so that what is left out is counted.",
        PART,
    )
    FileReading = _mapping(
        "FileReading",
        "How a trace file is read, and which of its requests are wanted.",
        FILE_READING,
    )
    Reading = _mapping(
        "Reading",
        "How traces that are given as paths are read, and which requests of each are wanted.",
        READING,
    )

__all__ = ["FileReading", "Part", "Reading"]
