"""What a kernel's LLVM IR must say otherwise before it is optimised.

Metal leaves undefined what Apple's GPUs do without harm: accesses that are not aligned as their
type is, and the one signed division that overflows. LLVM may assume neither, and x86-64 faults on
both.
"""

from __future__ import annotations

import re

from metalbench.msl.building.symbolize import is_own

# `load atomic` and `store atomic` are others: those need their alignment.
_ACCESS = re.compile(r"^(  (?:%[\w.]+ = load|store) (?!atomic ).*, align )\d+", re.MULTILINE)
_COPY = re.compile(r"^  (?:tail )?call void @llvm\.mem(?:cpy|move|set)\..*$", re.MULTILINE)
_POINTER = re.compile(r"(\bptr (?:\w+ )*align )(\d+)( [%@][^\s,]+)")
# Of references; that of what lies on the stack, such as a result, stays.
_REFERENCE = re.compile(r"\balign \d+ (?=dereferenceable)")
_LOADED_REFERENCE = re.compile(r", !align !\d+")
_DIVISION = re.compile(
    r"^  (?P<result>%[\w.]+) = (?P<op>sdiv|srem)(?P<exact> exact)? (?P<type>i32|i64) "
    r"(?P<dividend>[^,]+), (?P<divisor>%[\w.]+)(?P<rest>(?:, .*)?)$",
    re.MULTILINE,
)
_LOCAL = re.compile(r"^  (%[\w.]+) = alloca ", re.MULTILINE)
_PLACE = re.compile(r", (!dbg !\d+)")
_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "([^"]*)"', re.MULTILINE)
_SUBPROGRAM = re.compile(r"^(!\d+) = distinct !DISubprogram\(.*?\bfile: (!\d+)", re.MULTILINE)
_HEAD = re.compile(r"define .* !dbg (!\d+) ")


def rewrite(text: str, *, checked: bool) -> str:
    """The IR to optimise and compile."""
    text = _DIVISION.sub(_with_safe_divisor, text)
    if not checked:
        return _forget_alignment(text)
    theirs = _users_functions(text)
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    return "".join(_check_copies(part) if _is_one_of(theirs, part) else part for part in parts)


def _forget_alignment(text: str) -> str:
    """Nothing is known to be aligned but what the optimiser itself puts somewhere."""
    text = _ACCESS.sub(r"\g<1>1", text)
    text = _COPY.sub(lambda copy: _POINTER.sub(r"\g<1>1\3", copy[0]), text)
    text = _LOADED_REFERENCE.sub("", text)
    return _REFERENCE.sub("", text)


def _with_safe_divisor(division: re.Match[str]) -> str:
    """mb_divisor (csrc/msl/mb/division.h) is another divisor where the quotient does not fit."""
    kind, dividend, divisor = division.group("type", "dividend", "divisor")
    place = _PLACE.search(division["rest"])
    safe = f"%mb.divisor.{division['result'][1:]}"
    call = f"call {kind} @mb_divisor_{kind}({kind} {dividend}, {kind} {divisor})"
    head = f"  {division['result']} = {division['op']}{division['exact'] or ''} {kind} "
    return (
        f"  {safe} = {call}{f', {place[1]}' if place else ''}\n"
        f"{head}{dividend}, {safe}{division['rest']}"
    )


def _users_functions(text: str) -> set[str]:
    """The debug information of what the user wrote: what the MSL headers are given is checked."""
    files = {number for number, name in _FILE.findall(text) if not is_own(name)}
    return {number for number, file in _SUBPROGRAM.findall(text) if file in files}


def _is_one_of(functions: set[str], part: str) -> bool:
    head = _HEAD.match(part)
    return head is not None and head[1] in functions


def _check_copies(function: str) -> str:
    """Ask about both ends of a struct's copy: clang's own check knows scalars and members only."""
    local = set(_LOCAL.findall(function))
    return _COPY.sub(lambda copy: _check_copy(copy[0], local), function)


def _check_copy(copy: str, local: set[str]) -> str:
    place = _PLACE.search(copy)
    if place is None:
        return copy
    lines = []
    for which, pointer in enumerate(_POINTER.finditer(copy)):
        _, alignment, name = pointer.groups()
        if alignment != "1" and name.strip() not in local:
            arguments = f"ptr{name}, i64 {alignment}, i32 {1 - which}"
            lines.append(f"  call void @mb_check_alignment({arguments}), {place[1]}\n")
    return "".join(lines) + copy
