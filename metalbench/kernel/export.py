"""Write a kernel of the library as one self-contained Metal file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.kernel.header import LINE_FORMS, Kernel
from metalbench.kernel.prepare import check_written_for, source_options
from metalbench.kernel.standalone import FORMS as STANDALONE_FORMS
from metalbench.msl.frontend.pruning import drop_unused_declarations
from metalbench.msl.toolchain.preprocess import preprocess
from metalbench.task.dtypes import DType, dtype

_DIRECTIVE = re.compile(r"\s*//\s*(\w+):(.*)")
_HEADER_LINE = re.compile(
    rf"^([ \t]*)//[ \t]*((?:{'|'.join([*LINE_FORMS, *STANDALONE_FORMS])}):)", re.M
)
_SYSTEM_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>)", re.M)
# Lines whose values the exported file has: one element type, and no tunables.
_RESOLVED = frozenset({"tune", "instance", "defaults", "dtypes"})
_WITH_VALUES = frozenset({"dispatch", "scratch", "let", "limits"})


@dataclass(frozen=True)
class ExportedKernel:
    """The text of a self-contained Metal file, and what it was made of."""

    kernel: Kernel
    run: DType
    tunables: Mapping[str, int]
    text: str


def export_kernel(
    kernel: Kernel, *, dtype_name: str | None = None, tunables: Mapping[str, int] | None = None
) -> ExportedKernel:
    """Return the text of a kernel with all headers in it, for one element type.

    Macros have their values: `DTYPE`, the tunables (the kernel's defaults, unless `tunables` names
    them), and those of the headers. Only declarations that the dispatched kernels use are left. The
    header lines stay, so that the file is a kernel of the same task.

    Raise DeclarationError for an element type that the kernel is not written for, or an unknown
    tunable, and CompileError for a source that the preprocessor refuses.
    """
    name = dtype_name or kernel.dtypes[0]
    check_written_for(kernel, name)
    run, chosen = dtype(name), kernel.resolve_tunables(tunables, dtype=name)
    options = source_options(kernel, run, chosen)
    first_code = _count_header_lines(kernel.source)
    lines = kernel.source.split("\n")
    # The header is written anew; its lines stay blank, so that messages have right lines.
    body = "\n".join([""] * first_code + lines[first_code:])
    expanded = preprocess(
        body,
        options["filename"],
        options["macros"],
        options["include_dirs"],
        comments=True,
    )
    code = drop_unused_declarations(expanded, [line.function for line in kernel.dispatches])
    # Below the first line of code such a comment would be an error.
    code = _HEADER_LINE.sub(r"\1// In the header: \2", code)
    includes = dict.fromkeys(_SYSTEM_INCLUDE.findall(kernel.text))
    header = [
        *_write_header(lines[:first_code], chosen, name),
        *(f"#include {each}" for each in includes),
    ]
    return ExportedKernel(kernel, run, chosen, "\n".join(header) + "\n\n" + code)


def _count_header_lines(source: str) -> int:
    """Return the number of lines above the first line of code."""
    lines = source.split("\n")
    return next(
        (
            number
            for number, line in enumerate(lines)
            if line.strip() and not line.lstrip().startswith("//")
        ),
        len(lines),
    )


def _write_header(lines: list[str], chosen: Mapping[str, int], dtype_name: str) -> list[str]:
    """Return the header lines with values in place of tunables, and one element type."""
    found: list[str] = []
    for line in lines:
        match = _DIRECTIVE.match(line)
        keyword = match[1] if match else ""
        if match and keyword in _WITH_VALUES:
            text = re.sub(r"[A-Za-z_]\w*", lambda word: str(chosen.get(word[0], word[0])), match[2])
            found.append(f"// {keyword}:{text.replace('DTYPE', dtype_name)}".rstrip())
        elif keyword not in _RESOLVED:
            found.append(line.rstrip())
    found.append(f"// dtypes: {dtype_name}")
    values = ", ".join(f"{name} = {value}" for name, value in chosen.items())
    if values:
        found.append(f"// Values of this file: {values}.")
    return [line for line in found if line]
