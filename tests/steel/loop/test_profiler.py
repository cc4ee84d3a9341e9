"""The bound of a kernel, by measured figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from example_results import CPU, correct, measurement, on_gpu
from work_in_vain import KERNEL

from agent_steel.attempt import Attempt, Status
from agent_steel.loop.profiler import Profiler, diagnosis
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import Diagnosis
from agent_steel.roofline import measure_roofline
from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.measure.analysis import analyse
from metalbench.measure.device_limits import Peaks
from metalbench.profiling.prediction import find_gpu_chip
from metalbench.run.trial import device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Result
from metalbench.workers.pool import Workers

TWICE = parse(KERNEL, name="twice")


def timed(kernel_ns: float, flops: float, nbytes: float, floor_ns: float = 700.0) -> Result:
    measured = replace(measurement(kernel_ns=kernel_ns), floor_ns=floor_ns)
    analysis = analyse(measured, flops, nbytes, simulated=True)
    return replace(correct(), measurement=measured, analysis=analysis)


def facts(found: Diagnosis) -> dict[str, str]:
    return {each.name: each.value for each in found.facts}


ROOFS = Peaks(100.0, 10.0, "measured here")


@pytest.mark.parametrize(
    ("result", "roofs", "bound", "said"),
    [
        # 10^6 ns: 10^7 bytes at 10 GB/s, 10^8 operations at 100 GFLOP/s.
        (timed(2e6, 1e6, 1e7), ROOFS, "memory", "It reaches 50 % of that roof."),
        (
            timed(4e6, 1e8, 1e6),
            ROOFS,
            "compute",
            "It reaches 25 % of that roof: something else holds it back",
        ),
        (timed(0.1e6, 1e6, 1e7), ROOFS, "memory", "faster than that roof, as of what stays in"),
        (timed(800.0, 1e3, 1e3), ROOFS, "launch", "The launch bounds it".lower()),
        (timed(2e6, 1e6, 1e7), None, "unknown", "not known"),
    ],
)
def test_the_bound_follows_from_time_work_and_roofs(
    result: Result, roofs: Peaks | None, bound: str, said: str
) -> None:
    found = diagnosis(result, TWICE, roofs)
    assert found.bound == bound
    assert said in found.text
    assert "say nothing about a GPU" in found.text


def test_facts_come_from_measurement_launch_and_source() -> None:
    found = facts(diagnosis(timed(2e6, 1e6, 1e7), TWICE, ROOFS))
    assert found["time of one pass"].startswith("2.0")
    assert found["MLX / kernel"].startswith("2.0")
    assert found["throughput"] == "0.5 GFLOP/s, 5 GB/s"
    assert found["roofs"] == "100 GFLOP/s, 10 GB/s (measured here)"
    assert found["arithmetic intensity"] == "0.1 FLOP per byte"
    assert "of 128 threads (4 SIMD-groups;" in found["launch of softmax"]
    assert (found["loops in the file"], found["branches in the file"]) == ("1", "0")
    assert found["tunables"] == "TG = 128"


def test_a_gpus_time_is_its_own() -> None:
    result = on_gpu(correct())
    found = diagnosis(result, TWICE, None)
    assert "simulation" not in found.text
    assert "500 ns" in facts(found)["launch floor"]


def test_the_prompt_lists_earlier_failures() -> None:
    past = [
        Attempt(1, 1, "twice", "float32", "seed", None, 0, "", "a", status=Status.BASELINE),
        Attempt(
            *(2, 1, "twice", "float32", "seed", 1, 1, "", "b"),
            status=Status.WRONG,
            technique="half precision",
            error="y is wrong",
        ),
    ]
    found = facts(diagnosis(timed(2e6, 1e6, 1e7), TWICE, ROOFS, past))
    assert found["failed"] == "half precision: y is wrong"
    assert found["techniques tried"] == "1, kept: none"


@pytest.mark.slow
def test_the_roofs_of_this_machine_are_measured_in_confined_processes() -> None:
    device = device_facts(_core.open("cpu"))
    with Workers("cpu", Limits(120)) as workers:
        roofs = measure_roofline(workers, device, seconds=0.05)
    assert roofs is not None
    assert roofs.gflops > 0.1
    assert roofs.gbytes_per_s > 0.1


def test_measure_roofline_without_an_analysis_is_undefined() -> None:
    class Failing:
        def attempt(self, *_: object) -> Result:
            return replace(correct(), analysis=None)

    assert measure_roofline(Failing(), CPU) is None


def test_diagnose_lists_slow_places_of_the_code(
    subject: SearchSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Profiler, "measure", lambda *_: timed(2e6, 1e6, 1e7))
    array = "float a[16]; for (uint j = 0; j < 16; ++j) a[j] = x[i]; y[i] = a[uint(x[i]) & 15u];"
    end = KERNEL.rindex("}")
    slow = f"{KERNEL[:end]}\n{array}\n{KERNEL[end:]}"
    line = slow[: slow.index(array)].count("\n") + 1
    place = f"thread-array at twice.metal:{line} (`{array}`)"
    with Workers("cpu", Limits(120)) as workers:
        for source, expected in ((slow, [place]), (KERNEL, [])):
            attempt = Attempt(1, 1, "twice", "float32", "seed", None, 0, source, source)
            found = Profiler(workers, roofs=False).diagnose(subject, attempt, [])
            places = [each.value for each in found.facts if each.name == "slow code"]
            assert [each.split(": ")[0] for each in places] == expected


def test_diagnose_has_predictions_for_a_chip(
    subject: SearchSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Profiler, "measure", lambda *_: timed(2e6, 1e6, 1e7))
    attempt = Attempt(1, 1, "twice", "float32", "seed", None, 0, KERNEL, KERNEL)
    with Workers("cpu", Limits(120)) as workers:
        profiler = Profiler(workers, roofs=False, chips=[find_gpu_chip("m4")])
        found = profiler.diagnose(subject, attempt, [])
    facts = {each.name: each.value for each in found.facts}
    assert facts["predicted on Apple M4"].endswith("which is not a measurement")
    assert "dispatch" in facts["predicted time by cause"]
    assert facts["predicted slow line"].startswith("twice.metal:")
