"""Custom calls of Python functions in StableHLO programs, without JAX."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import DispatchError, Unsupported
from metalbench.hlo.runtime import compilation
from metalbench.hlo.runtime.host_calls import register_function

X = np.arange(3, dtype=np.float32)


def source(identifier, effects="false"):
    return f"""func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
      %t = stablehlo.create_token : !stablehlo.token
      %y = stablehlo.add %x, %x : tensor<3xf32>
      %s, %z = stablehlo.custom_call @metalbench_host_call(%t, %y)
        {{backend_config = "{identifier}", has_side_effect = {effects}}}
        : (!stablehlo.token, tensor<3xf32>) -> (!stablehlo.token, tensor<3xf32>)
      %w = stablehlo.add %z, %x : tensor<3xf32>
      return %w : tensor<3xf32>
    }}"""


@pytest.mark.parametrize("level", [0, 2, 3])
def test_a_function_is_called_between_kernels(level):
    function = register_function(lambda token, x: [token, x[::-1]])
    program = hlo.compile(source(function.identifier), device="cpu", level=level)
    for _ in range(2):
        np.testing.assert_array_equal(program(X)[0], 2 * X[::-1] + X)
    assert "host_call, by the host" in program.executable.plan.format_steps()


def test_an_exception_of_a_function_is_that_of_the_run():
    def fail(*arrays):
        raise LookupError("nothing there")

    function = register_function(fail)
    program = hlo.compile(source(function.identifier), device="cpu")
    for _ in range(2):
        with pytest.raises(LookupError, match="nothing there"):
            program(X)


def test_results_that_do_not_fit_are_refused():
    for results, expected in (
        ([X], "expected 2 results .*, got 1"),
        ([np.zeros(0, bool), X[:2]], r"result 1: expected float32 \(3,\), got float32 \(2,\)"),
        ([np.zeros(0, bool), X.astype(int)], "got int64"),
    ):
        function = register_function(lambda *arrays, results=results: results)
        with pytest.raises(DispatchError, match=expected):
            hlo.compile(source(function.identifier), device="cpu")(X)


def test_a_function_of_another_process_is_refused_by_name():
    with pytest.raises(Unsupported, match=r"@metalbench_host_call .* of another process"):
        hlo.compile(source("0"), device="cpu")


def test_a_plan_with_a_function_is_not_stored(monkeypatch):
    stored = []
    monkeypatch.setattr(compilation, "store_plan", lambda *arguments: stored.append(arguments))
    function = register_function(lambda token, x: [token, x])
    hlo.compile(source(function.identifier), device="cpu")
    assert stored == []


def test_another_thread_runs_the_program_while_a_function_waits_for_it():
    def call(token, x):
        if x[1] != 2:
            return [token, x]
        other = threading.Thread(target=lambda: inner.append(program(X + 1)[0]))
        other.start()
        other.join(60)
        return [token, x + inner[0]]

    inner = []
    function = register_function(call)
    program = hlo.compile(source(function.identifier), device="cpu")
    np.testing.assert_array_equal(program(X)[0], 3 * X + 3 * (X + 1))


def test_unknown_calls_with_effects_are_refused_and_not_dropped():
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      stablehlo.custom_call @Unknown(%x) {has_side_effect = true} : (tensor<3xf32>) -> ()
      return %x : tensor<3xf32>
    }"""
    with pytest.raises(Unsupported, match="@Unknown has no kernel yet"):
        hlo.compile(text, device="cpu")
