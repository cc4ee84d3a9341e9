"""Results as the flow would hand them over, without a device."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from metalbench.measure.analysis import Occupancy, analyse
from metalbench.measure.measurement import ByWall, Measurement, OwnClock, SampleSet, StopReason
from metalbench.stats import assess, median_interval
from metalbench.store.result import Case, Check, DeviceFacts, Failure, Result, Status

CPU = DeviceFacts("cpu", "Example CPU", None, 2)


def case(task: str = "softmax", source: str = "kernel void softmax() {}\n") -> Case:
    return Case(
        task=task,
        set="common",
        description="Softmax over the last axis.",
        size="seed",
        sizes={"rows": 1024, "cols": 1024},
        dtype="float32",
        kernel=f"{task}.metal",
        source=source,
        source_hash=hashlib.sha256(source.encode()).hexdigest(),
        tunables={"TG": 128},
        reference="mx.softmax",
    )


def measurement(
    seed: int = 0, kernel_ns: float = 12_340.0, pairs: int = 64, reference: float = 2.0
) -> Measurement:
    random = np.random.default_rng(seed)
    samples = SampleSet(
        candidate_ns=kernel_ns * random.lognormal(0, 0.01, pairs),
        reference_ns=reference * kernel_ns * random.lognormal(0, 0.01, pairs),
        candidate_first=random.random(pairs) < 0.5,
        batch=np.arange(pairs) // 32,
        floor_ns=np.full(5, 700.0),
        candidate_window=82,
        reference_window=41,
        tick_ns=1.0,
    )
    judgement = assess(samples.reference_ns, samples.candidate_ns)
    return Measurement(
        samples=samples,
        candidate_ns=median_interval(samples.candidate_ns),
        reference_ns=median_interval(samples.reference_ns),
        ratio=judgement.ratio,
        verdict=judgement.verdict,
        judgement=judgement,
        stability=0.97,
        outliers=0,
        effective_pairs=float(pairs),
        floor_ns=700.0,
        stopped=StopReason.TIME,
    )


GPU = DeviceFacts("metal", "Apple M4", "m4", 10, {"family": "apple9", "unified_memory": True})
STATE = {"low_power_mode": False, "thermal_state": "nominal", "allocated_bytes": 12 * 2**20}


def on_gpu(result: Result, *, reference_timed: bool = False) -> Result:
    """The same from a GPU whose own clock shows nine tenths of the wall time.

    Of MLX, if it is timed, too (`reference_timed`),, three quarters.
    """
    measured = result.measurement
    assert measured is not None
    wall, theirs = measured.samples.candidate_ns, measured.samples.reference_ns
    own = OwnClock(
        device_ns=0.9 * wall,
        counter_ns=0.89 * wall,
        wall_ns=wall,
        encode_ns=np.full(wall.size, 15e3),
        reference_device_ns=(0.75 if reference_timed else np.nan) * theirs,
        reference_wall_ns=theirs,
        floor_ns=np.full(5, 500.0),
    )
    samples = replace(measured.samples, own=own, clock="device" if reference_timed else "wall")
    gpu_ns = median_interval(own.device_ns)
    timed = replace(measured, samples=samples, gpu_ns=gpu_ns, gpu_floor_ns=500.0)
    if reference_timed:
        timed = _by_gpu_time(timed, own)
    analysis = analyse(timed, 5 * 2.0**20, 8 * 2.0**20, simulated=False)
    return replace(result, device=GPU, measurement=timed, analysis=analysis, state=STATE)


def _by_gpu_time(measured: Measurement, own: OwnClock) -> Measurement:
    ours, theirs = own.device_ns, own.reference_device_ns
    judgement = assess(theirs, ours)
    assert measured.reference_ns is not None
    assert measured.ratio is not None
    return replace(
        measured,
        samples=replace(measured.samples, candidate_ns=ours, reference_ns=theirs),
        candidate_ns=median_interval(ours),
        reference_ns=median_interval(theirs),
        ratio=judgement.ratio,
        verdict=judgement.verdict,
        judgement=judgement,
        by_wall=ByWall(measured.candidate_ns, measured.reference_ns, measured.ratio),
    )


def correct(task: str = "softmax", seed: int = 0) -> Result:
    measured = measurement(seed)
    return Result(
        case=case(task),
        device=CPU,
        status=Status.CORRECT,
        checks=(
            Check("small", 0, True, 0.11, "y[3, 7]", "expected 0.5, got 0.5"),
            Check("odd1", 1, True, 0.42, "y[0, 0]", "expected 1, got 2"),
        ),
        occupancy=(Occupancy("softmax", (1024, 1, 1), (128, 1, 1), 1024, 64, 32768, 32),),
        measurement=measured,
        analysis=analyse(measured, 5 * 2.0**20, 8 * 2.0**20, simulated=True),
        seconds=3.2,
    )


def incorrect(task: str = "relu") -> Result:
    message = f"[{task}] y[4096, 1]: expected 0.25, got nan (17 of 4097 differ); size odd2, seed 1"
    return Result(
        case=case(task),
        device=CPU,
        status=Status.INCORRECT,
        failures=(Failure("verify", "Incorrect", message),),
        checks=(
            Check("small", 0, True, 0.2, "y[0]", ""),
            Check("odd2", 1, False, 17.5, "y[4096, 1]", message),
        ),
        seconds=0.4,
    )


def failed(task: str = "gelu") -> Result:
    message = f"{task}.metal:7:9: error: use of undeclared identifier 'tid'\n  x[tid] = 1;\n    ^"
    failure = Failure("compile", "CompileError", message)
    return Result(case=case(task), device=CPU, status=Status.FAILED, failures=(failure,))


def without_interval(result: Result) -> Result:
    """The same with so few samples that nothing carries an interval."""
    few = measurement(pairs=4)
    analysis = analyse(few, 1e6, 1e6, simulated=True)
    return replace(result, measurement=few, analysis=analysis)
