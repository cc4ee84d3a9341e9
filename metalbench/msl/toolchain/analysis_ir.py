"""Compile a kernel to the LLVM IR of one thread, for analyses of its speed on a GPU.

LLVM's own thresholds apply, as in Apple's compiler: loops are unrolled as LLVM decides, and an
array stays in memory if a loop over its elements is not unrolled. The flags differ from LLVM's
defaults where these depend on the processor: loops of unknown length are not unrolled, and indices
keep their width.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.frontend.constants import Value
from metalbench.msl.frontend.lower import is_metal4, lower
from metalbench.msl.frontend.source import Source
from metalbench.msl.ir.cut import PartitionedModule
from metalbench.msl.ir.module import Module
from metalbench.msl.toolchain.clang import CONVERGENT_FLAGS, find_toolchain, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, generate_ir, optimise
from metalbench.msl.toolchain.diagnostics import Diagnostics
from metalbench.msl.toolchain.host_calls import refuse_host_calls
from metalbench.msl.transforms.opaque_functions import make_functions_opaque

LANE = "mb_vector_source"
_FLAGS = (
    "-O2",
    *CONVERGENT_FLAGS,
    *("-fno-vectorize", "-fno-slp-vectorize"),
    # Metal's compiler inlines all functions.
    *("-mllvm", "-unroll-runtime=false"),
    *("-mllvm", "-indvars-widen-indvars=false"),
    # A GPU has no function that copies or fills memory.
    *("-mllvm", "-disable-loop-idiom-all"),
    "-DMB_VECTOR=1",
    # A thread has two elements of a matrix, as on a GPU.
    "-DMB_MATRIX_DISTRIBUTED=1",
    # The names and lines of variables.
    "-g",
    *("-Xclang", "-fexperimental-assignment-tracking=disabled"),
)


def compile_for_analysis(
    source: Source,
    function: str,
    constants: Mapping[str | int, Value],
    *,
    fast_math: bool,
    inline_all: bool = False,
) -> Module:
    """Return the optimised module whose function `LANE` is one thread of a kernel.

    Mathematical functions are opaque calls. With `inline_all` no function is too large to be
    inlined, which may take a minute for code of 100 000 instructions. Raise CompileError.
    """
    lowered = lower(source, function, constants)
    diagnostics = Diagnostics(source, lowered.code)
    translate = MessageTranslator(
        diagnostics.translate, check_ir=lambda ir: refuse_host_calls(ir, source, lowered.code)
    )
    tools = find_toolchain()
    flags = list_flags(
        checked=False,
        fast_math=fast_math,
        spaces=lowered.spaces,
        metal4=is_metal4(lowered.code.text),
        passes=_FLAGS,
    )
    flags += ["-mllvm", f"-inline-threshold={10_000_000 if inline_all else 20_000}"]
    if not source.tensor_layout:
        # The layout of cooperative tensors in which Apple's GPUs have them: four lanes share a row.
        flags.append("-DMB_TENSOR_LAYOUT=1")
    options = [each for each in flags if each != "-gline-tables-only"]
    parsing = [*options, "-Xclang", "-disable-llvm-passes"]
    whole = Module(generate_ir(lowered.code, tools, parsing, translate))
    exported = [name for name, each in whole.functions.items() if not each.linkage]
    module = PartitionedModule(whole, exported).part([LANE])
    make_functions_opaque(module)
    return Module(optimise(str(module), tools, translate, options))
