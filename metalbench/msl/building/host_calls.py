"""What a kernel may not have, found in the LLVM IR that clang makes of it.

Spelling does not matter here: assembly, code that runs at loading, other names of functions,
sections, variables that keep their value from launch to launch, and calls through pointers to
functions. What the MSL headers themselves have of these is known by the file that it is in
(ir/places.py), and variables by the names that the rewriter gave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.msl.building.imports import RUNTIME
from metalbench.msl.ir.places import OWN, Metadata, is_own
from metalbench.msl.reading.host_code import make_host_code_error
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.edits import TranslationUnit

_VARIABLE = re.compile(r'^@(?P<name>[\w.$]+|"[^"]*") = (?P<rest>[^\n]*)', re.M)
_MUTABLE = re.compile(r"(?:(?!constant |global )[\w()]+ )*global ")
_OTHER = re.compile(r"(?:[\w()]+ )*(?:alias|ifunc) ")
_SECTION = re.compile(r', section "([^"]*)"')
_THREAD_LOCAL = re.compile(r"(?:(?!constant |global )[\w()]+ )*thread_local\b")
# A string constant; LLVM spells quotes in it by their number.
_TEXT = re.compile(r'\bc"[^"]*"')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# Of the engine: what a kernel tells of itself, and the ends of sections; on a GPU the threadgroup's
# arguments. A name for an assembler begins with \01.
_OWN_VARIABLE = re.compile(
    r"_ZZ\d+mb_info(?:_\d+)?E4info|mb_arena"
    r"|(?:\\01)?(?:__(?:start|stop)_|section\$(?:start|end)\$__DATA\$)mb_(?:threadgroup|parts)"
)
# Of clang's own checks: what they tell the runtime, without a name.
_UNNAMED = re.compile(r"\d+")
# Lists of what stays though nothing uses it, and notes of the attribute `annotate`.
_LISTS = frozenset({"llvm.used", "llvm.compiler.used"})
_NOTES = frozenset({"llvm.global.annotations"})
_INITIALISERS = frozenset({"llvm.global_ctors", "llvm.global_dtors"})
_OWN_SECTIONS = frozenset(
    {"mb_threadgroup", "mb_parts", "__DATA,mb_threadgroup", "__DATA,mb_parts"}
)
_MEMBER = re.compile(r'@([\w.$]+|"[^"]*")')
_OWN_FUNCTION = re.compile(r"mb_\w+|__truncsfbf2|__(?:asan|msan|ubsan|sanitizer)_\w+")
# Mangled, as every function of a source, or the engine's own.
_FUNCTION_NAME = re.compile(rf"_Z[\w.$]+|{_OWN_FUNCTION.pattern}|__cxx_global_\w+|_GLOBAL_\w+")
# Functions of the host that the MSL headers alone call, by their names for an assembler.
_HOST_FUNCTION = rf"(?:\\01_?)?(?:{'|'.join(sorted(RUNTIME))})"
_DECLARED_NAME = re.compile(rf"{_FUNCTION_NAME.pattern}|llvm\.[\w.]+|{_HOST_FUNCTION}")
_HOST_USE = re.compile(rf'@(?:{_HOST_FUNCTION}\b|"{_HOST_FUNCTION}")')
_HOST_CALL = re.compile(rf"\b(?:call|invoke) [^@]*{_HOST_USE.pattern}\([^@]*")
# As the rewriter (rewriting/threadgroup.py) declares a variable of a threadgroup, and as the
# headers (mb/*/memory.h) name its storage and its description.
_DECLARED = re.compile(r"\bMB_THREADGROUP\(\w+, (\w+)\)")
_STORAGE = ("mb_storage_", "mb_part_")
_STORED = re.compile(
    r'^@([\w.$]+|"[^"]*") = [^\n]*, section "(?:__DATA,)?mb_(?:threadgroup|parts)"', re.M
)
# What is called is a name (`@f`), or else a value: `%f`, or a constant, before which types and
# attributes may stand.
_CALL = re.compile(
    r'\b(?:call|invoke|callbr) (?:[^@%"]|%[\w.]+[ *]|%"[^"]*"[ *])*?'
    r'(?:%(?:[\w.$]+|"[^"]*")\(|\b(?:inttoptr|null|undef|poison|getelementptr|addrspacecast)\b)'
)
_ASSEMBLY = re.compile(r'\basm (?:\w+ )*""')
# What may follow the parameters of a function, and is no attribute of ours.
_TRAITS = re.compile(r" (section|partition|gc|prefix|prologue|personality)\b")
_PLACE = re.compile(r"!dbg (!\d+)")
_WORD = re.compile(r"\d+")


@dataclass
class _Act:
    """What a function does that no kernel may: both places are of the debug information."""

    what: str
    subprogram: str
    place: str


def refuse_host_calls(ir: str, source: Source, code: TranslationUnit) -> None:
    """Raise CompileError for the first thing in a module that no Metal kernel may have.

    `code` is the lowered text of `source` that clang made the module of.
    """
    if "\nmodule asm " in f"\n{ir}":
        raise make_host_code_error(source.filename, "inline assembly")
    for name, what in _variables(ir, _stored_names(code.text)):
        raise make_host_code_error(_declared(source, name), f"{_plain(name)}, {what}")
    for name in _strange_declarations(ir):
        raise make_host_code_error(
            _declared(source, name), f"{_plain(name)}, a function that is not Metal's"
        )
    acts = list(_acts(ir))
    metadata = Metadata(ir.split("\n") if acts else ())
    for act in acts:
        if not _is_own(metadata, act):
            where = _where(metadata, act.place) or _where_of_function(metadata, act.subprogram)
            raise make_host_code_error(where or source.filename, act.what)


def threadgroup_variables(ir: str) -> frozenset[str]:
    """Return the names of the threadgroup's memory in a module that has passed the check above."""
    return frozenset(name.strip('"') for name in _STORED.findall(ir))


def _stored_names(text: str) -> re.Pattern[str]:
    """Return a pattern of the mangled names of the threadgroup's memory in a lowered text.

    No identifier of a source begins with one of these names, or has it behind a digit.
    """
    names = {f"{prefix}{name}" for name in _DECLARED.findall(text) for prefix in _STORAGE}
    listed = "|".join(sorted(f"{len(name.encode())}{re.escape(name)}" for name in names))
    last = rf"_Z[\w.$]*(?:{listed})E?(?:_\d|__\d+_)?(?:\.\d+)*" if names else r"(?!)"
    return re.compile(last)


def _variables(ir: str, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that a kernel may not have, each with what it is."""
    for found in _VARIABLE.finditer(ir):
        name, rest = found["name"].strip('"'), found["rest"]
        if name in _INITIALISERS:
            yield name, "code that runs when the kernel is loaded"
        elif _OTHER.match(rest):
            yield name, "another name for a function"
        elif _THREAD_LOCAL.match(rest):
            yield name, "a thread-local variable"
        elif name in _LISTS:
            yield from _listed(rest, stored)
        elif name not in _NOTES:
            yield from _variable(name, rest, stored)


def _variable(name: str, rest: str, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    is_stored = stored.fullmatch(name) is not None
    section = _SECTION.search(rest)
    if section and not (
        section[1] == "llvm.metadata" or (is_stored and section[1] in _OWN_SECTIONS)
    ):
        yield name, "a variable in a section of its own"
    elif _MUTABLE.match(rest) and not (
        is_stored
        or _OWN_VARIABLE.fullmatch(name)
        or (_UNNAMED.fullmatch(name) and rest.startswith("private "))
    ):
        yield name, "a variable at program scope or `static` that is not constant"


def _listed(rest: str, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield what a source keeps in the object though nothing uses it."""
    for member in _MEMBER.findall(rest):
        name = member.strip('"')
        if not (_OWN_FUNCTION.fullmatch(name) or stored.fullmatch(name)):
            yield name, "which is kept though nothing uses it"


def _strange_declarations(ir: str) -> Iterator[str]:
    """Yield functions that are defined elsewhere, and are no function of a source or the engine.

    Functions of a source have mangled names, whether they are defined or not.
    """
    for line in ir.split("\n"):
        name = _MEMBER.search(line) if line.startswith("declare ") else None
        if name and not _DECLARED_NAME.fullmatch(name[1].strip('"')):
            yield name[1].strip('"')


def _uses_host(line: str) -> bool:
    """Return whether a line names a function of the host, outside of strings and its declaration.

    A variable by such a name would be another name for the function.
    """
    if "@" not in line or line.startswith(("declare ", "!")) or not _HOST_USE.search(line):
        return False
    return _HOST_USE.search(_TEXT.sub("", line)) is not None


def _acts(ir: str) -> Iterator[_Act]:
    """Yield calls through pointers, assembly, and functions with more than Metal's attributes.

    Also every use of a function of the host's.
    """
    subprogram = ""
    for line in ir.split("\n"):
        if line.startswith("define "):
            place = _PLACE.search(line)
            subprogram = place[1] if place else ""
            name = _MEMBER.search(line)
            if name and not _FUNCTION_NAME.fullmatch(name[1].strip('"')):
                yield _Act(f"a function by the name {name[1]}", subprogram, subprogram)
            trait = _TRAITS.search(_STRING.sub('""', line), line.rfind(")"))
            if trait:
                yield _Act(f"a function with a {trait[1]}", subprogram, subprogram)
        elif _uses_host(line):
            place = _PLACE.search(line)
            # The address of such a function is nobody's to take.
            called = place[1] if place and _HOST_CALL.search(line) else ""
            yield _Act("a function of the host", subprogram, called)
        elif "call " in line or "invoke " in line or "br " in line:
            if " asm " in line and _ASSEMBLY.search(_STRING.sub('""', line)):
                what = "inline assembly"
            elif line.startswith("  indirectbr "):
                what = "jumps to computed places"
            elif _CALL.search(line):
                what = "a call through a pointer to a function"
            else:
                continue
            place = _PLACE.search(line)
            yield _Act(what, subprogram, place[1] if place else "")


def _where(metadata: Metadata, place: str) -> str | None:
    """Return the file and line of the user's that a place is of; None if there is none."""
    if place not in metadata or not metadata.is_place(place):
        return None
    file, line = metadata.seen(place)
    name = metadata.file_name(file)
    return None if is_own(name) else f"{name}:{line}"


def _where_of_function(metadata: Metadata, subprogram: str) -> str | None:
    if subprogram not in metadata:
        return None
    name = metadata.file_of(subprogram)
    return None if is_own(name) else f"{name}:{metadata.line_of(subprogram)}"


def _is_own(metadata: Metadata, act: _Act) -> bool:
    """Return whether an MSL header does it, by the place of the instruction.

    The entry points around a source do not count: a place that the optimiser loses becomes theirs.
    """
    if act.place not in metadata:
        return False
    if metadata.is_place(act.place):
        return metadata.written_in(act.place).startswith(f"{OWN}/")
    return is_own(metadata.file_of(act.place))


def _plain(name: str) -> str:
    """Return the last part of a mangled name: `f` of `_ZN1a1fEi`."""
    rest, last = re.sub(r"^_ZZ?N?L?", "", name), ""
    if rest == name:
        return name
    for found in _WORD.finditer(name):
        length, end = int(found[0][:9]), found.end()
        if name[end : end + length].isidentifier() and len(name) >= end + length:
            last = name[end : end + length]
    return last or name


def _declared(source: Source, name: str) -> str:
    """Return where the variable of that mangled name stands first in the source."""
    places = source.tokens.occurrences.get(_plain(name))
    return str(source.tokens.locate_token(places[0])) if places else source.filename
