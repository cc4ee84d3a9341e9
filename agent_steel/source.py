"""Texts of kernels: when two are the same, and defaults that stand in the text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

from metalbench.errors import MetalBenchError
from metalbench.kernel.header import Dispatch, Kernel, NamedSize, Scratch, parse
from metalbench.kernel.source_files import find_file_access, library_folder
from metalbench.msl.frontend.tokens import split_source
from metalbench.task.dtypes import FLOATS

_TYPES = "|".join(FLOATS)
_DEFAULTS = re.compile(rf"^(\s*//\s*defaults:\s*\w+)((?:\s+(?:{_TYPES}))*)\s+(.*?)\s*$")
_TUNE = re.compile(r"^(\s*//\s*tune:\s*(\w+)\s*=\s*)(.*?)(\s*)$")


def with_source(kernel: Kernel, source: str) -> Kernel:
    """Return `kernel` with another text, in the same place and with the same folders for headers.

    Raise DeclarationError if the text's header is wrong.
    """
    other = parse(source, name=kernel.name, path=kernel.path, chip=kernel.chip)
    return replace(other.on(kernel.target), include_dirs=kernel.include_dirs)


def source_key(kernel: Kernel, tunables: Mapping[str, int], *, dtype: str | None = None) -> str:
    """Hash of what a kernel is and how it is launched, whatever its comments and spacing are.

    Headers count as if they stood in the text. Of the header's `// tune:` lines the values count
    that are chosen, not those that are offered.
    """
    try:
        text = kernel.text
    except MetalBenchError:
        text = kernel.source
    parts = "\0".join(split_significant(text))
    declared = json.dumps(
        {
            "dispatches": [_remove_spaces(each) for each in kernel.dispatches],
            "scratches": [_remove_spaces(each) for each in kernel.scratches],
            "tunables": {**kernel.resolve_tunables(dtype=dtype), **tunables},
            "dtypes": sorted(kernel.dtypes),
            "math": kernel.math,
            # Without the key where a kernel has none: hashes of stored kernels stay.
            **({"limits": sorted(map(str, kernel.limits))} if kernel.limits else {}),
            **(
                {"lets": [_remove_spaces(each) for each in kernel.named_sizes]}
                if kernel.named_sizes
                else {}
            ),
        },
        sort_keys=True,
    )
    return hashlib.sha256(f"{parts}\0\0{declared}".encode()).hexdigest()


def _remove_spaces(line: Dispatch | Scratch | NamedSize) -> dict[str, str]:
    """Return the parts of a header's line, wherever it stands and however it is spaced."""
    return {
        each.name: re.sub(r"\s", "", _write(getattr(line, each.name)))
        for each in fields(line)
        if each.name != "line" and (each.name != "arguments" or getattr(line, each.name))
    }


def _write(part: object) -> str:
    if isinstance(part, tuple):
        return f"({','.join(map(str, part))})"
    if isinstance(part, Mapping):
        return str({name: str(each) for name, each in sorted(part.items())})
    return str(part)


def text_key(source: str) -> str:
    """Hash of a text that cannot be read as a kernel, comments and spacing included."""
    return hashlib.sha256(b"text\0" + source.encode()).hexdigest()


def split_significant(text: str) -> Iterator[str]:
    """Yield tokens and directives, without comments and white space."""
    for part in split_source(text):
        if part.isspace() or part.startswith(("//", "/*")):
            continue
        yield f"#{' '.join(_remove_comments(part[1:]).split())}" if part[0] == "#" else part


def _remove_comments(directive: str) -> str:
    joined = directive.replace("\\\n", " ")
    return "".join(" " if part.startswith(("//", "/*")) else part for part in split_source(joined))


def with_defaults(source: str, tunables: Mapping[str, int], *, dtype: str) -> str:
    """Return the text with `tunables` as the first, and so the default values of its tune lines.

    What lines for some devices say of them goes, unless it is of other element types than `dtype`:
    these values were found to be better.
    """
    lines = (each for line in source.split("\n") for each in _without(line, tunables, dtype))
    return "\n".join(_with_default(line, tunables) for line in lines)


def _without(line: str, tunables: Mapping[str, int], dtype: str) -> Iterator[str]:
    """A line without the defaults of some devices for `tunables` in that type, if any are left."""
    match = _DEFAULTS.match(line)
    if match is None:
        yield line
        return
    device, dtypes = match[1], match[2].split()
    others = [each for each in dtypes if each != dtype]
    if others:
        yield f"{' '.join((device, *others))} {match[3]}"
    if dtypes and dtype not in dtypes:
        return
    said = [each.strip() for each in match[3].split(",")]
    kept = [each for each in said if each.partition("=")[0].strip() not in tunables]
    if kept:
        yield f"{' '.join((device, dtype) if dtypes else (device,))} {', '.join(kept)}"


def _with_default(line: str, tunables: Mapping[str, int]) -> str:
    match = _TUNE.match(line)
    if match is None or match[2] not in tunables:
        return line
    value = tunables[match[2]]
    others = [each for each in (part.strip() for part in match[3].split(",")) if each]
    rest = [each for each in others if int(each, 0) != value]
    return f"{match[1]}{', '.join([str(value), *rest])}{match[4]}"


# The text of a line that a message names.

LONGEST_LINE = 160


def read_line(kernel: Kernel, file: str, line: int) -> str:
    """Return a line of the kernel's text, or of a header of the library, without its indentation.

    `file` is the path or the name of the file. The result is '' for other files and for lines that
    do not exist.
    """
    name = Path(file).name
    if name == kernel.path.name:
        text = kernel.source
    else:
        header = library_folder() / "include" / "metalbench" / name
        if not header.is_file():
            return ""
        text = header.read_text(encoding="utf-8")
    lines = text.splitlines()
    found = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return found if len(found) <= LONGEST_LINE else f"{found[:LONGEST_LINE]}..."


# Check that a text is one `.metal` file and nothing else.

MOST_BYTES = 200_000
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def check_source(source: str, parent: Kernel | None = None, name: str = "") -> str:
    """Return what is wrong with `source` before it is compiled; '' for nothing.

    `source` is a version of `parent`, whose task name, element types and includes are allowed.
    Without a parent the kernel is called `name`.
    """
    if "```" in source:
        count = source.count("```")
        return f"expected one .metal text without code fences, got {count} times ```"
    try:
        kernel = parse(source, name=parent.name if parent else name)
    except MetalBenchError as error:
        return str(error)
    return (
        _missing_function(kernel)
        or _missing_types(kernel, parent)
        or find_file_access(source, "" if parent is None else parent.source)
    )


def _missing_function(kernel: Kernel) -> str:
    code = _COMMENT.sub(" ", kernel.source)
    for each in kernel.dispatches:
        if not re.search(rf"\b{re.escape(each.function)}\b", code):
            return f"`// dispatch: {each.function}`: the file has no function of that name"
    if not re.search(r"\bkernel\b", code):
        return "the file has no `[[kernel]]` function"
    return ""


def _missing_types(kernel: Kernel, parent: Kernel | None) -> str:
    lost = [] if parent is None else [each for each in parent.dtypes if each not in kernel.dtypes]
    if not lost:
        return ""
    return f"`// dtypes:` must keep {', '.join(lost)}"
