"""Locate the kernel library and the folders that `#include` searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.untrusted_files import read_plain_file


def library_folder() -> Path:
    """Return the library's `kernels` folder."""
    return data_folder("kernels", "common")


def data_folder(name: str, content: str) -> Path:
    """Return a data folder with `content`: in the installed package, else in the checkout.

    Raise DeclarationError if neither has it.
    """
    package = Path(__file__).parents[1]
    inside, outside = package / name, package.parent / name
    for folder in (inside, outside):
        if (folder / content).exists():
            return folder
    raise DeclarationError(f"the folder {name} is missing: neither {inside} nor {outside} exists")


def include_folders(file: Path | str | None = None, more: Iterable[Path | str] = ()) -> list[str]:
    """Return the folders that `#include "..."` searches: that of `file`, `more`, the library's.

    The library's folder holds `metalbench/`, for `#include "metalbench/tiles.h"`.
    """
    own = [Path(file).absolute().parent] if file is not None else []
    return [*map(str, own), *map(str, more), str(library_folder() / "include")]


def read_header(path: Path, folders: Iterable[Path]) -> bytes | None:
    """Return the content of a header within `folders`, the only files that a kernel may include.

    Return None if it does not exist, or is outside once links are resolved.
    """
    real = path.resolve()
    if not any(real.is_relative_to(folder.resolve()) for folder in folders):
        return None
    return path.read_bytes() if path.is_file() else None


# The last form is the name of a macro, which only a preprocessor can expand.
_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))', re.M
)


@dataclass(frozen=True)
class MissingHeader:
    """A header that was not found: its name, and the paths where it would be."""

    name: str
    places: tuple[Path, ...]


@dataclass
class IncludedHeaders:
    """The content of included headers by their path, and the headers that were not found."""

    files: dict[Path, bytes] = field(default_factory=dict)
    missing: list[MissingHeader] = field(default_factory=list)


def find_headers(
    source: str, folders: Sequence[Path], read: Callable[[Path], bytes | None]
) -> IncludedHeaders:
    """Return the headers that a source includes, directly or indirectly.

    `folders` are those of `include_folders`, the source's own first. `read` returns the content of
    a file, or None if there is no such file. Branches of `#if` that are not compiled count, too. A
    name that a macro expands to is missing without a place.
    """
    found = IncludedHeaders()
    waiting = [(source, folders[0])]
    while waiting:
        text, own = waiting.pop()
        for quoted, angled, macro in _INCLUDE.findall(text):
            name = quoted or angled
            # An absolute name would replace the folder.
            is_relative = bool(name) and not Path(name).is_absolute()
            searched = dict.fromkeys([*([own] if quoted else []), *folders]) if is_relative else ()
            places = tuple(folder / name for folder in searched)
            for path in places:
                if path in found.files:
                    break
                data = read(path)
                if data is not None:
                    found.files[path] = data
                    waiting.append((data.decode("utf-8", "replace"), path.parent))
                    break
            else:
                found.missing.append(MissingHeader(name or macro, places))
    return found


# Read candidate files. The path may hold anything.

# A hundred times the longest kernel that people write.
MOST_BYTES = 8 << 20


def read_candidate(path: Path) -> bytes:
    """Return the bytes of a candidate file.

    Raise DeclarationError for what is not a plain file (a folder, a pipe, a device), for a file of
    more than `MOST_BYTES`, and for one that cannot be read.
    """
    return read_plain_file(path, MOST_BYTES, "source")


def read_candidate_text(path: Path) -> str:
    """Return the text of a candidate's file; raise DeclarationError as above, or if not UTF-8."""
    return decode_candidate(read_candidate(path), path)


def decode_candidate(data: bytes, name: Path | str) -> str:
    """Return the text of a candidate; raise DeclarationError, with its name, if not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DeclarationError(f"{name} cannot be read: expected UTF-8 text: {error}") from error
    # As Python reads text files.
    return text.replace("\r\n", "\n").replace("\r", "\n")


# Restrict the files that a Metal source makes the compiler read.
#
# Compilers quote lines that they cannot parse, and compiler messages are sent to language models. A
# source of a model may therefore include only headers of Metal and of the library, by plain
# `#include` lines. Comments and strings are not recognised: an include in a comment is refused too.

# Between its parts a directive may have comments.
_DIRECTIVE = re.compile(
    r"(?:#|%:)(?:\s|/\*.*?\*/)*(include_next|include|import|embed)(?!\w)([^\n]*)", re.DOTALL
)
_NAMED = re.compile(r'[ \t]*(?:<([^<>"\n]+)>|"([^<>"\n]+)")')
_OF_METAL = re.compile(r"metal_\w+|simd/simd\.h")
_OF_LIBRARY = re.compile(r"metalbench/\w+\.h")
# Directives that hide includes from this search, or read files in other ways.
_REFUSED = {
    "trigraphs are": re.compile(r"\?\?[=/'()!<>-]"),
    "raw strings are": re.compile(r'R"'),
    "`asm` is": re.compile(r"\b(?:asm|__asm\w*)\b"),
    "`__has_include` is": re.compile(r"__has_(?:include|embed)"),
    "modules are": re.compile(r'@\s*import\b|\bimport\s*["<]'),
}
_PASTING = re.compile(r"##|%:%:")


def find_file_access(source: str, allowed: str = "") -> str:
    """Return why `source` may not be compiled: it would read a file; else an empty string.

    Includes of `allowed`, the original of `source`, are permitted.
    """
    lines = _whole_lines(source)
    for what, pattern in _REFUSED.items():
        if pattern.search(lines):
            return f"{what} not allowed"
    if _PASTING.search(lines) and not _PASTING.search(allowed):
        return "joining tokens with `##` is not allowed"
    known = {named[0].strip() for named in _find_includes(allowed)}
    faults = (_fault(word, rest, known) for word, rest in _DIRECTIVE.findall(lines))
    return next((each for each in faults if each), "")


def find_included_headers(source: str) -> list[Path]:
    """Return the library's headers that `source` includes, directly or indirectly, in order."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        for named in _find_includes(waiting.pop(0)):
            header = _of_library(named[2] or "")
            if header is not None and header not in found:
                found[header] = None
                waiting.append(header.read_text(encoding="utf-8"))
    return list(found)


def _whole_lines(source: str) -> str:
    """Return `source` with lines joined that end with a backslash (C++ translation phase 2)."""
    return re.sub(r"\\[ \t\f\v]*\n", "", re.sub(r"\r\n?", "\n", source))


def _find_includes(source: str) -> list[re.Match[str]]:
    lines = _DIRECTIVE.findall(_whole_lines(source))
    matches = [_NAMED.match(rest) for word, rest in lines if word == "include"]
    return [each for each in matches if each]


def _fault(word: str, rest: str, known: set[str]) -> str:
    if word != "include":
        return f"`#{word}` is not allowed"
    named = _NAMED.match(rest)
    if named is None:
        return f"`#include{rest.rstrip()}`: expected a name in <> or quotes"
    of_metal = named[1] and _OF_METAL.fullmatch(named[1])
    if of_metal or named[0].strip() in known or _of_library(named[1] or named[2]):
        return ""
    return f"`#include{named[0]}`: expected a header of Metal, or one of the library's"


def _of_library(name: str) -> Path | None:
    path = library_folder() / "include" / name
    return path if _OF_LIBRARY.fullmatch(name) and path.is_file() else None
