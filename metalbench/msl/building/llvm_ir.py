"""What a kernel's LLVM IR must say otherwise before it is optimised.

Metal leaves undefined what Apple's GPUs do without harm: accesses that are not aligned as their
type is, and the one signed division that overflows. LLVM may assume neither, and x86-64 faults on
both. Shifts Metal defines by any amount, which counts modulo the width; LLVM by less than that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from metalbench.msl.building.members import with_members
from metalbench.msl.building.provenance import with_origins
from metalbench.msl.building.subscripts import with_names
from metalbench.msl.ir.places import is_own

# `load atomic` and `store atomic` are others: those need their alignment.
_ACCESS = re.compile(r"  (?:%[\w.]+ = load|store) (?!atomic ).*, align (?=\d)")
_COPY = re.compile(r"  (?:tail )?call void @llvm\.mem(?:cpy|move|set)\.")
_POINTER = re.compile(r"(\bptr (?:\w+ )*align )(\d+)( [%@][^\s,]+)")
# Of references; that of what lies on the stack, such as a result, stays.
_REFERENCE = re.compile(r"\balign \d+ (?=dereferenceable)")
_LOADED_REFERENCE = re.compile(r", !align !\d+")
_DIVISION = re.compile(
    r"  (?P<result>%[\w.]+) = (?P<op>sdiv|srem)(?P<exact> exact)? (?P<type>i32|i64) "
    r"(?P<dividend>[^,]+), (?P<divisor>%[\w.]+)(?P<rest>(?:, .*)?)"
)
_SHIFT = re.compile(
    r"  (?P<result>%[\w.]+) = (?P<op>(?:shl|lshr|ashr) (?:\w+ )*?)"
    r"(?P<type>(?P<lanes><\d+ x )?i(?P<bits>8|16|32|64)>?) "
    r"(?P<value>[^<,]+|<[^>]*>), (?P<amount>%[\w.]+|\d+)(?P<rest>(?:, .*)?)"
)
_LOCAL = re.compile(r"  (%[\w.]+) = alloca ")
_PLACE = re.compile(r", (!dbg !\d+)")
_FILE = re.compile(r'(!\d+) = !DIFile\(filename: "([^"]*)"')
_SUBPROGRAM = re.compile(r"(!\d+) = distinct !DISubprogram\(.*?\bfile: (!\d+)")
_HEAD = re.compile(r"define .* !dbg (!\d+) ")


def rewrite(text: str, *, checked: bool) -> str:
    """The IR to optimise and compile."""
    # Line by line, and most of them are seen to be none in question: there are thousands.
    lines = text.split("\n")
    if checked:
        theirs = users_functions(lines)
        _check_copies(lines, theirs)
        lines = with_names(with_origins(with_members(lines, theirs), theirs))
    else:
        lines = [_without_alignment(line) if "align " in line else line for line in lines]
    return "\n".join(map(_defined, lines))


def _without_alignment(line: str) -> str:
    """Nothing is known to be aligned but what the optimiser itself puts somewhere."""
    if access := _ACCESS.match(line):
        end = access.end()
        line = f"{line[:end]}1{line[end:].lstrip('0123456789')}"
    elif _COPY.match(line):
        line = _POINTER.sub(r"\g<1>1\3", line)
    if "!align " in line:
        line = _LOADED_REFERENCE.sub("", line)
    return _REFERENCE.sub("", line) if "dereferenceable" in line else line


def _defined(line: str) -> str:
    """An instruction that LLVM leaves undefined where GPUs do not, made one of theirs."""
    if " = sdiv " in line or " = srem " in line:
        return _with_safe_divisor(line)
    if " = shl " in line or " = lshr " in line or " = ashr " in line:
        return _with_amount(line)
    return line


def _with_amount(line: str) -> str:
    """A shift by what its amount is modulo the width."""
    shift = _SHIFT.fullmatch(line)
    if shift is None:
        return line
    kind, bits = shift["type"], int(shift["bits"])
    head = f"  {shift['result']} = {shift['op']}{kind} {shift['value']}, "
    if shift["amount"].isdecimal():
        return f"{head}{int(shift['amount']) % bits}{shift['rest']}"
    place = _PLACE.search(shift["rest"])
    less = f"%mb.amount.{shift['result'][1:]}"
    most = f"splat (i{bits} {bits - 1})" if shift["lanes"] else str(bits - 1)
    return (
        f"  {less} = and {kind} {shift['amount']}, {most}{f', {place[1]}' if place else ''}\n"
        f"{head}{less}{shift['rest']}"
    )


def _with_safe_divisor(line: str) -> str:
    """mb_divisor (mb/cpu/division.h) is another divisor where the quotient does not fit."""
    division = _DIVISION.fullmatch(line)
    if division is None:
        return line
    kind, dividend, divisor = division.group("type", "dividend", "divisor")
    place = _PLACE.search(division["rest"])
    safe = f"%mb.divisor.{division['result'][1:]}"
    call = f"call {kind} @mb_divisor_{kind}({kind} {dividend}, {kind} {divisor})"
    head = f"  {division['result']} = {division['op']}{division['exact'] or ''} {kind} "
    return (
        f"  {safe} = {call}{f', {place[1]}' if place else ''}\n"
        f"{head}{dividend}, {safe}{division['rest']}"
    )


def _check_copies(lines: list[str], theirs: set[str]) -> None:
    """Ask about both ends of a struct's copy: clang's own check knows scalars and members only."""
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    for start, end in pairwise([*starts, len(lines)]):
        head = _HEAD.match(lines[start])
        if head is None or head[1] not in theirs:
            continue
        local = {found[1] for line in lines[start:end] if (found := _LOCAL.match(line))}
        for index in range(start, end):
            if _COPY.match(lines[index]):
                lines[index] = _check_copy(lines[index], local)


def users_functions(lines: Sequence[str]) -> set[str]:
    """The debug information of what the user wrote: what the MSL headers are given is checked."""
    described = [line for line in lines if line.startswith("!")]
    files = [found.groups() for line in described if (found := _FILE.match(line))]
    theirs = {number for number, name in files if not is_own(name)}
    functions = (found.groups() for line in described if (found := _SUBPROGRAM.match(line)))
    return {number for number, file in functions if file in theirs}


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
