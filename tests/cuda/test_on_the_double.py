"""The cuda device over a double of NVIDIA's driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
TIME_LIMIT_S = 600

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="NVIDIA's driver is for Linux, and so is its double",
)


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries, where programs look for them first."""
    from cuda_double.build import build

    folder = tmp_path_factory.mktemp("cuda_double")
    build(folder)
    return folder


def run(double: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python that finds the double where the driver would be."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=TESTS.parent,
        env={
            **os.environ,
            "PYTHONPATH": str(TESTS),
            "LD_LIBRARY_PATH": str(double),
            "CUDA_DOUBLE_KERNELS": str(double),
            "CUDA_DOUBLE": str(double / "libcuda.so.1"),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )


FAULTS = "tests/cuda/device/test_faults.py"


@pytest.mark.parametrize(
    "selected",
    [
        ("tests/cuda/device", f"--ignore={FAULTS}"),
        (f"{FAULTS}", "-k", "wild_store"),
        (f"{FAULTS}", "-k", "does_not_end"),
    ],
)
def test_the_device_on_the_double(double, selected):
    options = ["-p", "cuda_double.plugin", "-p", "no:cacheprovider", "-n0", "-q"]
    answer = run(double, "-m", "pytest", *options, *selected)
    if answer.returncode != 0:
        pytest.fail(answer.stdout, pytrace=False)


def test_a_gpu_is_listed_after_the_cpu_device(double):
    answer = run(double, "-c", "from metalbench import _core; print(_core.devices())")
    assert answer.stdout.strip() == "['cpu', 'cuda']"


def test_a_gpu_can_be_left_out(double):
    program = (
        "from metalbench import _core\nprint(_core.devices())\n"
        "try: _core.open('cuda')\nexcept _core.Unsupported as error: print(error)"
    )
    answer = run(double, "-c", program, METALBENCH_DEVICES="cpu")
    assert answer.stdout.splitlines() == [
        "['cpu']",
        "cuda: left out by METALBENCH_DEVICES=cpu; unset it, or use the `cpu` device",
    ]


def test_a_driver_without_a_gpu_says_so(double):
    program = (
        "from metalbench import _core\n"
        "try: _core.open('cuda')\nexcept _core.Unsupported as error: print(error)"
    )
    answer = run(double, "-c", program, CUDA_DOUBLE_NO_GPU="1")
    assert answer.stdout.strip() == ("cuda: NVIDIA's driver sees no GPU; use the `cpu` device")
