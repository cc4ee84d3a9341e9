"""Queues of the cuda device: buffers stay on the GPU until the host asks for them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from metalbench import _core
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

# The place of a row is not known before, so that the loop is not one kernel.
LOOP = """func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<8> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8x4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %last = stablehlo.constant dense<7> : tensor<i32>
         %k = stablehlo.minimum %i, %last : tensor<i32>
         %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
         %row = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
         %u = stablehlo.dynamic_update_slice %v, %row, %k, %zero
           : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
         stablehlo.return %j, %u : tensor<i32>, tensor<8x4xf32> }
  return %r#1 : tensor<8x4xf32>
}"""
COPIES = (b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2", b"cuMemcpyDtoDAsync_v2")
on_the_double = pytest.mark.skipif("CUDA_DOUBLE" not in os.environ, reason="counts driver calls")


def test_a_program_with_a_loop_is_right():
    program = Executable(import_program(LOOP), device="cuda")
    given = np.full((8, 4), -1, np.float32)
    (found,) = program(given)
    np.testing.assert_array_equal(found, np.repeat(np.arange(8, dtype=np.float32), 4).reshape(8, 4))
    np.testing.assert_array_equal(given, -1)


@on_the_double
def test_only_arguments_and_results_are_copied(double):
    program = Executable(import_program(LOOP), device="cuda")
    program(np.zeros((8, 4), np.float32))
    before = [double.cuda_double_calls(each) for each in COPIES]
    program(np.zeros((8, 4), np.float32))
    copies = [
        double.cuda_double_calls(each) - old for each, old in zip(COPIES, before, strict=True)
    ]
    # The argument, the result, and the state's first version, which is the argument's memory.
    assert copies == [1, 1, 1]


@on_the_double
def test_results_stay_on_the_gpu(double):
    program = Executable(import_program(LOOP), device="cuda")
    buffer = program.queue.allocate(128)
    program.queue.write(buffer, bytes(128))
    before = [double.cuda_double_calls(each) for each in COPIES[:2]]
    found = [buffer]
    for _ in range(3):
        found = program.run(found)
    assert [double.cuda_double_calls(each) for each in COPIES[:2]] == before
    assert np.frombuffer(program.queue.read(found[0]), np.float32).sum() == 4 * 28


def test_views_of_the_host_see_what_kernels_write(device, compiled):
    pipeline = compiled(
        "kernel void add(device float* a, uint i [[thread_position_in_grid]]) { a[i] += 1; }"
    )
    buffer = device.allocate(16)
    dispatch = _core.Dispatch(pipeline, {"a": buffer}, threads_in_grid=4, threads=4)
    device.run([dispatch])
    assert buffer.numpy("float32").tolist() == [1, 1, 1, 1]
    view = buffer.numpy("float32")
    device.run([dispatch])
    assert view.tolist() == [2, 2, 2, 2]
    view[:] = 5
    device.run([dispatch])
    assert view.tolist() == [6, 6, 6, 6]
    del view
    device.run([dispatch])
    device.run([dispatch])
    assert buffer.numpy("float32").tolist() == [8, 8, 8, 8]
