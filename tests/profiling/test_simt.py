"""The simulation of threadgroups: same results as the engine, and exact counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl import engine
from metalbench.msl.toolchain.analysis_ir import LANE, compile_for_analysis
from metalbench.profiling.gpu_work import DispatchWork, count_hits, measure_work
from metalbench.profiling.lane_code import LaneCode, UnsupportedCodeError, translate
from metalbench.profiling.simt import (
    LaunchSizes,
    SimulatedGroups,
    StepLimitError,
    ThreadSimulator,
    choose_groups,
    simulate,
)

THREADS = 64
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
ARGUMENTS = "device const float* x [[buffer(0)]], device float* y [[buffer(1)]]"
PLACES = (
    "uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], "
    "uint lane [[thread_index_in_simdgroup]]"
)


def compile_body(body: str) -> tuple[str, LaneCode]:
    source = f"{HEAD}kernel void f({ARGUMENTS}, {PLACES}) {{ {body} }}"
    module = compile_for_analysis(engine.parse(source).source, "f", {}, fast_math=True)
    return source, translate(module, module.function(LANE))


def simulate_body(body: str, threads: int = 256) -> tuple[SimulatedGroups, DispatchWork]:
    _, code = compile_body(body)
    x = np.arange(64 * threads, dtype=np.float32)
    sizes = LaunchSizes((threads, 1, 1), (THREADS, 1, 1), {})
    sample = simulate(code, sizes, {0: x, 1: np.zeros_like(x)})
    return sample, measure_work(code, sample, sizes)


def find_site(sample: SimulatedGroups, space: str) -> Any:
    return next(each for each in sample.sites if each.space == space and each.simdgroups)


BODIES = {
    "elementwise": "y[i] = exp(x[i]) * 0.5f + x[i];",
    "branch": "if (lane % 3 == 0) y[i] = x[i] + 1; else y[i] = x[i] * 2;",
    "loop": "float s = 0; for (uint k = 0; k < i % 7; ++k) s += x[k] * k; y[i] = s;",
    "early exit": "if (i > 100) return; y[i] = sqrt(x[i]);",
    "threadgroup": (
        "threadgroup float m[64]; m[t] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);"
        "y[i] = m[63 - t];"
    ),
    "barrier in loop": (
        "threadgroup float m[64]; m[t] = x[i];"
        "for (uint s = 32; s > 0; s /= 2) { threadgroup_barrier(mem_flags::mem_threadgroup);"
        " if (t < s) m[t] += m[t + s]; } if (t == 0) y[i / 64] = m[0];"
    ),
    "two tiles": (
        "threadgroup float a[10][18], b[8][9]; a[t / 16 + 1][t % 16 + 1] = x[i];"
        "b[t / 8][t % 8] = x[i] + 1; if (t < 16) a[9][t + 1] = a[0][t + 1] = 2;"
        "threadgroup_barrier(mem_flags::mem_threadgroup);"
        "y[i] = a[t / 16][t % 16 + 1] + a[9][1] + b[7 - t / 8][t % 8];"
    ),
    "simd": "y[i] = simd_sum(x[i]) + simd_shuffle_xor(x[i], 5) + simd_prefix_inclusive_sum(1.0f);",
    "simd in branch": "float v = 1; if (lane < 7) v = simd_max(x[i]); y[i] = v;",
    "private array": (
        "float a[16]; for (uint k = 0; k < 16; ++k) a[k] = x[i + k];"
        "uint at = i; for (uint k = 0; k < 9; ++k) { a[at % 16] += 1; at = at * 5 + 1; }"
        "y[i] = a[i % 16];"
    ),
    "vectors": "float4 v = ((device const float4*)x)[i]; y[i] = dot(v, v.wzyx) + v.y;",
    "integers": "uint k = i * 2654435761u; y[i] = float((k >> 7) % 11) + float(int(i) - 90) / 3;",
    "bits": "y[i] = popcount(i) + clz(i) + ctz(i) + reverse_bits(i) % 100 + mulhi(i << 20, 77u);",
    "half": "half h = half(x[i]) * 0.25h; y[i] = float(h);",
    "bfloat": "bfloat h = bfloat(x[i]); y[i] = float(h);",
    "matrix": (
        "simdgroup_float8x8 a, b, c(2.0f); simdgroup_load(a, x + i / 32 * 64, 8);"
        "simdgroup_load(b, x + 64, 8, 0, true); simdgroup_multiply_accumulate(c, a, b, c);"
        "simdgroup_store(c, y + i / 32 * 64, 8);"
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_simulator_has_the_results_of_the_engine(name: str) -> None:
    source, code = compile_body(BODIES[name])
    threads = 256
    x = (np.arange(8 * threads, dtype=np.float32) % 37) / 8
    sizes = LaunchSizes((threads, 1, 1), (THREADS, 1, 1), {})
    simulator = ThreadSimulator(code, sizes, {0: x, 1: np.zeros_like(x)}, range(threads // THREADS))
    simulator.run(100_000, 60)
    start = simulator.starts[1]
    got = simulator.memory[start : start + x.nbytes].view(np.float32)
    device = _core.open("cpu")
    pipeline = device.compile(source).pipeline("f")
    given, expected = device.buffer(x.copy()), device.buffer(np.zeros_like(x))
    arguments = {"x": given, "y": expected}
    device.run([_core.Dispatch(pipeline, arguments, threads_in_grid=threads, threads=THREADS)])
    np.testing.assert_allclose(got, expected.numpy("float32"), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("stride", "lines"), [(1, 1), (2, 2), (8, 8), (32, 32)])
def test_simulate_counts_lines_of_128_bytes(stride: int, lines: int) -> None:
    sample, work = simulate_body(f"y[i] = x[i * {stride}];")
    reads = find_site(sample, "device")
    assert reads.lines / reads.simdgroups == lines
    assert work.device_lines == lines + 1


@pytest.mark.parametrize(("stride", "turns"), [(1, 1), (2, 2), (16, 16), (31, 1), (32, 32)])
def test_simulate_counts_bank_turns(stride: int, turns: int) -> None:
    body = (
        f"threadgroup float m[2048]; m[t * {stride}] = x[i];"
        "threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = m[t ^ 1];"
    )
    sample, work = simulate_body(body)
    site = find_site(sample, "threadgroup")
    assert site.turns / site.simdgroups == turns
    assert work.barriers == 1


def simulator_of(body: str, threads: int = 64) -> ThreadSimulator:
    _, code = compile_body(body)
    x = np.arange(64 * threads, dtype=np.float32)
    sizes = LaunchSizes((threads, 1, 1), (THREADS, 1, 1), {})
    return ThreadSimulator(code, sizes, {0: x, 1: np.zeros_like(x)}, range(threads // THREADS))


FAR = 100_000_000


@pytest.mark.parametrize(
    "body",
    [
        f"y[i + {FAR}] = 5;",
        f"*(device packed_float4*)((device char*)y + {FAR} + 1) = 5;",
        f"atomic_fetch_add_explicit((device atomic_uint*)y + {FAR}, 1u, memory_order_relaxed);",
        f"atomic_fetch_max_explicit((device atomic_uint*)y + {FAR} + t, 1u, memory_order_relaxed);",
        (
            f"uint e = 0; atomic_compare_exchange_weak_explicit((device atomic_uint*)y + {FAR},"
            "&e, 7u, memory_order_relaxed, memory_order_relaxed);"
        ),
        f"simdgroup_float8x8 c(2.0f); simdgroup_store(c, y + {FAR}, 8);",
    ],
)
def test_simulator_drops_writes_outside_of_its_memory(body: str) -> None:
    simulator = simulator_of(body)
    before = simulator.memory.copy()
    simulator.run(10_000, 60)
    np.testing.assert_array_equal(simulator.memory[-4096:], before[-4096:])


def test_fill_and_copy_drop_writes_outside_of_the_memory() -> None:
    simulator = simulator_of("y[i] = x[i];")
    before, end = simulator.memory.copy(), simulator.memory.size
    simulator.fill(np.array([end - 2]), np.uint8(9), 8, 0, None)
    np.testing.assert_array_equal(simulator.memory[-2:], [9, 9])
    simulator.copy(np.array([-4]), np.array([end - 8]), 8, 1, 0, None)
    np.testing.assert_array_equal(simulator.memory[:4], before[-4:] | [0, 0, 9, 9])


LOOP = "float s = 0; for (uint k = 0; k < 1000 + i; ++k) s = s * s + x[k]; y[i] = s;"


@pytest.mark.parametrize(
    ("most_steps", "limit_s", "message"), [(100, 60, "100 steps"), (100_000, 0, "more than 0 s")]
)
def test_run_says_which_limit_ends_it(most_steps: int, limit_s: float, message: str) -> None:
    with pytest.raises(StepLimitError, match=message):
        simulator_of(LOOP).run(most_steps, limit_s)


def test_simulator_refuses_unknown_operations() -> None:
    simulator = simulator_of("y[i] = x[i];")
    with pytest.raises(UnsupportedCodeError, match="nand"):
        simulator.update("u4", "nand", 0, None, np.int64(64), np.uint32(1))
    with pytest.raises(UnsupportedCodeError, match="median"):
        simulator.combine("median", None, np.float32(1))


def test_simulate_does_not_hide_faults_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TypeError("no such kind")

    monkeypatch.setattr(ThreadSimulator, "load", fail)
    with pytest.raises(TypeError, match="no such kind"):
        simulate_body("y[i] = x[i];")


def test_simulate_counts_both_sides_of_a_divergent_branch() -> None:
    # Neither side can be a choice of values, as each has a loop.
    def side(count: int) -> str:
        return f"for (uint k = 0; k < {count}; ++k) s = s * x[k] + x[k + {count}];"

    runs = {}
    for name, condition in (("lanes", "lane < 16"), ("groups", "t < 32")):
        body = f"float s = 0; if ({condition}) {side(40)} else {side(41)} y[i] = s;"
        _, runs[name] = simulate_body(body)
    assert runs["lanes"].slots > 1.8 * runs["groups"].slots
    assert runs["lanes"].active_lanes < 0.6
    assert runs["groups"].active_lanes > 0.95


def test_simulate_counts_uniform_reads_as_one_line() -> None:
    sample, _ = simulate_body("y[i] = x[i / 32];")
    reads = find_site(sample, "device")
    assert reads.lines == reads.words == reads.simdgroups


def test_measure_work_finds_arrays_that_stay_in_memory() -> None:
    _, dynamic = simulate_body(BODIES["private array"])
    unrolled = "float a[4]; for (uint k = 0; k < 4; ++k) a[k] = x[i + k]; y[i] = a[0] + a[3];"
    _, constant = simulate_body(unrolled)
    assert dynamic.private_bytes == 64
    assert dynamic.private_lines > 9
    assert constant.private_bytes == constant.private_lines == 0


def test_measure_work_extrapolates_to_the_grid() -> None:
    _, small = simulate_body("y[i] = x[i];", threads=256)
    _, large = simulate_body("y[i] = x[i];", threads=64 * 256)
    assert large.threadgroups == 64 * small.threadgroups
    assert large.unique_written == 64 * small.unique_written
    assert large.slots == small.slots


def test_count_hits_is_that_of_a_cache_of_last_used_lines() -> None:
    trace = np.array([1, 2, 1, 3, 2, 1])
    # With two lines: 1 2 miss, 1 hits, 3 evicts 2, 2 evicts 1, 1 misses.
    assert count_hits(trace, 2) == pytest.approx(1 / 6)
    assert count_hits(trace, 3) == pytest.approx(3 / 6)


@pytest.mark.parametrize(("count", "most"), [(1, 4), (5, 5), (100, 7)])
def test_choose_groups_spreads_them(count: int, most: int) -> None:
    found = choose_groups(count, most)
    assert len(found) == len(set(found)) == min(count, most)
    assert 0 <= min(found) <= max(found) < count
