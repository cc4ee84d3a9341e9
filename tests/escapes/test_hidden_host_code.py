"""Host code is refused under every spelling, before any of it is loaded."""

from __future__ import annotations

import numpy as np
import pytest
from escapes.hidden_host_code import (
    ASSEMBLY,
    BUILTINS,
    IMPORTS,
    LINES,
    LINKAGES,
    NAMESPACES,
    STATICS,
    TAKEN,
)

from metalbench import _core

REFUSED = {
    f"{kind}: {name}": case
    for kind, cases in (
        ("assembly", ASSEMBLY),
        ("statics", STATICS),
        ("builtins", BUILTINS),
        ("lines", LINES),
        ("namespaces", NAMESPACES),
        ("linkages", LINKAGES),
        ("imports", IMPORTS),
    )
    for name, case in cases.items()
}

# Metal has lambda expressions from 4.0.
METAL_4 = {"__METAL_VERSION__": "400"}


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open("cpu")


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", REFUSED)
def test_every_spelling_is_refused(device: _core.Device, name: str, checked: bool) -> None:
    source, said = REFUSED[name]
    with pytest.raises(_core.CompileError, match=said) as caught:
        device.compile(source, filename="k.metal", macros=METAL_4, checked=checked).pipeline("k")
    assert "defect of metalbench" not in str(caught.value)
    assert "\n::" not in str(caught.value)


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", TAKEN)
def test_valid_source_similar_to_host_code_is_accepted(
    device: _core.Device, name: str, checked: bool
) -> None:
    values = np.zeros(1, np.float32)
    pipeline = device.compile(TAKEN[name], macros=METAL_4, checked=checked).pipeline("k")
    device.run([_core.Dispatch(pipeline, {"x": values}, threads_in_grid=1, threads=1)])
    assert values[0] == 2


def test_a_line_directive_does_not_stop_the_checks_of_a_checked_build() -> None:
    """The headers' own functions are not checked; whose they are, no directive decides."""
    source = (
        '#line 1 "/q/msl/mb/vec.h"\n'
        "float f(uint i) { float a[4] = {1, 2, 3, 4}; return a[i + 7]; }\n"
        "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = f(i); }\n"
    )
    device = _core.open("cpu")
    pipeline = device.compile(source, filename="k.metal", checked=True).pipeline("k")
    dispatch = _core.Dispatch(
        pipeline, {"x": np.zeros(1, np.float32)}, threads_in_grid=1, threads=1
    )
    with pytest.raises(_core.KernelFault, match=r"vec\.h:1: subscript out of bounds: 7 of `a`"):
        device.run([dispatch])
