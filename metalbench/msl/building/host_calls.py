"""What of a host has no word of its own in a source, but is plain in the LLVM IR of it.

Variables that keep their value from launch to launch, what would run when the code is loaded, and
calls of what is known only when they are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.msl.ir.places import Metadata, is_own
from metalbench.msl.reading.host_code import refusal
from metalbench.msl.reading.program import Source

_VARIABLE = re.compile(r'^@(?P<name>[\w.$]+|"[^"]*") = (?P<rest>[^\n]*)', re.M)
_MUTABLE = re.compile(r"(?:(?!constant |global )[\w()]+ )*global ")
_OTHER = re.compile(r"(?:[\w()]+ )*(?:alias|ifunc) ")
# Of the engine: the threadgroup's memory, what a kernel tells of itself; and clang's own, which has
# no name or begins with its.
_OWN_VARIABLE = re.compile(
    r"\d+|mb_\w+|_ZZ\d+mb_info\w*|llvm\..*|\w*mb_(?:storage|part)_\w*|__(?:start|stop)_mb_\w+|_ZN2mb\w+"
)
_INITIALISERS = ("llvm.global_ctors", "llvm.global_dtors")
# What is called is a name (`@f`), or else a value: `%f`, or a constant, before which types and
# attributes may stand.
_CALL = re.compile(
    r'\b(?:call|invoke) (?:[^@%"]|%[\w.]+[ *]|%"[^"]*"[ *])*?'
    r'(?:%(?:[\w.$]+|"[^"]*")\(|\b(?:inttoptr|null|undef|poison|getelementptr|addrspacecast)\b)'
)
_PLACE = re.compile(r"!dbg (!\d+)")
_WORD = re.compile(r"\d+")


@dataclass
class _Function:
    """A function that calls what a pointer leads to; both places are of the debug information."""

    subprogram: str
    call: str


def refuse_host_calls(ir: str, source: Source) -> None:
    """Raise CompileError for the first thing in a module that no Metal kernel may have."""
    for name, what in _variables(ir):
        raise refusal(_declared(source, name), f"{_plain(name)}, {what}")
    callers = list(_callers(ir))
    metadata = Metadata(ir.split("\n") if callers else ())
    for caller in callers:
        if not _is_own(metadata, caller):
            where = _where(metadata, caller.call) or source.filename
            raise refusal(where, "a call through a pointer to a function")


def _variables(ir: str) -> Iterator[tuple[str, str]]:
    """Variables that a kernel may not have, each with what it is."""
    for found in _VARIABLE.finditer(ir):
        name, rest = found["name"].strip('"'), found["rest"]
        if name in _INITIALISERS:
            yield name, "code that runs when the kernel is loaded"
        elif _OTHER.match(rest):
            yield name, "another name for a function"
        elif _MUTABLE.match(rest) and not _OWN_VARIABLE.fullmatch(name):
            yield name, "a variable at program scope or `static` that is not constant"


def _callers(ir: str) -> Iterator[_Function]:
    """Functions with a call through a pointer."""
    subprogram = ""
    for line in ir.split("\n"):
        if line.startswith("define "):
            place = _PLACE.search(line)
            subprogram = place[1] if place else ""
        elif ("call " in line or "invoke " in line) and _CALL.search(line):
            place = _PLACE.search(line)
            yield _Function(subprogram, place[1] if place else "")


def _where(metadata: Metadata, place: str) -> str | None:
    """The file and line of the user's that a place is of; None if there is none."""
    if place not in metadata:
        return None
    file, line = metadata.seen(place)
    name = metadata.file_name(file)
    return None if is_own(name) else f"{name}:{line}"


def _is_own(metadata: Metadata, function: _Function) -> bool:
    """Whether a function is one of the MSL headers, which the engine's own calls are made by."""
    return function.subprogram in metadata and is_own(metadata.file_of(function.subprogram))


def _plain(name: str) -> str:
    """The last part of a mangled name: `f` of `_ZN1a1fEi`."""
    rest, last = re.sub(r"^_ZZ?N?L?", "", name), ""
    if rest == name:
        return name
    for found in _WORD.finditer(name):
        length, end = int(found[0]), found.end()
        if name[end : end + length].isidentifier() and len(name) >= end + length:
            last = name[end : end + length]
    return last or name


def _declared(source: Source, name: str) -> str:
    """Where the variable of that mangled name stands first in the source."""
    places = source.tokens.places.get(_plain(name))
    return str(source.tokens.where(places[0])) if places else source.filename
