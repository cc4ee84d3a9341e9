"""Print intermediate forms of a kernel as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.msl.engine import MslProgram

EMITTED = ("cpp", "ptx")
EMIT_HELP = "the C++ that one is compiled from off a GPU, the PTX of it for NVIDIA's"


def emit_text(
    what: str,
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, bool | int | float] | None = None,
    *,
    checked: bool = False,
    fast_math: bool = True,
) -> str:
    """Return the lowered C++ of a kernel ("cpp"), or its PTX ("ptx"), which cannot be checked.

    Raises CompileError as `engine.build` does.
    """
    from metalbench.msl import engine

    if what == "ptx":
        built = engine.build_for_gpu(program, function, constants, fast_math=fast_math)
        return Path(built.path).read_text(encoding="utf-8")
    built = engine.build(program, function, constants, checked=checked, fast_math=fast_math)
    return built.lowered
