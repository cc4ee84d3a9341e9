"""Two bitwise operations with two constants become one instruction of an NVIDIA GPU."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.toolchain.clang import GPU_FLAGS, NVPTX, find_toolchain, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, emit_assembly
from metalbench.msl.transforms.lop3 import join_bitwise_operations


def joined(*body: str, result: str = "%c") -> list[str]:
    lines = "\n".join(line if line.endswith(":") else f"  {line}" for line in body)
    module = Module(f"define i32 @f(i32 %x, i32 %y, ptr %p) {{\n{lines}\n  ret i32 {result}\n}}\n")
    join_bitwise_operations(module)
    return [line.strip() for line in str(module).splitlines()[1:-2]]


def apply(table: int, inputs: tuple[int, int, int]) -> int:
    """Return what `lop3` makes of three bytes, bit by bit."""
    result = 0
    for bit in range(8):
        a, b, c = (each >> bit & 1 for each in inputs)
        result |= (table >> (a * 4 + b * 2 + c) & 1) << bit
    return result


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.product(("and", "or", "xor"), repeat=2))
)
def test_the_combined_function_agrees_with_both_operations(first, second):
    python = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
    (made,) = joined(f"%b = {first} i32 %x, 92", f"%c = {second} i32 %b, 181, !dbg !7")
    found = re.fullmatch(
        r'%c = call i32 asm "lop3\.b32 \$0, \$1, \$2, \$3, (\d+);", "=r,r,n,n"'
        r"\(i32 %x, i32 92, i32 181\), !dbg !7",
        made,
    )
    assert found
    for x in range(256):
        assert apply(int(found[1]), (x, 92, 181)) == python[second](python[first](x, 92), 181)


APART = {
    "the first has other uses": (
        "%b = and i32 %x, 15",
        "%d = add i32 %b, 1",
        "%c = or i32 %b, 16",
    ),
    "they are in two blocks": (
        "%b = and i32 %x, 15",
        "br label %next",
        "next:",
        "%c = or i32 %b, 16",
    ),
    "an input is not a constant": ("%b = and i32 %x, %y", "%c = or i32 %b, 16"),
    "they are not words": (
        "%w = zext i32 %x to i64",
        "%b = and i64 %w, 15",
        "%d = or i64 %b, 16",
        "%c = trunc i64 %d to i32",
    ),
}


@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_two_instructions_are_not_combined(lines):
    assert not any("lop3" in line for line in joined(*lines))


def test_an_operation_is_combined_once():
    made = joined("%a = and i32 %x, 15", "%b = or i32 %a, 16", "%c = xor i32 %b, 3")
    assert [line.partition(" = ")[2].split()[0] for line in made] == ["call", "xor"]


def test_the_instruction_is_in_the_assembly():
    module = Module(
        "define void @f(i32 %x, ptr addrspace(1) %p) {\n"
        "  %b = and i32 %x, -252645136\n"
        "  %c = or disjoint i32 %b, 1258291200\n"
        "  store i32 %c, ptr addrspace(1) %p, align 4\n  ret void\n}\n"
    )
    join_bitwise_operations(module)
    tools = replace(find_toolchain(), target=NVPTX)
    options = list_flags(checked=False, fast_math=True, spaces=False, goal=NVPTX, passes=GPU_FLAGS)
    flags = [*options, "-Xclang", "-disable-llvm-passes"]
    ptx = emit_assembly(str(module), tools, MessageTranslator(), flags)
    assert re.search(r"lop3\.b32 %r\d+, %r\d+, -252645136, 1258291200, 234;", ptx)
