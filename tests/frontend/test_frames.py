"""Test StackUsage: the stack usage of nested calls."""

from __future__ import annotations

import pytest

from metalbench._core import CompileError
from metalbench.msl.toolchain.clang import VECTOR_FLAGS, find_toolchain, list_flags
from metalbench.msl.toolchain.compile import (
    MessageTranslator,
    StackFrame,
    StackUsage,
    assemble,
    check_stack_usage,
)

USAGE = (
    "a.metal:3:helper\t96\tstatic\n"
    "a.metal:9:deep\t4000\tstatic\n"
    "a.metal:12:other\t500\tstatic\n"
    "<metalbench>:3:mb_thread\t299880\tstatic\n"
)


def module(*calls: tuple[str, str]) -> str:
    names = dict.fromkeys(["helper", "deep", "other", "inlined", "mb_thread", *sum(calls, ())])
    return "\n".join(
        "\n".join(
            [
                f"define internal void @{name}(ptr %p) #0 {{",
                *(f"  call fastcc void @{to}(ptr %p)" for by, to in calls if by == name),
                "  ret void",
                "}",
            ]
        )
        for name in names
    )


@pytest.mark.parametrize(
    ("calls", "total"),
    [
        ([], 299880),
        ([("helper", "deep")], 299880),
        ([("mb_thread", "helper")], 299880 + 96),
        ([("mb_thread", "helper"), ("mb_thread", "other")], 299880 + 500),
        ([("mb_thread", "helper"), ("helper", "deep")], 299880 + 96 + 4000),
        ([("mb_thread", "inlined"), ("inlined", "deep")], 299880 + 4000),
        ([("mb_thread", "helper"), ("helper", "helper")], 299880 + 96),
    ],
)
def test_find_deepest_adds_nested_calls(calls, total):
    assert StackUsage(USAGE, module(*calls)).find_deepest() == StackFrame(
        total, "<metalbench>:3", "mb_thread"
    )


def test_find_deepest_names_the_largest_frame():
    usage = USAGE.replace("299880", "24")
    calls = module(("mb_thread", "helper"), ("helper", "deep"))
    assert StackUsage(usage, calls).find_deepest() == StackFrame(
        24 + 96 + 4000, "a.metal:9", "deep"
    )


def test_find_deepest_of_an_empty_program_is_zero():
    assert StackUsage("", "").find_deepest().bytes == 0


def test_stack_usage_reads_clangs_output(tmp_path):
    text = """
define hidden void @outer(ptr %p) {
  %a = alloca [4096 x i8]
  store volatile ptr %a, ptr %p
  call void @inner(ptr %a)
  ret void
}
define internal void @inner(ptr %p) noinline {
  %b = alloca [8192 x i8]
  store volatile ptr %b, ptr %p
  ret void
}
"""
    options = list_flags(checked=False, fast_math=False, passes=VECTOR_FLAGS)
    frames = assemble(text, tmp_path / "two.so", find_toolchain(), MessageTranslator(), options)
    frame = frames.find_deepest()
    assert frame.function == "inner"
    # Of a function that calls no other, 128 bytes may lie below its frame.
    assert 4096 + 8192 - 128 <= frame.bytes <= 4096 + 8192 + 256
    assert frames.total_bytes >= frame.bytes


def test_check_stack_usage_adds_nested_frames():
    usage = USAGE.replace("299880", str(200 * 1024)).replace("4000", str(100 * 1024))
    headers = find_toolchain().headers
    check_stack_usage(StackUsage(usage, module(("helper", "deep"))), "k", headers, together=True)
    chain = StackUsage(usage, module(("mb_thread", "helper"), ("helper", "deep")))
    check_stack_usage(chain, "k", headers, together=False)
    with pytest.raises(CompileError, match=r"\[k\] private memory: .* 307296 bytes"):
        check_stack_usage(chain, "k", headers, together=True)
    with pytest.raises(CompileError, match=r"299880 bytes"):
        check_stack_usage(StackUsage(USAGE, module()), "k", headers, together=False)
