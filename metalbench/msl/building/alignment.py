"""Alignment of memory accesses in a kernel's LLVM IR, as far as it is proven.

Apple's GPUs access a vector at any address at which one of its elements may be. NVIDIA's GPUs
fault where a wide access is not aligned to its width. clang promises LLVM the alignment of the type
that an access is written with, which a cast (`*(device float4*)(x + i)`) does not make true. So the
promise is lowered to the alignment of an element, and LLVM splits the access. Where the address
itself proves more, the access stays whole: buffers begin at multiples of `BUFFER_ALIGNMENT` bytes
(options.py), and a branch such as `if (cols % 4 == 0)` proves the alignment of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metalbench.msl.building.proven_alignment import Module, ProvenAlignment, trailing_zeros

# Bytes. Apple's GPUs access 8-byte elements at any multiple of 4 bytes.
_MOST_PROMISED = 4
# No access is wider than 16 bytes.
_MOST_ZEROS = 4

_DEFINITION = re.compile(r"^define [^\n]*\{\n.*?^\}$", re.M | re.S)
_NAME = r'%(?:"[^"]*"|[-\w.$]+)'
# `load atomic` and `store atomic` need their alignment.
_ACCESS = re.compile(
    rf"^(?P<head>  (?:{_NAME} = load|store) (?!atomic )(?:volatile )?(?P<type>{_NAME}|<[^>]*>|\w+)"
    r".*, align )(?P<align>\d+)(?P<rest>.*)$"
)
_POINTED = re.compile(
    rf"^(?P<head>  (?:(?:tail )?{_NAME} = load|store) (?!atomic ).*?, ptr(?: addrspace\(\d+\))? "
    rf"(?P<pointer>{_NAME}|@(?:\"[^\"]*\"|[-\w.$]+)|[a-z]+ (?:\w+ )*\(.*\)), align )"
    r"(?P<align>\d+)(?P<rest>.*)$"
)
_COPY = re.compile(r"^  (?:tail |notail )?call void @llvm\.mem(?:cpy|move|set)(?:\.inline)?\.")
_POINTER = re.compile(
    r"(?P<head>\bptr (?:addrspace\(\d+\) )?(?:\w+ )*align )(?P<align>\d+)"
    rf"(?P<rest>(?: \w+(?:\(\d+\))?)* (?P<pointer>{_NAME}|@[^\s,]+))"
)
# Of references. That of arguments by value, which lie on the stack, stays.
_REFERENCE = re.compile(r"\balign \d+ (?=dereferenceable)")
_LOADED_REFERENCE = re.compile(r", !align !\d+")
_STRUCT = re.compile(rf"^(?P<name>{_NAME}) = type <?(?P<members>\{{.*\}})>?$", re.M)
_TYPED = re.compile(
    rf"^  (?P<value>{_NAME}) = (?:alloca (?P<made>{_NAME}|[\[<\w][^,]*)"
    rf"|getelementptr (?:\w+ )*(?P<whole>{_NAME}|\w+), ptr (?P<base>{_NAME})(?P<indices>.*))"
)
_SCALAR = re.compile(r"\b(?:i\d+|half|bfloat|float|double|ptr)\b")
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


def with_natural_alignment(ir: str) -> str:
    """Return a module before LLVM's passes with alignments of elements, not of vectors."""
    elements = _element_bytes(ir)
    return _DEFINITION.sub(lambda found: _lowered(found[0], elements), ir)


def with_proven_alignment(ir: str, buffer_alignment: int) -> str:
    """Return a module after LLVM's passes with the alignments that its code proves.

    `buffer_alignment` is that of the addresses of buffers, in bytes.
    """
    module = Module(ir)

    def prove(found: re.Match[str]) -> str:
        lines = found[0].split("\n")
        uses = list(_uses(lines))
        if not uses:
            return found[0]
        proven = ProvenAlignment(lines, module, trailing_zeros(buffer_alignment))
        bytes_of = {
            use: 1 << min(zeros, _MOST_ZEROS)
            for use, zeros in zip(uses, proven.zeros(uses), strict=True)
        }

        def raise_alignment(index: int) -> str:
            def raised(each: re.Match[str]) -> str:
                align = max(int(each["align"]), bytes_of[each["pointer"], index])
                return f"{each['head']}{align}{each['rest']}"

            line = lines[index]
            return (
                _POINTED.sub(raised, line) if _POINTED.match(line) else _POINTER.sub(raised, line)
            )

        for index in {index for _, index in uses}:
            lines[index] = raise_alignment(index)
        return "\n".join(lines)

    return _DEFINITION.sub(prove, ir)


def _uses(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Return the addresses that a function accesses, each with its line."""
    for index, line in enumerate(lines):
        if access := _POINTED.match(line):
            yield access["pointer"], index
        elif _COPY.match(line):
            for pointer in _POINTER.finditer(line):
                yield pointer["pointer"], index


def _element_bytes(ir: str) -> dict[str, int]:
    """The smallest scalar of each struct."""
    members = {found["name"]: found["members"] for found in _STRUCT.finditer(ir)}
    made: dict[str, int] = {}

    def smallest(name: str) -> int:
        if name not in made:
            made[name] = 0
            text = members.get(name, "")
            inner = [smallest(each) for each in re.findall(_NAME, text)]
            text = re.sub(_NAME, "", text)
            sizes = [*inner, *(_scalar_bytes(each) for each in _SCALAR.findall(text))]
            made[name] = min((size for size in sizes if size), default=0)
        return made[name]

    for name in members:
        smallest(name)
    return made


def _scalar_bytes(kind: str) -> int:
    if kind in _BYTES:
        return _BYTES[kind]
    size = max(int(kind[1:]) // 8, 1)
    # clang passes a vector of three bytes as i24.
    return size & -size


def _least(kind: str, elements: dict[str, int]) -> int:
    """Bytes of the smallest scalar of a type; 0 where there is none."""
    if kind.startswith("%"):
        return elements.get(kind, 0)
    named = [elements.get(each, 0) for each in re.findall(_NAME, kind)]
    sizes = [*named, *(_scalar_bytes(each) for each in _SCALAR.findall(re.sub(_NAME, "", kind)))]
    return min((size for size in sizes if size), default=0)


def _lowered(function: str, elements: dict[str, int]) -> str:
    if " align " not in function:
        return function
    lines = function.split("\n")
    kinds = {}
    for line in lines:
        if found := _TYPED.match(line):
            kind = found["made"] or found["whole"]
            size = _least(kind, elements)
            if size:
                kinds[found["value"]] = size
            if size and found["base"]:
                kinds.setdefault(found["base"], size)
    return "\n".join(
        _lowered_line(line, elements, kinds) if "align " in line else line for line in lines
    )


def _lowered_line(line: str, elements: dict[str, int], kinds: dict[str, int]) -> str:
    if access := _ACCESS.match(line):
        size = _least(access["type"], elements) or 1
        promised = min(int(access["align"]), size, _MOST_PROMISED)
        line = f"{access['head']}{promised}{access['rest']}"
    elif _COPY.match(line):
        known = [
            kinds[pointer["pointer"]]
            for pointer in _POINTER.finditer(line)
            if pointer["pointer"] in kinds
        ]

        def lower(pointer: re.Match[str]) -> str:
            align = int(pointer["align"])
            # Of vectors of four.
            size = min(known) if known else max(align // 4, 1)
            return f"{pointer['head']}{min(align, size, _MOST_PROMISED)}{pointer['rest']}"

        line = _POINTER.sub(lower, line)
    if "!align " in line:
        line = _LOADED_REFERENCE.sub("", line)
    return _REFERENCE.sub("", line) if "dereferenceable" in line else line
