"""Programs with excessive recursion, nesting, size or loops are refused or ended by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from metalbench.errors import OutOfMemoryError, TimeLimitExceeded, Unsupported
from metalbench.hlo.importer.limits import MAX_BRACKETS, MAX_REGIONS
from metalbench.hlo.ir import Operation
from metalbench.hlo.passes.verification import GraphError, verify
from metalbench.hlo.runtime.compilation import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

T = "tensor<4xf32>"
ENDLESS = f"""func.func @main(%x: {T}) -> {T} {{
  %r = stablehlo.while(%v = %x) : {T}
    cond {{ CONDITION }}
    do {{ %a = stablehlo.add %v, %x : {T}
         stablehlo.return %a : {T} }}
  return %r : {T}
}}"""
ALWAYS = "%p = stablehlo.constant dense<true> : tensor<i1> stablehlo.return %p : tensor<i1>"
COMPUTED = f"""%e = stablehlo.compare EQ, %v, %v : ({T}, {T}) -> tensor<4xi1>
  %q = stablehlo.slice %e [0:1] : (tensor<4xi1>) -> tensor<1xi1>
  %p = stablehlo.reshape %q : (tensor<1xi1>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>"""


def function(name, *callees, wrapped=False):
    """Return a function that calls others in order, optionally each in an `if`."""
    lines, value = [], "%a"
    for number, callee in enumerate(callees):
        call = f"func.call @{callee}({value}) : ({T}) -> {T}"
        if wrapped:
            lines.append(
                f"%p{number} = stablehlo.constant dense<true> : tensor<i1>\n"
                f'%{number} = "stablehlo.if"(%p{number}) ({{ %c = {call} stablehlo.return %c : {T} '
                f"}}, {{ stablehlo.return {value} : {T} }}) : (tensor<i1>) -> {T}"
            )
        else:
            lines.append(f"%{number} = {call}")
        value = f"%{number}"
    body = "\n".join(lines)
    kind = "" if name == "main" else "private "
    return f"func.func {kind}@{name}(%a: {T}) -> {T} {{\n{body}\nreturn {value} : {T} }}"


RECURSIVE = {
    "direct": ([function("main", "main")], "@main -> @main"),
    "of two": ([function("main", "f"), function("f", "main")], "@main -> @f -> @main"),
    "below main": ([function("main", "f"), function("f", "f")], "@f -> @f"),
    "of three": (
        [function("main", "f"), function("f", "g"), function("g", "h"), function("h", "f")],
        "@f -> @g -> @h -> @f",
    ),
    "by the second call": (
        [function("main", "f", "g"), function("f"), function("g", "f", "g")],
        "@g -> @g",
    ),
    "in a region": ([function("main", "main", wrapped=True)], "@main -> @main"),
    "in regions of two": (
        [function("main", "f", wrapped=True), function("f", "f", wrapped=True)],
        "@f -> @f",
    ),
    "by a composite": (
        [
            f"""func.func @main(%a: {T}) -> {T} {{
              %0 = stablehlo.composite "my.op" %a {{decomposition = @f}} : ({T}) -> {T}
              return %0 : {T} }}""",
            function("f", "main"),
        ],
        "@main -> @f -> @main",
    ),
    "behind a diamond": (
        [
            function("main", "f", "g"),
            function("f", "h"),
            function("g", "h"),
            function("h", "i"),
            function("i", "h"),
        ],
        "@h -> @i -> @h",
    ),
    "a long cycle": (
        [function("main", "f0"), *(function(f"f{n}", f"f{(n + 1) % 300}") for n in range(300))],
        "@f0 -> @f1 -> @f2",
    ),
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_check_calls_names_the_cycle(name):
    functions, cycle = RECURSIVE[name]
    with pytest.raises(Unsupported) as raised:
        import_program("\n".join(functions))
    assert "[func.call] " in str(raised.value)
    assert f"got the cycle {cycle}" in str(raised.value)


def test_check_calls_allows_recursion_that_main_never_reaches():
    made = import_program("\n".join([function("main", "g"), function("g"), function("f", "f")]))
    assert not made.operations


def nest_regions(count):
    head = f"func.func @main(%p: tensor<i1>, %x: {T}) -> {T} {{\n"
    opening = "".join(f'%r{n} = "stablehlo.if"(%p) ({{\n' for n in range(count))
    middle = f"%y = stablehlo.add %x, %x : {T}\nstablehlo.return %y : {T}\n"
    closing = "".join(
        f"}}, {{ stablehlo.return %x : {T} }}) : (tensor<i1>) -> {T}\n"
        f"{'stablehlo.return' if n else 'return'} %r{n} : {T}\n"
        for n in reversed(range(count))
    )
    return head + opening + middle + closing + "}"


def twice(count):
    """Return functions that each call the next one twice: 2^count operations."""
    functions = [function(f"f{n}", f"f{n + 1}", f"f{n + 1}") for n in range(count)]
    return "\n".join([function("main", "f0"), *functions, function(f"f{count}")])


def chain(count, *, wrapped):
    functions = [function(f"f{n}", f"f{n + 1}", wrapped=wrapped) for n in range(count)]
    return "\n".join([function("main", "f0"), *functions, function(f"f{count}")])


def large(operation, shape, operand=""):
    taken = f"%x: {operand.strip('()')}" if operand else ""
    types = f"{operand} -> {shape}" if operand else shape
    return (
        f"func.func @main({taken}) -> {shape} {{ %0 = {operation} : {types} return %0 : {shape} }}"
    )


HUGE = "tensor<10000000000xf32>"
WRAPS = "tensor<4294967296x4294967296x4xf32>"
TOO_LARGE = {
    "regions": (nest_regions(MAX_REGIONS + 1), r"\[stablehlo.add\] .*at most \d+ nested regions"),
    "many regions": (nest_regions(MAX_BRACKETS // 2 + 1), "nested brackets"),
    "regions that end a parser": (nest_regions(20_000), "at most 512 nested brackets, got 40002"),
    "types that end a parser": ("tuple<" * 100_000, "nested brackets"),
    "attributes": ("module attributes {a = " + "[" * 100_000, "nested brackets"),
    "strings do not count": ('module @"' + "(" * 600 + '" {', r"(?!.*brackets)"),
    "calls in regions": (chain(100, wrapped=True), "nested regions"),
    "levels of calls": (chain(1100, wrapped=False), r"\[func.call\] .*levels of calls"),
    "calls that double": (twice(60), r"\[func.call\] .*operations"),
    "a declaration": (
        f"func.func private @f({T}) -> {T}\n{function('main', 'f')}",
        r"\[func.call\] .*declaration @f",
    ),
    "a constant": (
        large("stablehlo.constant dense<1.0>", HUGE),
        r"\[stablehlo.constant\].*at most",
    ),
    "an iota": (large("stablehlo.iota dim = 0", HUGE), r"\[stablehlo.iota\].*at most"),
    "a product beyond 64 bits": (
        large("stablehlo.broadcast_in_dim %x, dims = []", WRAPS, "(tensor<f32>)"),
        r"\[stablehlo.broadcast_in_dim\].*at most",
    ),
    "a product that wraps to none": (
        large("stablehlo.reshape %x", "tensor<4294967296x4294967296xf32>", "(tensor<0xf32>)"),
        r"\[stablehlo.reshape\].*at most",
    ),
    "an argument": (
        f"func.func @main(%x: {HUGE}) -> {HUGE} {{ return %x : {HUGE} }}",
        "argument 0",
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_import_refuses_programs_beyond_the_limits(name):
    text, expected = TOO_LARGE[name]
    error = ValueError if name == "strings do not count" else Unsupported
    with pytest.raises(error, match=expected):
        import_program(text)


def test_import_accepts_programs_at_the_limits():
    assert build_plan(import_program(nest_regions(MAX_REGIONS)), 2).steps
    assert import_program(chain(300, wrapped=False)).returned


def test_plan_writes_regions_longer_than_the_stack():
    steps = "\n".join(f"%{n + 1} = stablehlo.sine %{n} : tensor<f32>" for n in range(1500))
    text = f"""func.func @main(%x: tensor<4x3xf32>, %z: tensor<f32>) -> {T} {{
      %r = "stablehlo.reduce"(%x, %z) ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %0 = stablehlo.add %a, %b : tensor<f32>
        {steps}
        stablehlo.return %1500 : tensor<f32>
      }}) {{dimensions = array<i64: 1>}} : (tensor<4x3xf32>, tensor<f32>) -> {T}
      return %r : {T} }}"""
    (kernel,) = build_plan(import_program(text), 2).iterate_kernels()
    assert kernel.text.count("shlo::sin(") == 1500


def test_verify_limits_indices_to_32_bits():
    wide = "low = [0], high = [-4294967296], interior = [4294967296]"
    text = f"""func.func @main(%x: tensor<2xf32>, %z: tensor<f32>) -> tensor<2xf32> {{
      %0 = stablehlo.pad %x, %z, {wide.replace("high = [-4294967296]", "high = [-4294967296]")}
        : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      return %0 : tensor<2xf32> }}"""
    with pytest.raises(Unsupported, match=r"\[stablehlo.pad\] .*padded and dilated sizes"):
        build_plan(import_program(text), 2)


def test_plan_of_more_memory_than_the_machine_has_names_the_operation():
    count, shape = 40, "tensor<2000000000xi64>"
    lines = "\n".join(f"%{n + 1} = stablehlo.negate %{n} : {shape}" for n in range(count))
    types = ", ".join([shape] * count)
    text = f"""func.func @main() -> ({types}) {{
      %0 = stablehlo.iota dim = 0 : {shape}
      {lines}
      return {", ".join(f"%{n + 1}" for n in range(count))} : {types} }}"""
    with pytest.raises(OutOfMemoryError, match=r"\[stablehlo.negate\] .*memory of this machine"):
        Executable(import_program(text), device="cpu")


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("condition", [ALWAYS, COMPUTED], ids=["constant", "computed"])
def test_run_limit_ends_an_endless_loop(condition, level):
    program = Executable(
        import_program(ENDLESS.replace("CONDITION", condition)),
        level=level,
        device="cpu",
        run_limit=0.05,
    )
    for _ in range(2):
        with pytest.raises(TimeLimitExceeded, match=r"\[stablehlo.while\] .* iterations: time lim"):
            program(np.ones(4, np.float32))


def test_run_limit_ends_an_endless_loop_in_a_loop_with_an_empty_body():
    inner = ENDLESS.replace("CONDITION", ALWAYS).replace("%a = stablehlo.add %v, %x : " + T, "")
    text = inner.replace("stablehlo.return %a", "stablehlo.return %v")
    with pytest.raises(TimeLimitExceeded, match=r"\[stablehlo.while\]"):
        Executable(import_program(text), device="cpu", run_limit=0.05)(np.ones(4, np.float32))


@pytest.mark.parametrize("condition", [ALWAYS, COMPUTED], ids=["constant", "computed"])
def test_interrupt_ends_an_endless_loop(condition):
    program = Executable(import_program(ENDLESS.replace("CONDITION", condition)), device="cpu")

    def interrupt():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        program(np.ones(4, np.float32))
    thread.join()


def test_hlo_run_has_a_time_limit(tmp_path):
    path = tmp_path / "endless.mlir"
    path.write_text(ENDLESS.replace("CONDITION", ALWAYS))
    command = [sys.executable, "-m", "metalbench", "hlo", "run", str(path), "--device", "cpu"]
    done = subprocess.run(
        [*command, "--time-limit", "0.1"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "[stablehlo.while]" in done.stderr
    assert "time limit of 0.1 s" in done.stderr


def broken(name, change):
    """Return a graph with a defect that a pass might cause."""
    text = {
        "add": f"%0 = stablehlo.add %x, %x : {T}",
        "slice": f"%0 = stablehlo.slice %x [0:4] : ({T}) -> {T}",
        "reverse": f"%0 = stablehlo.reverse %x, dims = [0] : {T}",
        "barrier": f"%0 = stablehlo.optimization_barrier %x : {T}",
        "transpose": f"%0 = stablehlo.transpose %x, dims = [0] : ({T}) -> {T}",
        "concatenate": f"%0 = stablehlo.concatenate %x, dim = 0 : ({T}) -> {T}",
    }[name]
    made = import_program(
        f"func.func @main(%x: {T}, %y: tensor<5xf32>) -> {T} {{ {text} return %0 : {T} }}"
    )
    if not made.operations:
        # MLIR has folded the operation.
        value = made.arguments[0]
        attributes = {
            "slice": {"start_indices": (0,), "strides": (1,)},
            "transpose": {"permutation": (0,)},
            "concatenate": {"dimension": 0},
        }.get(name, {})
        operation = Operation(name, [value], [], attributes, [], "here")
        operation.results = [type(value)(value.type, operation)]
        made.operations, made.returned = [operation], list(operation.results)
    change(made, made.operations[0])
    return made


def other_shape(made, operation):
    operation.operands[0] = made.arguments[1]


def unknown_value(made, operation):
    operation.operands[0] = type(made.arguments[0])(made.arguments[0].type)


def wrong_number(_, operation):
    operation.results[0].number = 1


MISTAKES = [
    *((name, other_shape) for name in ("add", "reverse", "barrier", "transpose", "concatenate")),
    *((name, unknown_value) for name in ("add", "slice")),
    ("slice", lambda _, operation: operation.attributes.update(start_indices=(1,))),
    ("add", wrong_number),
    ("add", lambda made, _: made.operations.clear()),
]


@pytest.mark.parametrize(("name", "change"), MISTAKES)
def test_verify_finds_mistakes_of_passes(name, change):
    with pytest.raises(GraphError, match="expected"):
        verify(broken(name, change))


def test_verify_refuses_a_barrier_of_several_operands():
    text = f"""func.func @main(%x: {T}, %y: tensor<5xf32>) -> ({T}, tensor<5xf32>) {{
      %0:2 = stablehlo.optimization_barrier %x, %y : {T}, tensor<5xf32>
      return %0#0, %0#1 : {T}, tensor<5xf32> }}"""
    made = import_program(text)
    verify(made)
    assert [each.name for each in made.operations] == ["optimization_barrier"] * 2
    first, second = made.operations
    first.operands += second.operands
    first.results += second.results
    for number, each in enumerate(first.results):
        each.operation, each.number = first, number
    made.operations = [first]
    with pytest.raises(GraphError, match="one operand"):
        verify(made)
