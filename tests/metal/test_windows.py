"""Windows on the GPU: their times, how they fail, and that the device stays usable."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from metal.adding import dispatch

from metalbench import _core

pytestmark = pytest.mark.metal

# MTLCommandBufferError
INTERNAL, TIMEOUT, PAGE_FAULT, ACCESS_REVOKED = 1, 2, 3, 4
NOT_PERMITTED, OUT_OF_MEMORY, INVALID_RESOURCE, MEMORYLESS = 7, 8, 9, 10
DEVICE_REMOVED, STACK_OVERFLOW = 11, 12
# The driver's, which are INTERNAL to Metal: 100 and its number.
IGNORED, INNOCENT_VICTIM, IMPACTING_INTERACTIVITY = 104, 105, 114


def still_works(metal, add):
    x = np.zeros(64, np.float32)
    metal.run([dispatch(add, x, step=np.float32(2))])
    assert (x == 2).all()


def sample(metal, dispatches, reference=None, **options):
    plan = {"max_pairs": 8, "warmup_ns": 0, "window_ns": 1e5, "time_limit_ns": 1e9, **options}
    return metal.sample(dispatches, reference, **plan)


def test_passes_within_a_command_buffer_are_one_setup_and_a_message_each(
    metal, add, metal_double, tmp_path
):
    x = np.zeros(32, np.float32)
    calls = []
    for passes in (1, 2, 61):
        before = metal_double.get("encoder_calls")
        path = str(tmp_path / f"{passes}.gputrace")
        metal.capture([dispatch(add, x, step=np.float32(1))], path, passes=passes)
        calls.append(metal_double.get("encoder_calls") - before)
    assert [calls[1] - calls[0], calls[2] - calls[0]] == [1, 60]
    assert (x == 64).all()


@pytest.mark.parametrize(
    ("passes", "dispatches", "buffers"),
    [(1, 1, 1), (64, 1, 1), (65, 1, 2), (1000, 1, 5), (33, 2, 2), (3, 64, 2), (1, 100, 1)],
)
def test_a_long_window_is_several_command_buffers_of_growing_length(
    metal, add, metal_double, tmp_path, passes, dispatches, buffers
):
    x = np.zeros(32, np.float32)
    before = metal_double.get("command_buffers")
    one = dispatch(add, x, step=np.float32(1))
    metal.capture([one] * dispatches, str(tmp_path / "x.gputrace"), passes=passes)
    assert metal_double.get("command_buffers") - before == buffers
    assert (x == passes * dispatches).all()


def test_the_gpu_works_while_the_host_encodes(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("no_engine", 4e3)
    metal_double.set("latency_in_ns", 1e3)
    one, other = (dispatch(add, x, step=np.float32(step)) for step in (1, 2))
    plan = {"candidate_window": 1000, "max_pairs": 21}
    # A second function, so that each window is taken for itself.
    samples = sample(metal, [one, other], lambda passes: None, reference_window=1, **plan)
    # The least disturbed ones of a machine that does other things as well.
    window_ns, encode_ns = samples.wall_ns.min() * 1000, np.median(samples.encode_ns)
    gpu_ns = samples.device_ns.min() * 1000
    assert gpu_ns == pytest.approx(2 * 1000 * 4e3, rel=0.01)
    # All but what is encoded before the first of them, and after the last.
    assert window_ns < gpu_ns + 0.5 * encode_ns


def test_a_fault_of_a_command_buffer_belongs_to_its_window(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    for nth in (1, 2, 3):
        metal_double.set("fail_command_buffer", INTERNAL)
        metal_double.set("fail_command_buffer_count", nth)
        with pytest.raises(_core.KernelFault, match="Internal Error"):
            sample(metal, [dispatch(add, x, step=np.float32(1))], candidate_window=300)
    still_works(metal, add)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (PAGE_FAULT, _core.KernelFault, r"^\[add\] Caused GPU Address Fault Error"),
        (ACCESS_REVOKED, _core.Disturbed, r"^\[add\] Ignored .* not to blame, run it again"),
        (IGNORED, _core.Disturbed, r"^\[add\] Ignored .* not to blame, run it again"),
        (INNOCENT_VICTIM, _core.Disturbed, r"^\[add\] Discarded .*: the fault of other work"),
        (IMPACTING_INTERACTIVITY, _core.Disturbed, r"^\[add\] Impacting .* for the screen"),
        (NOT_PERMITTED, _core.KernelFault, r"^\[add\] Insufficient Permission"),
        (INVALID_RESOURCE, _core.KernelFault, r"^\[add\] Invalid Resource"),
        (MEMORYLESS, _core.KernelFault, r"^\[add\] Memoryless"),
        (DEVICE_REMOVED, _core.KernelFault, r"^\[add\] Device Removed"),
        (STACK_OVERFLOW, _core.KernelFault, r"^\[add\] Stack Overflow"),
        (INTERNAL, _core.KernelFault, r"^\[add\] Internal Error"),
        (TIMEOUT, _core.TimeLimitExceeded, r"^\[add\] Caused GPU Timeout Error"),
        (OUT_OF_MEMORY, _core.Error, r"^\[add\] Insufficient Memory.*use smaller sizes"),
    ],
)
def test_a_failed_command_buffer_is_an_error(metal, add, metal_double, code, error, words):
    x = np.zeros(32, np.float32)
    metal_double.set("fail_command_buffer", code)
    with pytest.raises(error, match=words):
        metal.run([dispatch(add, x, step=np.float32(1))])
    still_works(metal, add)


@pytest.mark.parametrize("code", [TIMEOUT, ACCESS_REVOKED, OUT_OF_MEMORY])
def test_an_error_code_of_another_domain_is_not_interpreted(metal, add, metal_double, code):
    x = np.zeros(32, np.float32)
    metal_double.set("foreign_errors")
    metal_double.set("fail_command_buffer", code)
    with pytest.raises(_core.KernelFault, match=rf"^\[add\] .* \(DoubleErrorDomain {code}\)$"):
        metal.run([dispatch(add, x, step=np.float32(1))])
    still_works(metal, add)


def test_a_failure_within_a_plan_ends_the_plan(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("fail_command_buffer", PAGE_FAULT)
    with pytest.raises(_core.KernelFault, match="add"):
        sample(metal, [dispatch(add, x, step=np.float32(1))])
    still_works(metal, add)


def test_a_hang_is_reported_and_its_memory_stays_alive(metal, add, metal_double):
    x = np.zeros(4096, np.float32)
    kept = weakref.ref(x)
    held = dispatch(add, x, step=np.float32(1))
    del x
    metal_double.set("hang_command_buffer")
    words = r"^time limit of 0\.05 s reached: the GPU is still busy with \[add\]"
    with pytest.raises(_core.TimeLimitExceeded, match=words):
        metal.run([held], time_limit=0.05)
    del held
    gc.collect()
    assert kept() is not None, "the GPU may still write to it"
    still_works(metal, add)
    metal_double.reset()
    deadline = time.monotonic() + 10
    while kept() is not None and time.monotonic() < deadline:
        still_works(metal, add)
        gc.collect()
    assert kept() is None


def test_windows_after_a_hang_are_not_awaited(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("hang_command_buffer")
    commits = metal_double.get("commits")
    ended = metal_double.get("command_buffers")
    with pytest.raises(_core.TimeLimitExceeded):
        sample(metal, [dispatch(add, x, step=np.float32(1))], max_pairs=1000, kernel_time_limit=0.2)
    assert metal_double.get("commits") - commits < 10, "the rest of the plan is not run"
    assert metal_double.get("command_buffers") == ended
    still_works(metal, add)


def test_windows_after_a_fault_do_not_run(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("fail_command_buffer", PAGE_FAULT)
    with pytest.raises(_core.KernelFault, match=r"^\[add\] Caused GPU Address Fault"):
        sample(metal, [dispatch(add, x, step=np.float32(1))], candidate_window=1)
    assert (x == 0).all(), "the driver throws away what the queue has"
    still_works(metal, add)


def test_ctrl_c_ends_a_hang(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("hang_command_buffer")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        metal.run([dispatch(add, x, step=np.float32(1))], time_limit=60)
    timer.join()
    still_works(metal, add)


def test_ctrl_c_ends_a_plan_of_short_windows(metal, add):
    x = np.zeros(32, np.float32)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    plan = [dispatch(add, x, step=np.float32(1))]
    with pytest.raises(KeyboardInterrupt):
        sample(metal, plan, max_pairs=1 << 20, time_limit_ns=60e9)
    timer.join()
    still_works(metal, add)


@pytest.mark.parametrize("what", ["zero_gpu_time", "reversed_gpu_time"])
def test_an_impossible_time_is_an_error(metal, add, metal_double, what):
    x = np.zeros(32, np.float32)
    metal_double.set(what)
    with pytest.raises(_core.Error, match=r"\[add\] Metal gives no usable GPU time: start .* end "):
        metal.run([dispatch(add, x, step=np.float32(1))])
    metal_double.reset()
    still_works(metal, add)


def test_counters_agree_with_the_command_buffers_times(metal, add):
    x = np.zeros(4096, np.float32)
    samples = sample(metal, [dispatch(add, x, step=np.float32(1))])
    np.testing.assert_allclose(samples.counter_ns, samples.device_ns, rtol=0.05)
    assert (samples.wall_ns > 0).all()
    assert (samples.encode_ns > 0).all()


@pytest.mark.parametrize("what", ["zero_counters", "error_counters", "reversed_counters"])
def test_failed_counters_are_nan(metal, add, metal_double, what):
    x = np.zeros(32, np.float32)
    metal_double.set(what)
    samples = sample(metal, [dispatch(add, x, step=np.float32(1))])
    assert np.isnan(samples.counter_ns).all()
    assert (samples.device_ns > 0).all()


def test_a_missing_command_encoder_is_reported(metal, add, metal_double):
    x = np.zeros(32, np.float32)
    metal_double.set("no_encoder")
    with pytest.raises(_core.Error, match=r"\[add\] Metal gives no command encoder"):
        metal.run([dispatch(add, x, step=np.float32(1))])
    metal_double.reset()
    still_works(metal, add)


def test_windows_of_two_threads(metal, add):
    arrays = [np.zeros(256, np.float32) for _ in range(4)]

    def work(x):
        for _ in range(20):
            metal.run([dispatch(add, x, step=np.float32(1))])

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x == 20).all() for x in arrays)
