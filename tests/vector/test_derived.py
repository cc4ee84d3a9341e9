"""What is computed anew where it is used, and what it takes there."""

from __future__ import annotations

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.read import read_function
from metalbench.msl.vector.analysis import analyse
from metalbench.msl.vector.derived import derived
from metalbench.msl.vector.shapes import Linear
from metalbench.msl.vector.uses import idle, used_elsewhere

HEAD = """
declare i32 @x()
declare void @use(ptr, i1)
declare void @llvm.assume(i1)
define void @f(ptr %p, i32 %n) {
entry:
  %x = call i32 @x()
"""


def found(body: str) -> tuple[set[str], dict[str, set[str]]]:
    function = read_function(f"{HEAD}{body}\n}}\n", "f")
    flow = flow_of(function)
    shapes = analyse(function, flow, 8, {"x": lambda call, given: Linear(1)})
    uses = used_elsewhere(function, flow)
    names = set(derived(function, shapes, uses))
    return names, {name: {block.name for block in blocks} for name, blocks in uses.items()}


def test_addresses_that_follow_if_nothing_wraps_and_comparisons_of_what_follows():
    names, uses = found("""
  %k = add i32 %x, %n
  %w = zext i32 %k to i64
  %q = getelementptr float, ptr %p, i64 %w
  %c = icmp ult i32 %x, %n
  %e = icmp eq i32 %x, %n
  br label %next
next:
  call void @use(ptr %q, i1 %c)
  call void @use(ptr %q, i1 %e)
  ret void""")
    assert names == {"%w", "%q", "%c"}
    # They take %k, %x there; %k is kept, as it follows in any case.
    assert uses["%k"] == {"%next"}
    assert uses["%x"] == {"%next"}


def test_not_of_what_differs_from_lane_to_lane():
    names, _ = found("""
  %s = mul i32 %x, %x
  %w = zext i32 %s to i64
  %q = getelementptr float, ptr %p, i64 %w
  %c = icmp ult i32 %s, %n
  call void @use(ptr %q, i1 %c)
  ret void""")
    assert names == set()


def test_not_behind_a_loop_that_lanes_leave_at_different_times():
    names, _ = found("""
  br label %loop
loop:
  %t = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = add i32 %t, %x
  %w = zext i32 %at to i64
  %q = getelementptr float, ptr %p, i64 %w
  %more = add i32 %t, 1
  %d = icmp ult i32 %at, %n
  br i1 %d, label %loop, label %end
end:
  call void @use(ptr %q, i1 true)
  ret void""")
    assert "%q" not in names


def test_what_only_something_is_said_of_is_idle():
    function = read_function(
        f"""{HEAD}
  %c = icmp ult i32 %x, 1024
  call void @llvm.assume(i1 %c)
  %k = add i32 %x, 1
  %l = mul i32 %k, 2
  %u = add i32 %x, 3
  store i32 %u, ptr %p, align 4
  ret void
}}
""",
        "f",
    )
    assert idle(function) == {"%c", "%k", "%l"}
