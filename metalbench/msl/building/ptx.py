"""Kernels for NVIDIA GPUs: PTX, which the driver compiles for the GPU that it finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.compiler import MessageTranslator, emit_assembly, generate_ir, optimise
from metalbench.msl.building.options import BUFFER_ALIGNMENT
from metalbench.msl.building.targets import NVPTX
from metalbench.msl.building.toolchain import GPU_FLAGS, find_toolchain, list_flags
from metalbench.msl.ir.module import Module
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.transforms.alignment import lower_alignment, raise_alignment
from metalbench.msl.transforms.lop3 import join_bitwise_operations
from metalbench.msl.transforms.shared_addresses import store_shared_addresses
from metalbench.msl.transforms.tensor_cores import lower_matrices

# Functions that the driver would have to find elsewhere; what lies in memory is the kernel's own.
_MISSING = re.compile(r"^\s*\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)
# What is initialised with the address of a variable.
_INITIALISED = re.compile(
    r"^\s*\.(?:visible |weak |global |const )[^\n]*=[^\n]*\bgeneric\(([\w$]+)\)", re.M
)


def ptx_of(
    code: TranslationUnit,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
    buffer_alignment: int = BUFFER_ALIGNMENT,
) -> Path:
    """Return the file with the PTX of lowered text, which lies beside it.

    Its buffers must begin at multiples of `buffer_alignment` bytes. Raises CompileError.
    """
    tools = replace(find_toolchain(), target=NVPTX)
    options = list_flags(
        checked=False, fast_math=fast_math, spaces=spaces, goal=NVPTX, passes=GPU_FLAGS
    )
    target = cache.locate_file(
        cache.digest("ptx", tools.key, repr(options), str(buffer_alignment), code.text), ".ptx"
    )
    as_it_is = [*options, "-Xclang", "-disable-llvm-passes"]
    generated = Module(generate_ir(code, tools, as_it_is, translate))
    store_shared_addresses(generated)
    lower_alignment(generated)

    def compiled(module: Module) -> str:
        optimised = Module(optimise(str(module), tools, translate, options))
        lower_matrices(optimised)
        raise_alignment(optimised, buffer_alignment)
        join_bitwise_operations(optimised)
        return emit_assembly(str(optimised), tools, translate, as_it_is)

    ptx = compiled(generated)
    if initialised_with_shared(ptx):
        # LLVM makes a table of what a `switch` chooses from.
        for name, attributes in generated.attribute_groups.items():
            generated.set_attribute_group(name, f'"no-jump-tables"="true" {attributes}')
        ptx = compiled(generated)
    _check_complete(ptx, translate)
    _check_initialisers(ptx)
    for path, text in ((target.with_suffix(".cpp"), code.text), (target, ptx)):
        with cache.write_atomically(path) as made:
            made.write_text(text)
    return target


def initialised_with_shared(ptx: str) -> list[str]:
    """Return the variables of threadgroup memory that initialisers in PTX have addresses of."""
    return [
        name
        for name in dict.fromkeys(_INITIALISED.findall(ptx))
        if re.search(
            rf"^\s*(?:\.extern |\.visible )?\.shared [^\n]*\b{re.escape(name)}\[", ptx, re.M
        )
    ]


def _check_initialisers(ptx: str) -> None:
    """Raise CompileError for a constant that no GPU of NVIDIA's can be given."""
    names = initialised_with_shared(ptx)
    if names:
        raise CompileError(
            f"cuda: a constant holds the address of threadgroup memory ({', '.join(names)}), which "
            "PTX has no initialiser for; choose the pointer with `if` or arithmetic instead"
        )


def _check_complete(ptx: str, translate: MessageTranslator) -> None:
    """Nothing is linked to a kernel."""
    missing = dict.fromkeys(_MISSING.findall(ptx))
    if missing:
        said = "\n".join(f"undefined symbol: {name}" for name in missing)
        raise CompileError(translate.linker(said) or said)
