"""Check the symbols and sections of a compiled object before it is loaded.

This is the last of three checks, and independent of a source's spelling. Before it come the words
(frontend/unsupported.py) and LLVM IR (host_calls.py). An object moves to the cache after this check
only, and processes load objects from the cache.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Location
from metalbench.msl.toolchain import elf, mach_o
from metalbench.msl.toolchain.clang import MACH_O, CompilationTarget
from metalbench.msl.toolchain.diagnostics import spell_as_metal

# Functions that clang calls for copies of structs and filled arrays, and that os_log calls by names
# which no source can spell (csrc/msl/mb/cpu/log_line.h).
RUNTIME = frozenset({"memcpy", "memmove", "memset", "bzero", "snprintf", "write"})
_LOADER = frozenset({"dyld_stub_binder"})
# Symbols that the runtime looks up (csrc/cpu/module.cpp), and that vectors call in the object. Each
# of several kernels has a number.
_EXPORT = re.compile(
    r"mb_(?:info|lanes|shadowed|span|thread|threadgroup_parts|vector_body)(?:_\d+)?"
    # Symbols of Mach-O's linker.
    r"|_*dso_handle|_?mh_dylib_header"
)
# Symbols with facts about a kernel, and names that linkers define.
_OWN_VARIABLE = re.compile(
    r"_ZZ\d+mb_info(?:_\d+)?E4info|__(?:start|stop)_mb_(?:threadgroup|parts)"
    r"|__(?:start|stop)___sancov_guards|_DYNAMIC|_GLOBAL_OFFSET_TABLE_"
    # Symbols of Mach-O's linker.
    r"|_*dso_handle|_mh_\w+|dyld_private|section\$(?:start|end)\$__DATA\$\w+"
)
# A checked build numbers its branches once, when it is loaded: clang's own function.
_NUMBERS_BRANCHES = "sancov.module_ctor_trace_pc_guard"


def check_imports(
    library: Path, target: CompilationTarget, *, checked: bool, variables: Collection[str] = ()
) -> None:
    """Raise CompileError if a library has what no kernel needs; it must not be loaded then.

    `variables` are the exact names of the threadgroup's memory, and of what describes it.
    """
    found = (mach_o if target is MACH_O else elf).read_contents(library)
    faults = []
    if wanted := sorted(found.imports - RUNTIME - _LOADER):
        faults.append(f"calls {', '.join(wanted)} of the host")
    if given := sorted(each for each in found.exports if not _EXPORT.fullmatch(each)):
        faults.append(f"defines {', '.join(given)} for the host")
    kept = sorted(
        each
        for each in found.variables
        if each not in variables and not _OWN_VARIABLE.fullmatch(each)
    )
    if kept:
        faults.append(f"has variables that outlive a launch: {', '.join(kept)}")
    if found.initialisers and not (checked and found.initialisers == (_NUMBERS_BRANCHES,)):
        faults.append("runs code when it is loaded")
    if found.unexpected:
        faults.append(f"has {', '.join(found.unexpected)}")
    if faults:
        raise CompileError(
            f"error: the compiled kernel {' and '.join(faults)}: a kernel may have what Metal has, "
            "and no more"
        )


# Functions that a kernel calls and that are not defined, as the linker reports them.

_SYMBOL = re.compile(r"undefined symbol: (.*)")
_PLACE = re.compile(r">>> referenced by .*\((.*):(\d+)\)")
# The name itself in `void space::name<int>(float)`; Mach-O's linker leaves names as `__Z4namef`.
_NAME = re.compile(r"(~?\w+)(?:<.*>)?\(")
_MANGLED = re.compile(r"_{1,2}Z(?:N\w*?)?(?P<length>\d+)(?P<rest>\w+)")


def explain_undefined(said: str, source: Source) -> str:
    """Return messages for undefined symbols in the linker's output, without clang's runtime."""
    found: dict[str, tuple[str, int] | None] = {}
    symbol = ""
    for line in said.split("\n"):
        if match := _SYMBOL.search(line):
            symbol = match[1].strip()
            if symbol.lstrip("_") not in RUNTIME:
                found.setdefault(symbol, None)
        elif (match := _PLACE.search(line)) and symbol in found:
            found[symbol] = found[symbol] or (match[1], int(match[2]))
    return "\n".join(_message(source, *each) for each in found.items())


def explain_unknown(said: str) -> str:
    """The names that the linker has found nowhere, but clang's own; may be empty."""
    symbols = dict.fromkeys(match[1].strip() for match in _SYMBOL.finditer(said))
    return ", ".join(each for each in symbols if each.lstrip("_") not in RUNTIME)


def _message(source: Source, symbol: str, place: tuple[str, int] | None) -> str:
    name = _name(symbol)
    where = _call(source, name, place) if place else _declaration(source, name)
    return (
        f"{where}: error: {spell_as_metal(symbol)} is called, but nothing defines it; a Metal "
        "library is one source: define it there, or include the file that does"
    )


def _name(symbol: str) -> str:
    if match := _MANGLED.match(symbol):
        return match["rest"][: int(match["length"])]
    match = _NAME.search(symbol)
    return match[1] if match else symbol


def _call(source: Source, name: str, place: tuple[str, int]) -> Location | str:
    """The name's own column in the line of the call; the line alone where a macro hides it."""
    path, line = place
    folder = Path(source.filename).resolve().parent
    tokens = source.tokens
    for index in tokens.occurrences.get(name, ()):
        where = tokens.locate_token(index)
        if where.line == line and path in (where.file, str(folder / Path(where.file).name)):
            return where
    return f"{path}:{line}"


def _declaration(source: Source, name: str) -> Location | str:
    places = source.tokens.occurrences.get(name)
    return source.tokens.locate_token(places[0]) if places else source.filename
