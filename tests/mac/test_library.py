"""All kernels of the library are built for macOS, with checks and without, as they are here.

All but a few are slow.
"""

from __future__ import annotations

import pytest
from arm64.emulated import program_of
from mac.macos import building_for_macos

from metalbench.kernel.library import Library
from metalbench.msl import engine
from metalbench.msl.toolchain.clang import TOOLS

LIBRARY = {entry.name: entry for entry in Library()}
FEW = ("relu", "softmax")
pytestmark = pytest.mark.whole


@pytest.mark.parametrize(
    "name",
    [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in LIBRARY if name not in FEW)],
)
def test_a_kernel_has_the_same_execution_mode_as_here(name: str, tmp_path) -> None:
    kernel = LIBRARY[name].kernel()
    functions = program_of(kernel).functions
    here = {function: engine.build(program_of(kernel), function).engine for function in functions}
    with building_for_macos(tmp_path):
        program = program_of(kernel)
        for function in functions:
            built = engine.build(program, function)
            assert (built.engine, "error" in built.reason) == (here[function], False)
            if built.engine == "vectors":
                assert built.entry(built.widths[0] if built.widths else 32, bool(built.widths))


@pytest.mark.parametrize(
    "name",
    ["relu", *(pytest.param(name, marks=pytest.mark.slow) for name in LIBRARY if name != "relu")],
)
def test_a_kernel_is_built_with_all_checks(name: str, tmp_path) -> None:
    with building_for_macos(tmp_path):
        program = program_of(LIBRARY[name].kernel())
        for function in program.functions:
            assert engine.build(program, function, checked=True, tools=TOOLS).engine == "fibers"
