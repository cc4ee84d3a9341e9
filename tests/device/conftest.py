"""The device suite: the same tests on every device that this machine has."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from metalbench import _core


@pytest.fixture(params=_core.devices())
def device(request: pytest.FixtureRequest) -> _core.Device:
    return _core.open(request.param)


Compile = Callable[..., _core.Pipeline]


@pytest.fixture
def compile_kernel(device: _core.Device) -> Compile:
    """Compile a kernel's source, with the lines that every file begins with already there."""

    def compile_kernel(source: str, constants: dict | None = None, **options) -> _core.Pipeline:
        if options.get("checked") and not device.checked_builds:
            pytest.skip(f"the {device.kind} device has no checked builds")
        text = "#include <metal_stdlib>\nusing namespace metal;\n" + textwrap.dedent(source)
        options.setdefault("filename", "test.metal")
        return device.compile(text, **options).pipeline(constants=constants or {})

    return compile_kernel
