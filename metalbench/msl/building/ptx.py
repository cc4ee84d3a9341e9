"""Kernels for NVIDIA GPUs: PTX, which the driver compiles for the GPU that it finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.compiler import Translate, assembly_of, generate, optimised
from metalbench.msl.building.shared_addresses import initialised_with_shared, store_at_run_time
from metalbench.msl.building.targets import NVPTX
from metalbench.msl.building.three_inputs import with_three_inputs
from metalbench.msl.building.toolchain import GPU_FLAGS, flags, toolchain
from metalbench.msl.matrices.lowering import has_matrices, with_tensor_cores
from metalbench.msl.rewriting.edits import Code

# Functions that the driver would have to find elsewhere; what lies in memory is the kernel's own.
_ATTRIBUTES = re.compile(r"^attributes #\d+ = \{", re.M)
_MISSING = re.compile(r"^\s*\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)


def ptx_of(code: Code, translate: Translate, *, fast_math: bool, spaces: bool) -> Path:
    """The PTX of lowered text, with the text beside it. Raises CompileError."""
    tools = replace(toolchain(), target=NVPTX)
    options = flags(checked=False, fast_math=fast_math, spaces=spaces, goal=NVPTX, passes=GPU_FLAGS)
    target = cache.path_of(cache.digest("ptx", tools.key, repr(options), code.text), ".ptx")
    as_it_is = [*options, "-Xclang", "-disable-llvm-passes"]
    ir = store_at_run_time(generate(code, tools, as_it_is, translate))
    if has_matrices(ir):
        ir = with_tensor_cores(optimised(ir, tools, translate, options))
        options = as_it_is
    ptx = with_three_inputs(assembly_of(ir, tools, translate, options))
    if initialised_with_shared(ptx):
        # LLVM makes a table of what a `switch` chooses from.
        ir = _ATTRIBUTES.sub(r'\g<0> "no-jump-tables"="true"', ir)
        ptx = with_three_inputs(assembly_of(ir, tools, translate, options))
    _check_complete(ptx, translate)
    _check_initialisers(ptx)
    for path, text in ((target.with_suffix(".cpp"), code.text), (target, ptx)):
        with cache.replacing(path) as made:
            made.write_text(text)
    return target


def _check_initialisers(ptx: str) -> None:
    """Raise CompileError for a constant that no GPU of NVIDIA's can be given."""
    names = initialised_with_shared(ptx)
    if names:
        raise CompileError(
            f"cuda: a constant holds the address of threadgroup memory ({', '.join(names)}), which "
            "PTX has no initialiser for; choose the pointer with `if` or arithmetic instead"
        )


def _check_complete(ptx: str, translate: Translate) -> None:
    """Nothing is linked to a kernel."""
    missing = dict.fromkeys(_MISSING.findall(ptx))
    if missing:
        said = "\n".join(f"undefined symbol: {name}" for name in missing)
        raise CompileError(translate.linker(said) or said)
