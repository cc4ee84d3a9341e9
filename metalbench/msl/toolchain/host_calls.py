"""Refuse host code in a kernel's LLVM IR: calls, assembly and variables that Metal lacks.

Spelling does not matter here: assembly, code that runs at loading, other names of functions,
sections, variables that keep their value from launch to launch, and calls through pointers to
functions. What the MSL headers themselves have of these is known by the file that it is in
(ir/places.py), and variables by the names that the rewriter gave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.msl.frontend.edits import TranslationUnit
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.unsupported import make_host_code_error
from metalbench.msl.ir.model import CallInstruction, Instruction
from metalbench.msl.ir.module import Global, Module
from metalbench.msl.ir.places import OWN, Metadata, is_own
from metalbench.msl.toolchain.symbols import RUNTIME

# Variables of the engine: facts about a kernel, the ends of sections, and on a GPU the arguments
# of the threadgroup. A name for an assembler begins with \01.
_OWN_VARIABLE = re.compile(
    r"_ZZ\d+mb_info(?:_\d+)?E4info|mb_arena"
    r"|(?:\\01)?(?:__(?:start|stop)_|section\$(?:start|end)\$__DATA\$)mb_(?:threadgroup|parts)"
)
# Lists of what stays though nothing uses it, and notes of the attribute `annotate`.
_LISTS = frozenset({"llvm.used", "llvm.compiler.used"})
_NOTES = frozenset({"llvm.global.annotations"})
_INITIALISERS = frozenset({"llvm.global_ctors", "llvm.global_dtors"})
_OWN_SECTIONS = frozenset(
    {"mb_threadgroup", "mb_parts", "__DATA,mb_threadgroup", "__DATA,mb_parts"}
)
_OWN_FUNCTION = re.compile(r"mb_\w+|__truncsfbf2|__(?:asan|msan|ubsan|sanitizer)_\w+")
# Mangled, as every function of a source, or the engine's own.
_FUNCTION_NAME = re.compile(rf"_Z[\w.$]+|{_OWN_FUNCTION.pattern}|__cxx_global_\w+|_GLOBAL_\w+")
# Functions of the host that the MSL headers alone call, by their names for an assembler.
_HOST_FUNCTION = rf"(?:\\01_?)?(?:{'|'.join(sorted(RUNTIME))})"
_DECLARED_NAME = re.compile(rf"{_FUNCTION_NAME.pattern}|llvm\.[\w.]+|{_HOST_FUNCTION}")
# Possible prefixes of such a name in a function.
_HOST_MENTIONS = ('@"', *(f"@{each}" for each in sorted(RUNTIME)))
_HOST_NAME = re.compile(_HOST_FUNCTION)
# Instructions that no kernel has, since none has exceptions or labels as values.
_JUMPS = {
    "indirectbr": "jumps to computed places",
    "callbr": "inline assembly",
    "invoke": "a call through a pointer to a function",
}
# As the rewriter (frontend/threadgroup_variables.py) declares a variable of a threadgroup, and as
# the headers (mb/*/memory.h) name its storage and its description.
_DECLARED = re.compile(r"\bMB_THREADGROUP\(\w+, (\w+)\)")
_STORAGE = ("mb_storage_", "mb_part_")
_WORD = re.compile(r"\d+")


@dataclass
class _ForbiddenAct:
    """A forbidden act of a function, with its subprogram and place in the debug information."""

    what: str
    subprogram: str
    place: str


def refuse_host_calls(ir: str, source: Source, code: TranslationUnit) -> None:
    """Raise CompileError for the first thing in a module that no Metal kernel may have.

    `code` is the lowered text of `source` that clang made the module of.
    """
    module = Module(ir)
    if module.has_assembly:
        raise make_host_code_error(source.filename, "inline assembly")
    for name, what in _variables(module, _match_stored_names(code.text)):
        raise make_host_code_error(_locate_declaration(source, name), f"{_plain(name)}, {what}")
    for name in _strange_declarations(module):
        raise make_host_code_error(
            _locate_declaration(source, name), f"{_plain(name)}, a function that is not Metal's"
        )
    for act in _acts(module):
        if not _is_own(module.metadata, act):
            where = _where(module.metadata, act.place)
            where = where or _where_of_function(module.metadata, act.subprogram)
            raise make_host_code_error(where or source.filename, act.what)


def threadgroup_variables(ir: str) -> frozenset[str]:
    """Return the names of the threadgroup's memory in a module that has passed the check above."""
    found = (each for each in Module(ir).globals.values() if ", section " in each.text)
    return frozenset(_unquote(each.name) for each in found if each.section in _OWN_SECTIONS)


def _unquote(name: str) -> str:
    """Return a name without `@` and quotes."""
    return name.removeprefix("@").strip('"')


def _match_stored_names(text: str) -> re.Pattern[str]:
    """Return a pattern of the mangled names of the threadgroup's memory in a lowered text.

    No identifier of a source begins with one of these names, or has it behind a digit.
    """
    names = {f"{prefix}{name}" for name in _DECLARED.findall(text) for prefix in _STORAGE}
    listed = "|".join(sorted(f"{len(name.encode())}{re.escape(name)}" for name in names))
    last = rf"_Z[\w.$]*(?:{listed})E?(?:_\d|__\d+_)?(?:\.\d+)*" if names else r"(?!)"
    return re.compile(last)


def _variables(module: Module, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that a kernel may not have, each with what it is."""
    for variable in module.globals.values():
        name = _unquote(variable.name)
        if name in _INITIALISERS:
            yield name, "code that runs when the kernel is loaded"
        elif variable.kind in ("alias", "ifunc"):
            yield name, "another name for a function"
        elif any(each.startswith("thread_local") for each in variable.words):
            yield name, "a thread-local variable"
        elif name in _LISTS:
            yield from _find_retained(variable, stored)
        elif name not in _NOTES:
            yield from _variable(name, variable, stored)


def _variable(name: str, variable: Global, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    is_stored = stored.fullmatch(name) is not None
    if variable.section and not (
        variable.section == "llvm.metadata" or (is_stored and variable.section in _OWN_SECTIONS)
    ):
        yield name, "a variable in a separate section"
    elif variable.kind == "global" and not (
        is_stored
        or _OWN_VARIABLE.fullmatch(name)
        # Of clang's own checks: what they pass to the runtime, without a name.
        or (name.isdecimal() and "private" in variable.words)
    ):
        yield name, "a variable at program scope or `static` that is not constant"


def _find_retained(variable: Global, stored: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield globals that a source retains in the object though nothing uses them."""
    for name in map(_unquote, variable.globals):
        if not (_OWN_FUNCTION.fullmatch(name) or stored.fullmatch(name)):
            yield name, "which is kept though nothing uses it"


def _strange_declarations(module: Module) -> Iterator[str]:
    """Yield functions that neither the source nor the engine defines.

    Functions of a source have mangled names, whether they are defined or not.
    """
    for name in map(_unquote, module.declarations):
        if not _DECLARED_NAME.fullmatch(name):
            yield name


def _is_host_function(name: str) -> bool:
    return _HOST_NAME.fullmatch(_unquote(name)) is not None


def _acts(module: Module) -> Iterator[_ForbiddenAct]:
    """Yield calls through pointers, assembly, and functions with more than Metal's attributes.

    Also every use of a function of the host's.
    """
    for variable in module.globals.values():
        # It would be another name for the function.
        if any(map(_is_host_function, [variable.name, *variable.globals])):
            yield _ForbiddenAct("a function of the host", "", "")
    for function in module.functions.values():
        subprogram = function.subprogram
        if not _FUNCTION_NAME.fullmatch(_unquote(function.name)):
            yield _ForbiddenAct(f"a function by the name {function.name}", subprogram, subprogram)
        for trait in function.traits[:1]:
            yield _ForbiddenAct(f"a function with a {trait}", subprogram, subprogram)
        if not (function.may_call_indirectly or any(map(function.mentions, _HOST_MENTIONS))):
            continue
        for _, each in function.instructions:
            what, place = _judge(each)
            if what:
                yield _ForbiddenAct(what, subprogram, place)


def _judge(each: Instruction) -> tuple[str, str]:
    """Return what no kernel may do about an instruction, or "", and the place that it has then."""
    if "@" in each.text and any(map(_is_host_function, each.globals)):
        # A kernel may not take the address of such a function.
        is_called = isinstance(each, CallInstruction) and _is_host_function(each.callee)
        is_called &= sum(map(_is_host_function, each.globals)) == 1
        return "a function of the host", each.place if is_called else ""
    if isinstance(each, CallInstruction):
        if each.is_assembly:
            return "inline assembly", each.place
        if not each.is_direct:
            return "a call through a pointer to a function", each.place
    elif each.opcode in _JUMPS:
        return _JUMPS[each.opcode], each.place
    return "", ""


def _where(metadata: Metadata, place: str) -> str | None:
    """Return the file and line of the user's that a place is of; None if there is none."""
    if place not in metadata or not metadata.is_place(place):
        return None
    file, line = metadata.locate_for_user(place)
    name = metadata.file_name(file)
    return None if is_own(name) else f"{name}:{line}"


def _where_of_function(metadata: Metadata, subprogram: str) -> str | None:
    if subprogram not in metadata:
        return None
    name = metadata.file_of(subprogram)
    return None if is_own(name) else f"{name}:{metadata.line_of(subprogram)}"


def _is_own(metadata: Metadata, act: _ForbiddenAct) -> bool:
    """Return whether an MSL header does it, by the place of the instruction.

    The entry points around a source do not count: a place that the optimiser loses becomes theirs.
    """
    if act.place not in metadata:
        return False
    if metadata.is_place(act.place):
        return metadata.file_containing(act.place).startswith(f"{OWN}/")
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


def _locate_declaration(source: Source, name: str) -> str:
    """Return where the variable of that mangled name stands first in the source."""
    places = source.tokens.occurrences.get(_plain(name))
    return str(source.tokens.locate_token(places[0])) if places else source.filename
