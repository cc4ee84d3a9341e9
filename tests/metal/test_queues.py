"""Programs run while the host goes on, which waits only for the elements that it reads."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from metal.adding import ADD, dispatch

from metalbench import _core
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable, open_device, upload_array
from metalbench.hlo.runtime.kernels import find_kernels

pytestmark = pytest.mark.metal

PAGE_FAULT = 3  # of MTLCommandBufferError
MOST_IN_FLIGHT = 64
INCREMENT = """func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %r = stablehlo.add %x, %b : tensor<64xf32>
  return %r : tensor<64xf32>
}"""
SQUARE = """func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = stablehlo.multiply %x, %x : tensor<64xf32>
  return %r : tensor<64xf32>
}"""
# The place of a row is not known before, so that the loop is not one kernel.
LOOP = """func.func @main(%x: tensor<80x5xi8>) -> tensor<80x5xi8> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<80> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<80x5xi8>
    cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
         %last = stablehlo.constant dense<79> : tensor<i32>
         %k = stablehlo.minimum %i, %last : tensor<i32>
         %f = stablehlo.convert %i : (tensor<i32>) -> tensor<i8>
         %row = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<i8>) -> tensor<1x5xi8>
         %u = stablehlo.dynamic_update_slice %v, %row, %k, %zero
           : (tensor<80x5xi8>, tensor<1x5xi8>, tensor<i32>, tensor<i32>) -> tensor<80x5xi8>
         stablehlo.return %j, %u : tensor<i32>, tensor<80x5xi8> }
  return %r#1 : tensor<80x5xi8>
}"""

# A loop that ends when the largest of 4 elements is 0.5 or less, and counts its iterations.
HALVE = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0.5> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %r:2 = stablehlo.while(%v = %x, %i = %zero) : tensor<4xf32>, tensor<i32>
    cond { %m = stablehlo.reduce(%v init: %none) applies stablehlo.maximum across dimensions = [0]
             : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
           %p = stablehlo.compare GT, %m, %least : (tensor<f32>, tensor<f32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %a = stablehlo.multiply %v, %half : tensor<4xf32>
         %j = stablehlo.add %i, %one : tensor<i32>
         stablehlo.return %a, %j : tensor<4xf32>, tensor<i32> }
  return %r#0, %r#1 : tensor<4xf32>, tensor<i32>
}"""


@pytest.fixture(autouse=True)
def forget_device() -> Iterator[None]:
    """Release what programs share, so that no object of Metal is left."""
    yield
    find_kernels.cache_clear()
    open_device.cache_clear()
    gc.collect()


@pytest.fixture
def increment() -> Executable:
    """A program that adds 1, and whose first run is over."""
    program = Executable(import_program(INCREMENT), device="metal")
    program.run([upload(program, 0)])
    return program


def upload(program: Executable, value: float) -> _core.Buffer:
    return upload_array(program.queue, np.full(64, value, np.float32))


def fill(value: float) -> bytes:
    return np.full(64, value, np.float32).tobytes()


def read(program: Executable, buffer: _core.Buffer) -> float:
    """Return the value that all elements have."""
    found = np.frombuffer(program.queue.read(buffer), np.float32)
    assert (found == found[0]).all()
    return float(found[0])


def interrupt_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_the_host_waits_for_none_of_many_programs(increment, metal_double) -> None:
    commits, ended = metal_double.get("commits"), metal_double.get("command_buffers")
    # The GPU begins none of them before the reset.
    metal_double.set("hang_command_buffer")
    buffer = upload(increment, 0)
    for _ in range(MOST_IN_FLIGHT):
        (buffer,) = increment.submit([buffer])
    assert metal_double.get("commits") - commits == MOST_IN_FLIGHT
    assert metal_double.get("command_buffers") == ended
    metal_double.reset()
    assert read(increment, buffer) == MOST_IN_FLIGHT


def test_dependent_programs_run_in_order_and_few_are_in_flight(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 2e6)
    square = Executable(import_program(SQUARE), device="metal", queue=increment.queue)
    begin = metal_double.get("commits") - metal_double.get("command_buffers")
    buffer, expected, most = upload(increment, 0.5), np.float32(0.5), 0
    for number in range(300):
        # The order matters.
        program = square if number % 100 == 99 else increment
        (buffer,) = program.submit([buffer])
        expected = expected * expected if program is square else expected + np.float32(1)
        in_flight = metal_double.get("commits") - metal_double.get("command_buffers") - begin
        most = max(most, in_flight)
    assert read(increment, buffer) == expected
    assert 2 <= most <= MOST_IN_FLIGHT


def test_only_queue_read_waits_for_elements(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 50e6)
    given = upload(increment, 5)
    (stale,) = increment.submit([given])
    seen = stale.numpy("float32").copy()
    assert (seen[:64] != 6).all(), "the GPU has not begun"
    assert read(increment, stale) == 6


def test_reads_do_not_wait_for_later_programs(increment, metal_double) -> None:
    (first,) = increment.submit([upload(increment, 1)])
    assert read(increment, first) == 2
    ended = metal_double.get("command_buffers")
    metal_double.set("hang_command_buffer")
    (second,) = increment.submit([first])
    assert read(increment, first) == 2
    assert metal_double.get("command_buffers") == ended
    metal_double.reset()
    assert read(increment, second) == 3


def test_a_write_comes_after_the_programs_before_it(increment, metal_double) -> None:
    given = upload(increment, 1)
    metal_double.set("hang_command_buffer")
    (before,) = increment.submit([given])
    # Returns while the GPU has yet to read the old elements.
    increment.queue.write(given, fill(10))
    (after,) = increment.submit([given])
    increment.queue.write(given, fill(20))
    metal_double.reset()
    found = [read(increment, each) for each in (before, after, given)]
    assert found == [2, 11, 20]


def test_memory_of_a_program_in_flight_is_used_again_in_order(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 20e6)
    kept = []
    for value in range(8):
        # The argument's memory is free after the call, and the next one may get it.
        kept += increment.submit([upload(increment, value)])
    assert [read(increment, each) for each in kept] == list(range(1, 9))


def test_a_loop_updates_in_place_and_waits_for_nothing(metal_double) -> None:
    loop = Executable(import_program(LOOP), device="metal")
    rows = np.repeat(np.arange(80, dtype=np.int8), 5).reshape(80, 5)
    given = upload_array(loop.queue, np.full((80, 5), -1, np.int8))
    loop.run([given])
    metal_double.set("latency_in_ns", 1e6)
    commits, ended = metal_double.get("commits"), metal_double.get("command_buffers")
    metal_double.set("hang_command_buffer")
    (found,) = loop.submit([given])
    # Some kernels for each of 80 iterations, of 64 a command buffer, and one copy of the argument.
    assert 2 <= metal_double.get("commits") - commits <= 10
    assert metal_double.get("command_buffers") == ended
    metal_double.reset()
    np.testing.assert_array_equal(np.frombuffer(loop.queue.read(found), np.int8), rows.ravel())
    assert set(loop.queue.read(given)) == {255}


def test_a_loop_of_unknown_length_reads_several_conditions_at_once(
    metal_double, monkeypatch
) -> None:
    buffers = {}
    for groups in ("auto", "never"):
        monkeypatch.setenv("METALBENCH_HLO_LOOP_GROUPS", groups)
        program = Executable(import_program(HALVE), device="metal")
        before = metal_double.get("command_buffers")
        for count in (0, 1, 2, 3, 7, 8, 40):
            x = np.array([0.1, 0.2, 0.5 * 2.0**count, 0], np.float32)
            found, iterations = program(x)
            np.testing.assert_array_equal(found, x * np.float32(0.5) ** count)
            assert iterations == count
        buffers[groups] = metal_double.get("command_buffers") - before
    # A read ends a command buffer.
    assert 2 * buffers["auto"] < buffers["never"]


def test_a_failure_is_raised_by_the_next_wait(increment, metal_double) -> None:
    given = upload(increment, 1)
    metal_double.set("latency_in_ns", 20e6)
    metal_double.set("fail_command_buffer", PAGE_FAULT)
    (first,) = increment.submit([given])
    (second,) = increment.submit([first])
    words = r"^\[add_\d+\] Caused GPU Address Fault"
    with pytest.raises(_core.KernelFault, match=words):
        increment.queue.read(second)
    # The elements of neither exist, for a program as well.
    with pytest.raises(_core.KernelFault, match=words):
        increment.queue.read(first)
    with pytest.raises(_core.KernelFault, match=words):
        increment.submit([second])
    # What they did not write is as it was.
    (found,) = increment.submit([given])
    assert read(increment, found) == 2
    del first, second, found
    for value in range(10):
        (found,) = increment.run([upload(increment, value)])
        assert read(increment, found) == value + 1


def test_a_failure_names_its_kernel_not_a_later_one(increment, metal_double) -> None:
    square = Executable(import_program(SQUARE), device="metal", queue=increment.queue)
    square.run([upload(increment, 1)])
    metal_double.set("latency_in_ns", 20e6)
    metal_double.set("fail_command_buffer", PAGE_FAULT)
    (buffer,) = square.submit([upload(increment, 1)])
    (buffer,) = increment.submit([buffer])
    with pytest.raises(_core.KernelFault, match=r"^\[multiply_\d+\] "):
        increment.queue.read(buffer)


def test_a_missing_command_encoder_is_reported(increment, metal_double) -> None:
    metal_double.set("no_encoder")
    with pytest.raises(_core.Error, match=r"\[add_\d+\] Metal gives no command encoder"):
        increment.submit([upload(increment, 1)])
    metal_double.reset()
    assert read(increment, *increment.submit([upload(increment, 1)])) == 2


def test_ctrl_c_ends_a_read_of_a_hang(increment, metal_double) -> None:
    given = upload(increment, 1)
    metal_double.set("hang_command_buffer")
    (lost,) = increment.submit([given])
    timer = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        increment.queue.read(lost)
    timer.join()
    with pytest.raises(_core.Disturbed, match=r"^\[add_\d+\] the run was ended by Ctrl-C"):
        increment.queue.read(lost)
    del lost
    # The hang may still write to its memory, so no other program gets that.
    kept = []
    for value in range(4):
        kept += increment.submit([upload(increment, value)])
    assert [read(increment, each) for each in kept] == [1, 2, 3, 4]
    assert read(increment, given) == 1
    metal_double.reset()
    wait_until_ended(metal_double)
    assert [read(increment, each) for each in kept] == [1, 2, 3, 4]


def wait_until_ended(metal_double) -> None:
    deadline = time.monotonic() + 10
    while metal_double.get("commits") and time.monotonic() < deadline:
        if metal_double.get("command_buffers") >= metal_double.get("commits"):
            return
        time.sleep(0.01)


def test_ctrl_c_ends_the_wait_for_room(increment, metal_double) -> None:
    buffer = upload(increment, 0)
    metal_double.set("hang_command_buffer")
    for _ in range(MOST_IN_FLIGHT):
        (buffer,) = increment.submit([buffer])
    timer = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        increment.submit([buffer])
    timer.join()
    assert read(increment, *increment.submit([upload(increment, 1)])) == 2


def test_ctrl_c_loses_nothing_that_ends_soon(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 400e6)
    buffer = upload(increment, 0)
    for _ in range(3):
        (buffer,) = increment.submit([buffer])
    timer = interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        increment.queue.read(buffer)
    timer.join()
    assert read(increment, buffer) == 3


def test_a_time_limit_ends_a_run(metal_double) -> None:
    program = Executable(import_program(INCREMENT), device="metal", run_limit=0.2)
    program.run([upload(program, 0)])
    given = upload(program, 1)
    metal_double.set("hang_command_buffer")
    with pytest.raises(_core.TimeLimitExceeded, match=r"time limit"):
        program.run([given])
    assert read(program, *program.run([given])) == 2


def test_programs_on_a_new_queue_of_metal_wait_for_those_on_the_old_one(
    increment, metal_double
) -> None:
    other = Executable(import_program(SQUARE), device="metal", run_limit=0.2)
    other.run([upload(other, 1)])
    given = [upload(increment, 1), upload(other, 1)]
    metal_double.set("hang_command_buffer")
    (first,) = increment.submit(given[:1])
    # It is behind the hang, and gives up what Metal's queue has.
    with pytest.raises(_core.TimeLimitExceeded):
        other.run(given[1:])
    timer = threading.Timer(0.3, metal_double.reset)
    timer.start()
    (second,) = increment.submit([first])
    assert read(increment, second) == 3
    timer.join()


def test_programs_of_two_queues_on_two_threads(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 1e6)
    other = Executable(import_program(SQUARE), device="metal")
    other.run([upload(other, 1)])
    found = {}

    def work(program: Executable, value: float) -> None:
        buffer = upload(program, value)
        for _ in range(100):
            (buffer,) = program.submit([buffer])
        found[program] = read(program, buffer)

    threads = [threading.Thread(target=work, args=each) for each in ((increment, 0), (other, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {increment: 100, other: 1}


def test_threads_share_a_queue(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 1e6)
    found = {}

    def work(value: int) -> None:
        for _ in range(20):
            (buffer,) = increment.submit([upload(increment, value)])
            found.setdefault(value, set()).add(read(increment, buffer))

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {value: {value + 1} for value in range(4)}


def test_a_write_waits_for_the_programs_of_another_queue(increment, metal_double) -> None:
    other = Executable(import_program(SQUARE), device="metal")
    given = upload(increment, 3)
    metal_double.set("latency_in_ns", 30e6)
    (squared,) = other.submit([given])
    increment.queue.write(given, fill(5))
    (incremented,) = increment.submit([squared])
    assert read(increment, incremented) == 10
    assert read(other, given) == 5


def test_windows_and_programs_follow_one_another(increment, metal_double) -> None:
    device = increment.device
    add = device.compile(ADD, filename="add.metal").pipeline("add")
    metal_double.set("latency_in_ns", 20e6)
    (buffer,) = increment.submit([upload(increment, 1)])
    arguments = {"x": buffer, "step": np.float32(5)}
    device.run([_core.Dispatch(add, arguments, threads_in_grid=64, threads=32)])
    (buffer,) = increment.submit([buffer])
    assert read(increment, buffer) == 8


def test_an_array_of_the_host_lives_until_the_program_has_ended(increment, metal_double) -> None:
    array = np.full(4096, 2, np.float32)
    kept = weakref.ref(array)
    given = increment.device.buffer(array)
    assert given.shared
    metal_double.set("hang_command_buffer")
    (found,) = increment.submit([given])
    del array, given
    gc.collect()
    assert kept() is not None, "the GPU may still read it"
    metal_double.reset()
    assert read(increment, found) == 3
    gc.collect()
    assert kept() is None


def test_a_full_memory_waits_for_command_buffers(increment, metal_double) -> None:
    metal_double.set("latency_in_ns", 20e6)
    (buffer,) = increment.submit([upload(increment, 1)])
    metal_double.set("out_of_memory", 1)
    increment.queue.allocate(1 << 20)
    assert metal_double.get("command_buffers") == metal_double.get("commits")
    assert read(increment, buffer) == 2


def test_a_queue_may_end_before_its_programs(metal_double) -> None:
    program = Executable(import_program(INCREMENT), device="metal")
    program.run([upload(program, 0)])
    metal_double.set("latency_in_ns", 20e6)
    array = np.full(4096, 2, np.float32)
    device = program.device
    program.submit([device.buffer(array)])
    del program
    gc.collect()
    x = np.zeros(64, np.float32)
    add = device.compile(ADD, filename="add.metal").pipeline("add")
    device.run([dispatch(add, x, step=np.float32(2))])
    assert (x == 2).all()
