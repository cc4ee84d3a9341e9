"""Constants that hold addresses of threadgroup memory, made values that a thread computes.

PTX has no initialiser with the generic address of a `.shared` variable: ptxas and the driver refuse
`threadgroup float* parts[2] = {s, s + 64}`. Such a constant becomes a variable of each function
that mentions it, stored at the function's entry; LLVM's passes then mostly do without memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SHARED = "addrspace(3)"
_GLOBAL = re.compile(
    r'^(?P<name>@(?:"[^"]*"|[\w.$-]+)) = (?P<words>[^\n=@]*?)\b(?:constant|global) (?P<rest>.*)$',
    re.M,
)
_ALIGN = re.compile(r", align (\d+)")
_DEFINITION = re.compile(r"^define [^\n]*\{\n.*?^\}$", re.M | re.S)
_BLOCK = re.compile(r'^(?:"[^"]*"|[\w.$-]+):.*\n')
# What clang folds an element's address to.
_ELEMENT = re.compile(r"getelementptr (?:inbounds |nuw |nusw |inrange\([^)]*\) )*\(")
_OPENING, _CLOSING = "([{<", ")]}>"
# In PTX, what is initialised with the address of a variable.
_INITIALISED = re.compile(
    r"^\s*\.(?:visible |weak |global |const )[^\n]*=[^\n]*\bgeneric\(([\w$]+)\)", re.M
)


def store_at_run_time(ir: str) -> str:
    """Return the module with constants of shared addresses stored where they are used."""
    if _SHARED not in ir:
        return ir
    constants = dict(_constants(ir))
    if not constants:
        return ir
    ir = _DEFINITION.sub(lambda found: _with_tables(found[0], constants), ir)
    for width in ("i32", "i64"):
        copy = f"@llvm.memcpy.p0.p0.{width}("
        if copy in ir and f"declare void {copy}" not in ir:
            ir += f"\ndeclare void {copy}ptr, ptr, {width}, i1)\n"
    for name, (line, _, _, _) in constants.items():
        if not re.search(rf"{re.escape(name)}(?![\w.$-])", ir.replace(line, "")):
            ir = ir.replace(f"{line}\n", "")
    return ir


def initialised_with_shared(ptx: str) -> list[str]:
    """Return the variables of threadgroup memory that initialisers in PTX have addresses of."""
    return [
        name
        for name in dict.fromkeys(_INITIALISED.findall(ptx))
        if re.search(
            rf"^\s*(?:\.extern |\.visible )?\.shared [^\n]*\b{re.escape(name)}\[", ptx, re.M
        )
    ]


def _constants(ir: str) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """Name, line, type, value and alignment of each constant that holds a shared address."""
    for found in _GLOBAL.finditer(ir):
        rest = found["rest"]
        if _SHARED in found["words"] or _SHARED not in rest:
            continue
        kind, behind = _cut(rest)
        value, behind = _cut(behind.lstrip())
        if _SHARED in value:
            align = _ALIGN.search(behind)
            yield found["name"], (found[0], kind, value, align[1] if align else "8")


def _cut(text: str) -> tuple[str, str]:
    """The first type or value of a text, and what follows it."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if depth == 0 and letter in " ,":
            # `addrspacecast (...)` and `getelementptr inbounds (...)` go on.
            word = text[:index].rpartition(" ")[2]
            if letter == " " and word in ("addrspacecast", "getelementptr", "inbounds", "nuw"):
                continue
            return text[:index], text[index:]
    return text, ""


def _with_tables(function: str, constants: dict[str, tuple[str, str, str, str]]) -> str:
    """A function with variables in place of the constants that it mentions."""
    head, _, body = function.partition("\n")
    entry = _BLOCK.match(body)
    label = entry[0] if entry else ""
    body = body[len(label) :]
    stores = []
    for number, (name, (_, kind, value, align)) in enumerate(constants.items()):
        mentioned = re.compile(rf"{re.escape(name)}(?![\w.$-])")
        if not mentioned.search(body):
            continue
        table = f"%mb.table.{number}"
        body = _in_generic_memory(body, name)
        body = _without_folded(body, mentioned, table)
        body = mentioned.sub(table, body)
        stores.append(
            f"  {table} = alloca {kind}, align {align}\n"
            f"  store {kind} {value}, ptr {table}, align {align}\n"
        )
    return f"{head}\n{label}{''.join(stores)}{body}" if stores else function


def _in_generic_memory(body: str, name: str) -> str:
    """Return the code with uses of a constant of global memory by generic pointers."""
    constant = rf"ptr addrspace\(1\) (?P<attributes>(?:align \d+ )?){re.escape(name)}(?![\w.$-])"
    body = re.sub(rf"addrspacecast \({constant} to ptr\)", name, body)
    lines = []
    for line in body.split("\n"):
        generic = re.sub(constant, rf"ptr \g<attributes>{name}", line)
        if generic != line:
            generic = generic.replace("@llvm.memcpy.p0.p1.", "@llvm.memcpy.p0.p0.")
        lines.append(generic)
    return "\n".join(lines)


def _without_folded(body: str, mentioned: re.Pattern[str], table: str) -> str:
    """Elements' addresses that are folded into operands, as instructions of their own."""
    lines = []
    for number, line in enumerate(body.split("\n")):
        at = 0
        while mentioned.search(line) and (found := _ELEMENT.search(line, at)):
            end, depth = found.end(), 1
            while depth and end < len(line):
                depth += (line[end] == "(") - (line[end] == ")")
                end += 1
            if not mentioned.search(line[found.end() : end]):
                at = found.end()
                continue
            name = f"{table}.{number}.{found.start()}"
            inner = line[found.end() : end - 1]
            lines.append(f"  {name} = {found[0][:-1]}{inner}")
            line = f"{line[: found.start()]}{name}{line[end:]}"  # noqa: PLW2901
            at = found.start()
        lines.append(line)
    return "\n".join(lines)
