"""Run clang -E with empty Metal headers, so that only the user's text remains."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NoReturn

from metalbench._core import CompileError
from metalbench.msl.frontend.edits import Edits, TranslationUnit
from metalbench.msl.frontend.language_rules import find_violations, read_version
from metalbench.msl.frontend.lower import build_preamble
from metalbench.msl.frontend.program_inputs import pass_program_inputs
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.standards import (
    DOUBLE_MACRO,
    QUICK_MACRO,
    TENSOR_LAYOUT_MACRO,
    TENSORS_SINCE,
    VERSION_MACRO,
)
from metalbench.msl.frontend.token_rewrites import rewrite_keywords
from metalbench.msl.frontend.tokens import decode_file_name, replace_digraphs
from metalbench.msl.frontend.unsupported import (
    blank_unknown_pragmas,
    refuse_host_code,
    refuse_stray_text,
)
from metalbench.msl.ir.places import OWN
from metalbench.msl.toolchain.clang import NVPTX, Toolchain, find_reserved_names, find_toolchain
from metalbench.msl.toolchain.compile import check_syntax
from metalbench.msl.toolchain.diagnostics import Diagnostics
from metalbench.msl.toolchain.file_access import ReadableFolders
from metalbench.msl.toolchain.run_tool import format_crash, has_crashed, run_tool
from metalbench.safe_text import one_line

_STANDARD_INCLUDE = re.compile(r"^#include <metal_stdlib>$", re.M)
# Directives, lines that continue, comments, quotes, digraphs, trigraphs, names of the compiler.
_PREPROCESSED = re.compile(r"[#\\\"'\r\f\v\0@$`]|//|/\*|\?\?|<[:%]|[:%]>|%:|\b_")
_WORD = re.compile(r"[A-Za-z]\w*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

# Macros that Metal's compiler defines in addition to __METAL_VERSION__, as far as sources use them.
METAL_MACROS = {
    "__METAL__": "1",
    "__METAL_MACOS__": "1",
    "__METAL_CPP__": "1",
    "__AIR64__": "1",
    "__HAVE_BFLOAT__": "1",
    "__HAVE_SIMDGROUP__": "1",
    "__HAVE_SIMDGROUP_MATRIX__": "1",
    "__HAVE_SIMDGROUP_REDUCTION__": "1",
    "__HAVE_QUADGROUP__": "1",
    "__HAVE_ATOMIC_ULONG_MIN_MAX__": "1",
    "__METAL_FAST_MATH__": "1",
    "__METAL_PRECISE_MATH__": "0",
    "METAL_FUNC": "inline __attribute__((always_inline))",
}
# Those of Metal 4.
METAL4_MACROS = {"__HAVE_TENSOR__": "1", "__HAVE_INT4B_FORMAT_TYPE__": "1"}
# Clang's predefined macros reveal the host; a Metal source must not see them.
HOST_MACROS = [
    "__linux__",
    "__linux",
    "__gnu_linux__",
    "__unix__",
    "__unix",
    "linux",
    "unix",
    "__ELF__",
    "__x86_64__",
    "__x86_64",
    "__amd64__",
    "__amd64",
    "__aarch64__",
    "__APPLE__",
    "__MACH__",
    "__SSE__",
    "__SSE2__",
    "__AVX__",
    "__AVX2__",
    "__ARM_NEON",
    "_NATIVE_WCHAR_T_DEFINED",
    "_WCHAR_T_DEFINED",
]


# Paths as clang chains them for a file that `a/b.h` includes as "../c.h": `a/../c.h`.
_IN_MARKER = re.compile(r'^(# \d+ ")((?:[^"\n]*/)?\.\.?/[^"\n]*)', re.M)
_FILE_NAME = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?\d+[ \t]+"((?:\\.|[^"\\\n])*)"', re.M)
# A macro named `pack` must not be expanded in `#pragma pack(push, 1)`, so the pragma has another
# name for the preprocessor.
_PACK = re.compile(r"^([ \t]*#[ \t]*pragma[ \t]+)pack\b", re.M)
_HIDDEN_PACK = "mb_pack"
# Clang's message about a header of Metal 4 in a source of an earlier version.
_TENSOR_HEADER = re.compile(
    r"'(?:metal_tensor|metal_cooperative_tensor|MetalPerformancePrimitives/[\w./]+)' file not found"
)
_TENSORS_LATER = "Metal has tensors from metal4.0 on: compile with --std metal4.0"
_IN_MESSAGE = re.compile(r"[^\s:'\"]*/\.\.?/[^\s:'\"]*")


def preprocess(
    source: str,
    filename: str,
    macros: Mapping[str, str],
    include_dirs: Sequence[str],
    *,
    comments: bool = False,
) -> str:
    """Return the source with includes and macros expanded, and line markers.

    `#include "..."` searches the folder of `filename` first. `comments` keeps the comments. Raise
    CompileError with clang's message, and for files outside of the source's and the include folders
    (included.py).
    """
    if not comments and (plain := expand_plain_source(source, filename, macros)) is not None:
        return plain
    tools = find_toolchain()
    folder = Path(filename).resolve().parent
    version = read_version(macros)
    empty = [tools.empty_headers]
    if version >= TENSORS_SINCE:
        empty.append(tools.empty_tensor_headers)
    readable = ReadableFolders([folder, *include_dirs, *empty])
    readable.check_text(source, filename)
    command = [*tools.clang, "-E", "-x", "c++", "-std=c++17", "-nostdinc", "-nostdinc++"]
    # The first expands macros in pragmas, too: `#pragma unroll(N)`. The second as in COMMON_FLAGS.
    command += ["-fms-extensions", "-fsigned-char"]
    command += ["-fno-color-diagnostics", "-Wno-everything", "-ferror-limit=20"]
    command += [f"-U{name}" for name in HOST_MACROS]
    defined = {VERSION_MACRO: str(version), **list_macros(version), **macros}
    command += [f"-D{name}={value}" for name, value in defined.items()]
    command += [f"-I{Path(folder_).resolve()}" for folder_ in include_dirs]
    command += [*(f"-isystem{each}" for each in empty), "-"]
    command += ["-C"] if comments else []
    source = source.removeprefix("\ufeff")  # a byte order mark
    source = _PACK.sub(rf"\1{_HIDDEN_PACK}", source)
    text = f'# 1 "{escape_file_name(filename)}"\n{source}'
    with tempfile.TemporaryDirectory(prefix="metalbench-") as scratch:
        read = Path(scratch) / "read"
        command += ["-MD", "-MF", str(read), "-MT", "source"]
        overlay = Path(scratch) / "overlay"
        overlay.write_bytes(readable.make_overlay(folder))
        command += ["-ivfsoverlay", str(overlay)]
        place = folder if folder.is_dir() else None
        answer = run_tool(command, text, place, reads=readable.folders, writes=[scratch])
        if answer.returncode == 0:
            listed = read.read_text(errors="surrogateescape")
            readable.check_included_files(listed.removeprefix("source:"), folder, filename, source)
    if has_crashed(answer):
        raise CompileError(f"{filename}: {format_crash(answer)}")
    if answer.returncode != 0:
        # The output up to the error names the files of the message.
        _refuse_misleading_names(answer.stdout, filename, folder, tools)
        readable.check_messages(answer.stderr, folder, filename, source)
        said = _IN_MESSAGE.sub(lambda found: _shorten_path(found[0], folder), answer.stderr.strip())
        said = _TENSOR_HEADER.sub(rf"\g<0>; {_TENSORS_LATER}", said)
        raise CompileError(said or f"{filename}: clang -E failed without a message")
    expanded = _IN_MARKER.sub(
        lambda found: found[1] + _shorten_path(found[2], folder), answer.stdout
    )
    _refuse_misleading_names(expanded, filename, folder, tools)
    return expanded.replace(f"#pragma {_HIDDEN_PACK}", "#pragma pack")


def list_macros(version: int) -> dict[str, str]:
    """Return the macros that Metal's compiler defines, except that of the version."""
    return METAL_MACROS | (METAL4_MACROS if version >= TENSORS_SINCE else {})


def expand_plain_source(source: str, filename: str, macros: Mapping[str, str]) -> str | None:
    """Return what the preprocessor makes of a source without directives; None for another source.

    The source may include <metal_stdlib>. It has no comments, literals in quotes, or names of
    macros: all names that clang defines begin with an underscore. Generated kernels are such
    sources, and a run of clang takes as long as the rest of the front end.
    """
    text = _STANDARD_INCLUDE.sub("", source)
    names = {*METAL_MACROS, *METAL4_MACROS, *macros, "assert"}
    if (
        not text.isascii()
        or _PREPROCESSED.search(text)
        or not names.isdisjoint(_WORD.findall(text))
    ):
        return None
    return f'# 1 "{escape_file_name(filename)}"\n{text}'


def _refuse_misleading_names(expanded: str, filename: str, folder: Path, tools: Toolchain) -> None:
    """Raise CompileError if a `#line` directive gives a misleading file name.

    Locations in the MSL headers (`ir.places.OWN`) decide which code a kernel may have. A name with
    a line break or a control character splits one message into several lines.
    """
    names = dict.fromkeys(found[1] for found in _FILE_NAME.finditer(expanded))
    for name in map(decode_file_name, names):
        if _is_own_name(name, folder, tools):
            raise CompileError(
                f"{filename}: error: a #line directive names {name!r}, a file of the compiler's "
                "own headers; give it the name of one of your files"
            )
        if name != filename and not _is_one_line(name):
            raise CompileError(
                f"{filename}: error: a #line directive names {name!a}, with control "
                "characters; give it the name of one of your files"
            )


def _is_own_name(name: str, folder: Path, tools: Toolchain) -> bool:
    """Return whether a name begins like the MSL headers' names, in any spelling.

    Relative names count from `folder`, the source's folder, and from the working directory.
    """
    if OWN.casefold() in name.casefold():
        return True
    if "\0" in name:
        return False
    headers = [str(each) for each in tools.own_folders]
    own = {spelled.casefold() for each in headers for spelled in (each, os.path.realpath(each))}
    paths = [name, *(os.path.join(place, name) for place in (folder, os.getcwd()))]
    # `normpath` keeps two slashes at the beginning of a path.
    plain = [re.sub(r"^/+", "/", os.path.normpath(path)) for path in paths]
    spellings = {*paths, *plain, *map(os.path.realpath, plain)}
    return any(path.casefold().startswith(tuple(own)) for path in spellings)


def _is_one_line(name: str) -> bool:
    """Return whether a file name has no control characters; bytes outside UTF-8 are allowed."""
    text = re.sub("[\ud800-\udfff]", "?", name)
    return "\t" not in text and one_line(text) == text


@cache
def find_compiler_names(words: frozenset[str]) -> frozenset[str]:
    """Return which of some names clang defines: keywords and builtin functions.

    Those of GPU targets are included, for which the same sources are compiled.
    """
    listed = sorted(words)
    text = "".join(
        f"#if !__is_identifier({word}) || __has_builtin({word})\n{number}\n#endif\n"
        for number, word in enumerate(listed)
    )
    found: set[str] = set()
    for machine in ([], list(NVPTX.compiler[:1])):
        command = [*find_toolchain().clang, *machine, "-E", "-P", "-x", "c++", "-std=c++23"]
        answer = run_tool([*command, "-fdeclspec", "-nostdinc", "-nostdinc++", "-"], text)
        if answer.returncode != 0:
            raise CompileError(f"clang -E failed: {answer.stderr.strip()}")
        found.update(listed[int(number)] for number in answer.stdout.split())
    return frozenset(found)


def _shorten_path(path: str, folder: Path) -> str:
    """Return a path without `a/..`, if it is the same file: `a` may be a symbolic link."""
    short = os.path.normpath(path)
    same = os.path.realpath(folder / short) == os.path.realpath(folder / path)
    return short if same else path


def escape_file_name(filename: str) -> str:
    """Return a file name as a line marker spells it.

    A control character becomes a question mark: a line break would end the marker.
    """
    plain = _CONTROL.sub("?", filename)
    return plain.replace("\\", "\\\\").replace('"', '\\"')


# Clang stops after 20 errors.
_MOST_VIOLATIONS = 20

# Parse a source: preprocess it with clang, refuse host code and unmatched brackets.


def parse(
    text: str, filename: str, macros: Mapping[str, str], include_dirs: Sequence[str]
) -> Source:
    """Preprocess a source and check its tokens.

    Raise CompileError with clang's messages, for unmatched brackets, and for what Metal does not
    have.
    """
    version = read_version(macros)
    expanded = preprocess(text, filename, macros, include_dirs)
    plain = replace_digraphs(blank_unknown_pragmas(expanded))
    source = Source(
        text,
        filename,
        plain,
        tuple(include_dirs),
        DOUBLE_MACRO in macros,
        QUICK_MACRO in macros,
        version,
        int(macros.get(TENSOR_LAYOUT_MACRO, "0")),
    )
    refuse_stray_text(source.tokens)
    if not source.tokens.is_balanced:
        _refuse_unbalanced(source)
    refuse_host_code(source.tokens, find_reserved_names(find_toolchain()), find_compiler_names)
    passed = pass_program_inputs(source)
    if passed != source.expanded:
        source = replace(source, expanded=passed)
    _refuse_violations(source, version)
    return source


def _refuse_violations(source: Source, version: int) -> None:
    """Raise CompileError for everything that Metal of this __METAL_VERSION__ refuses."""
    found = find_violations(source, version)
    if not found:
        return
    lines = []
    for violation in found[:_MOST_VIOLATIONS]:
        where = source.tokens.locate_token(violation.index)
        lines.append(f"{where}: error: {violation.message}; {violation.remedy}")
    edits = Edits(source.tokens.source)
    edits.apply()
    code = TranslationUnit(source.tokens.source, edits, 0)
    raise CompileError(Diagnostics(source, code).translate("\n".join(lines)))


def _refuse_unbalanced(source: Source) -> NoReturn:
    """Raise CompileError for unmatched brackets, with clang's message if it has one."""
    tokens = source.tokens
    edits = Edits(tokens.source)
    rewrite_keywords(tokens, edits)
    opening = build_preamble(tokens, version=source.version)
    code = TranslationUnit(opening + edits.apply(), edits, len(opening))
    check_syntax(code.text, find_toolchain(), Diagnostics(source, code).translate)
    stray = next(
        index
        for index, text in enumerate(tokens.text)
        if text in "()[]{}" and tokens.partner[index] < 0
    )
    raise CompileError(f"{tokens.locate_token(stray)}: error: {tokens.text[stray]} has no partner")
