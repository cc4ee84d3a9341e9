"""Every family of MLX's kernels compiles."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mlx_kernels import wheel
from mlx_kernels.checks import CHECKS
from mlx_kernels.families import FAMILIES
from mlx_kernels.family import Family, Instance

from metalbench import _core

# What families that have a check run is compiled for it; the rest of their kernels takes a while.
RUN = {family.name for family, _ in CHECKS}


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] if each.name in RUN else [])
        for each in FAMILIES
    ],
)
def test_all_kernels_of_a_family_compile(family: Family, device: _core.Device, headers: Path):
    def failure(instance: Instance) -> str | None:
        try:
            family.pipeline(device, headers, instance)
        except _core.Error as problem:
            return f"{instance.name}: {problem}"
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(failure, family.instances) if text]
    assert not failures, "\n\n".join(failures)


def test_no_header_with_kernels_is_left_out(headers: Path):
    folder = headers / "mlx/backend/metal/kernels"
    named = "".join(instance.template + " " for f in FAMILIES for instance in f.instances)
    reached = {header for family in FAMILIES for header in family.headers}
    for path in folder.rglob("*.h"):
        has_kernels = "[[kernel]]" in path.read_text()
        name = str(path.relative_to(folder))
        if has_kernels and name not in reached and not name.startswith("reduction/"):
            pytest.fail(f"{name} has kernels, of which none is in a family ({named})")


def test_an_unreachable_wheel_is_reported(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setattr(wheel, "VERSION", "0.0.0")
    with pytest.raises(wheel.OutOfReachError, match=r"mlx-metal 0\.0\.0"):
        wheel.headers()
    assert not list(tmp_path.iterdir())
