"""Kernels of a text for these tests, as PTX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from cuda.ptx import Ptx, read

from metalbench.msl import engine

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


@pytest.fixture
def ptx_of() -> Callable[..., Ptx]:
    """Compile the one kernel of a text, without its first two lines."""

    def compiled(
        text: str,
        constants: Mapping[str | int, int] | None = None,
        *,
        fast_math: bool = True,
        macros: Mapping[str, str] | None = None,
    ) -> Ptx:
        program = engine.parse(HEAD + text, macros=macros)
        (name,) = program.functions
        return read(engine.build_for_gpu(program, name, constants, fast_math=fast_math).path)

    return compiled
