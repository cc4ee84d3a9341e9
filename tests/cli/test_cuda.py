"""Commands about NVIDIA GPUs, with and without one."""

from __future__ import annotations

import mlx.core as mx
import pytest

from metalbench import _core
from metalbench.cli.doctor import Health, _cuda


def test_doctor_explains_a_missing_gpu() -> None:
    if "cuda" in _core.devices():
        pytest.skip("this machine has a GPU")
    found = _cuda()
    assert found.health is Health.ABSENT
    assert "NVIDIA's driver was not found" in found.detail
    assert found.remedy == ""


def test_doctor_runs_a_kernel_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def open_cpu(kind: str) -> _core.Device:
        opened.append(kind)
        return real("cpu")

    real = _core.open
    monkeypatch.setattr(_core, "open", open_cpu)
    found = _cuda()
    assert opened == ["cuda"]
    assert found.health is Health.GOOD
    assert "cores; a trial kernel ran correctly" in found.detail
    assert "there is no ratio; `pip install 'mlx[cuda13]'`" in found.detail


def test_doctor_adds_no_hint_if_mlx_runs_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.open
    monkeypatch.setattr(_core, "open", lambda _: real("cpu"))
    monkeypatch.setattr(mx.cuda, "is_available", lambda: True)
    assert "mlx[cuda" not in _cuda().detail
