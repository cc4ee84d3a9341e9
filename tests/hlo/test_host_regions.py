"""Parts of programs that the host's processors run next to a GPU."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from click.testing import CliRunner
from cuda_double.running import run_python
from hypothesis import Phase, given, settings
from random_programs import programs

from metalbench import hlo
from metalbench.cli import main
from metalbench.errors import DeclarationError, TimeLimitExceeded
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime import compilation
from metalbench.hlo.runtime.host_regions import build_split_plan, find_candidates


def sort(operand: str, shape: str) -> str:
    return f""""stablehlo.sort"({operand}) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }}) {{dimension = 0 : i64}} : (tensor<{shape}>) -> tensor<{shape}>"""


def two_sorts(size: int) -> str:
    """Return operations that sort `%x`, change it, and sort it to `%t`."""
    shape = f"{size}xf32"
    return f"""
  %s = {sort("%x", shape)}
  %two = stablehlo.constant dense<2.0> : tensor<{shape}>
  %d = stablehlo.multiply %s, %two : tensor<{shape}>
  %n = stablehlo.negate %d : tensor<{shape}>
  %t = {sort("%n", shape)}"""


def sorts_alone(size: int) -> str:
    return f"""func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  {two_sorts(size)}
  return %t : tensor<{size}xf32>
}}"""


# With the sorts a product, and then a sum of both.
CHAIN = f"""func.func @main(%x: tensor<64xf32>, %m: tensor<64x64xf32>)
    -> (tensor<64xf32>, tensor<64x64xf32>) {{
  {two_sorts(64)}
  %p = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %r = stablehlo.add %p, %b : tensor<64x64xf32>
  return %s, %r : tensor<64xf32>, tensor<64x64xf32>
}}"""


def loop(size: int, iterations: int, product: int) -> str:
    """Return a program with a loop of two products of `size`, and one of `product`."""
    small, large = f"tensor<{size}x{size}xf32>", f"tensor<{product}x{product}xf32>"
    return f"""func.func @main(%x: {small}, %m: {large}) -> ({small}, {large}) {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %count = stablehlo.constant dense<{iterations}> : tensor<i32>
      %scale = stablehlo.constant dense<0.125> : {small}
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, {small}
       cond {{
        %c = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %n = stablehlo.add %i, %one : tensor<i32>
        %p = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0]
          : ({small}, {small}) -> {small}
        %t = stablehlo.tanh %p : {small}
        %q = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0]
          : ({small}, {small}) -> {small}
        %s = stablehlo.multiply %q, %scale : {small}
        stablehlo.return %n, %s : tensor<i32>, {small}
      }}
      %p = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0]
        : ({large}, {large}) -> {large}
      return %r#1, %p : {small}, {large}
    }}"""


def chain_arguments() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=64).astype("f4"), random.normal(size=(64, 64)).astype("f4")]


def test_small_operations_between_sequential_ones_are_in_their_region():
    (candidate,) = find_candidates(import_program(CHAIN))
    names = [each.name for each in candidate.operations]
    assert names == ["constant", "sort", "multiply", "negate", "sort"]
    assert [each.type.shape for each in candidate.inputs] == [(64,)]
    # The first sort is a result of the program, the second an operand of the sum.
    assert len(candidate.outputs) == 2


def test_a_large_operation_on_the_path_divides_regions():
    first, second = find_candidates(import_program(sorts_alone(1 << 20)))
    assert [len(each.operations) for each in (first, second)] == [1, 1]


@pytest.mark.parametrize("level", [0, 2, 3])
def test_a_region_gives_the_same_bits(level):
    arguments = chain_arguments()
    expected = hlo.compile(CHAIN, device="cpu", level=level)(*arguments)
    program = hlo.compile(CHAIN, device="cpu", level=level, host="always")
    for _ in range(2):
        for each, wanted in zip(program(*arguments), expected, strict=True):
            np.testing.assert_array_equal(each, wanted)


def test_other_operations_run_between_the_begin_and_the_end():
    plan = build_split_plan(import_program(CHAIN), 2, device="cpu", choice="always")
    names = [each.operation.name for each in plan.steps]
    begin, end = names.index("host_begin"), names.index("host_end")
    assert "dot_general" in names[begin:end]
    assert names[end + 1 :] == ["add"]
    assert "on the host; estimated gain" in plan.format_steps()


@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(programs())
def test_regions_of_random_programs(example):
    check_regions(example)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(programs())
def test_regions_of_many_random_programs(example):
    check_regions(example)


def check_regions(example):
    expected = hlo.compile(example.text, device="cpu", level=0)(*example.arguments)
    found = hlo.compile(example.text, device="cpu", level=2, host="always")(*example.arguments)
    for each, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(each, wanted)


def test_a_stored_plan_has_its_regions():
    arguments = chain_arguments()
    block = import_program(CHAIN)
    plan = build_split_plan(block, 2, device="cpu", choice="always")
    key = compilation.compute_key("test of host regions", CHAIN)
    compilation.store_plan(key, plan, {})
    loaded, _ = compilation.load_plan(key)
    assert loaded.format_steps() == plan.format_steps()
    found = compilation.Executable(loaded, device="cpu")(*arguments)
    np.testing.assert_array_equal(found[0], np.sort(arguments[0]))


def test_a_time_limit_ends_a_region():
    text = loop(8, 2_000_000_000, 8)
    program = hlo.compile(text, device="cpu", host="always")
    program.executable.run_limit = 0.3
    arguments = [np.eye(8, dtype="f4"), np.eye(8, dtype="f4")]
    for _ in range(2):
        with pytest.raises(TimeLimitExceeded, match="while"):
            program(*arguments)


def test_the_gate_places_a_long_loop_on_a_small_state():
    plan = build_split_plan(
        import_program(loop(8, 2000, 2048)), 2, device="cuda", cores=132, choice="auto"
    )
    assert any(each.operation.name == "host_begin" for each in plan.steps)
    assert "on the host; estimated gain" in plan.decisions[0]


@pytest.mark.parametrize(
    "text",
    [
        # Too much work for the host, too short for its copies, and a sort with many threads.
        pytest.param(loop(512, 200, 512), id="large state"),
        pytest.param(loop(8, 2, 2048), id="short loop"),
        pytest.param(CHAIN, id="short sorts"),
        pytest.param(sorts_alone(1 << 18), id="long sorts"),
    ],
)
def test_the_gate_refuses_regions_that_do_not_pay(text):
    plan = build_split_plan(import_program(text), 2, device="cuda", cores=132, choice="auto")
    assert not any(each.operation.name == "host_begin" for each in plan.steps)
    assert plan.decisions
    assert all("on cuda; estimated gain" in each for each in plan.decisions)


def test_auto_changes_nothing_on_the_host_itself():
    plan = build_split_plan(import_program(CHAIN), 2, device="cpu", choice="auto")
    assert plan.decisions == []


def test_another_choice_is_refused():
    with pytest.raises(DeclarationError, match="host: expected never, auto, always, got 'yes'"):
        hlo.compile(CHAIN, device="cpu", host="yes")


def test_compile_prints_the_kernels_of_regions(tmp_path):
    model = tmp_path / "chain.mlir"
    model.write_text(CHAIN)
    command = ["hlo", "compile", str(model), "--device", "cuda", "--host", "always"]
    said = CliRunner().invoke(main, command)
    assert said.exit_code == 0, said.output
    device, host = said.output.split("// Kernels of host region 0")
    assert ("kernel void sort" in device, "kernel void sort" in host) == (False, True)
    said = CliRunner().invoke(main, [*command, "--emit", "plan"])
    assert "[stablehlo.sort]" in said.output
    assert "on the host; estimated gain" in said.output


# The double's processor has no matrix units, so there is no product.
ON_CUDA = f"""
import numpy as np
from metalbench import hlo

x = np.random.default_rng(0).normal(size=64).astype("f4")
text = {sorts_alone(64)!r}
program = hlo.compile(text, device="cuda", host="always")
assert "host_begin" in program.executable.plan.format_steps()
for _ in range(2):
    np.testing.assert_array_equal(program(x)[0], np.sort(-2 * x))
print("equal")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NVIDIA's driver is for Linux")
def test_a_region_next_to_a_gpu():
    """Check the copies between the host and a device with its own memory, over the double."""
    done = run_python("-c", ON_CUDA)
    assert done.returncode == 0, done.stdout
    assert done.stdout.strip().endswith("equal")
