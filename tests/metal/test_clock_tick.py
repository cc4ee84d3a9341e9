"""The resolution of a GPU's clock is seen in its times."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from metal_double.compiler import compiler

CSRC = Path(__file__).resolve().parents[2] / "csrc"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("clock_tick") / "clock_tick"
    sources = [Path(__file__).with_name("clock_tick.cpp"), CSRC / "core/clock_tick.cpp"]
    command = [*compiler(), "-std=c++20", f"-I{CSRC}", "-o", str(target)]
    subprocess.run([*command, *map(str, sources)], check=True)
    return target


def tick_ns(program: Path, seconds: list[float]) -> float:
    text = " ".join(map(repr, seconds))
    answer = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return float(answer.stdout)


def windows(tick_s: float, uptime_s: float) -> list[float]:
    """Starts and ends of 32 tiny windows, one after the other, on a clock of that resolution."""
    random = np.random.default_rng(0)
    steps = np.stack([random.uniform(20e-6, 200e-6, 32), random.uniform(1.5e-6, 6e-6, 32)], axis=1)
    return [float(t) for t in np.floor((uptime_s + steps.cumsum()) / tick_s) * tick_s]


@pytest.mark.parametrize("uptime_s", [10.0, 86_400.0, 1e6, 5e6])
@pytest.mark.parametrize("tick_s", [1 / 24e6, 1e-6, 1 / 3e6])
def test_the_tick_is_found_at_any_uptime(program, tick_s, uptime_s):
    found = tick_ns(program, windows(tick_s, uptime_s))
    assert found == pytest.approx(tick_s * 1e9, rel=1e-3)


@pytest.mark.parametrize("tick_s", [1e-9, 10e-9])
def test_a_fine_tick_is_found_soon_after_the_start(program, tick_s):
    assert tick_ns(program, windows(tick_s, 10.0)) == pytest.approx(tick_s * 1e9, rel=1e-2)


@pytest.mark.parametrize("seconds", [[], [1.0], [1.0, 1.0]])
def test_the_tick_of_uninformative_times_is_one(program, seconds):
    assert tick_ns(program, seconds) == 1
