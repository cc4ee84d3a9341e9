"""Faults that make the GPU unusable for a process: each of these tests has a process."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

SUM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
# The number of iterations is an argument, so that the loop is not one kernel.
LOOP = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %a = stablehlo.add %v, %x : tensor<4xf32>
         stablehlo.return %j, %a : tensor<i32>, tensor<4xf32> }
  return %r#1 : tensor<4xf32>
}"""
WILD = (
    "kernel void wild(device float* y, uint i [[thread_position_in_grid]]) "
    "{ y[i + (1 << 29)] = 1; }"
)
ADD = "kernel void add(device float* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }"


def dispatch_of(pipeline, y):
    return _core.Dispatch(pipeline, {"y": y}, threads_in_grid=4, threads=4)


def test_a_wild_store_is_a_fault_with_kernel_and_error(device, compiled):
    y = np.ones(4, np.float32)
    wild, add = (dispatch_of(compiled(text), y) for text in (WILD, ADD))
    with pytest.raises(_core.KernelFault, match=r"\[wild\] CUDA_ERROR_ILLEGAL_ADDRESS.*again"):
        device.run([wild])
    np.testing.assert_array_equal(y, [1] * 4)
    assert "[wild]" in device.lost
    with pytest.raises(
        _core.Error, match=r"lost the GPU: \[wild\].*open the device again in another process"
    ):
        device.run([add])


def test_an_endless_kernel_loses_the_gpu(device, compiled, double):
    dispatch = dispatch_of(compiled(ADD), np.ones(4, np.float32))
    double.cuda_double_hang(1)
    with pytest.raises(_core.TimeLimitExceeded, match=r"\[add\] time limit of 0.01 s reached"):
        device.run([dispatch], time_limit=0.01)
    assert "time limit" in device.lost


def test_a_fault_while_no_kernel_runs_is_of_another_library(device, compiled, double):
    device.run([dispatch_of(compiled(ADD), np.ones(4, np.float32))])
    double.cuda_double_fail(b"cuMemAlloc_v2", 0, 700)
    with pytest.raises(
        _core.Disturbed, match=r"ILLEGAL_ADDRESS.*no kernel of metalbench was running.*MLX"
    ):
        device.allocate(64)
    assert "ILLEGAL_ADDRESS" in device.lost


def test_a_fault_of_a_queue_is_raised_where_the_host_waits(device, double):
    program = Executable(import_program(SUM), device="cuda")
    x = np.ones(4, np.float32)
    assert program(x)[0].tolist() == [2, 2, 2, 2]
    double.cuda_double_fail(b"cuEventQuery", 0, 700)
    with pytest.raises(_core.KernelFault, match=r"ILLEGAL_ADDRESS.*by a kernel that ran before"):
        program(x)
    with pytest.raises(_core.MachineError, match="lost the GPU"):
        program(x)


def test_a_fault_of_a_graph_is_raised_and_loses_the_gpu(device, double):
    program = Executable(import_program(LOOP), device="cuda")
    given = np.int32(100), np.ones(4, np.float32)
    assert program(*given)[0].tolist() == [101] * 4
    double.cuda_double_fail(b"cuGraphLaunch", 3, 700)
    with pytest.raises(
        _core.KernelFault, match="cannot launch kernels: CUDA_ERROR_ILLEGAL_ADDRESS"
    ):
        program(*given)
    with pytest.raises(_core.MachineError, match="lost the GPU"):
        program(*given)
