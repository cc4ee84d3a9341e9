"""What checked builds are instrumented with: always what is cheap, the rest for tools that ask."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench._core import CompileError
from metalbench.msl.building.targets import Target

TOOLS = ("mem", "race", "init", "sync", "arithmetic")

# Copies of a whole struct, such as a float4 that does not pass through registers, are no loads and
# stores to the coverage pass; AddressSanitizer's pass turns them, and only them, into calls.
_CHECKED = (
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-DMB_CHECKED=1",
    "-fsanitize=alignment,array-bounds,integer-divide-by-zero",
    # The last member of a struct is as long as it says.
    "-fstrict-flex-arrays=3",
    # What is done through a null pointer is done, and so is seen.
    "-fno-delete-null-pointer-checks",
    # Messages name variables.
    "-fno-discard-value-names",
    # The check that fails is known by where it is.
    "-mllvm",
    "-enable-tail-merge=false",
    "-fsanitize-coverage=trace-loads,trace-stores,bb,trace-pc-guard",
    "-mllvm",
    "-asan-kernel-mem-intrinsic-prefix=1",
    "-mllvm",
    "-asan-stack=0",
    "-mllvm",
    "-asan-globals=0",
    "-mllvm",
    "-asan-instrument-reads=0",
    "-mllvm",
    "-asan-instrument-writes=0",
    "-mllvm",
    "-asan-instrument-atomics=0",
    "-mllvm",
    "-asan-instrument-byval=0",
)
# What Metal defines, and hardly anybody means.
_ARITHMETIC = ("-fsanitize=shift-exponent,float-cast-overflow",)


def chosen(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools among these names, in one order. Raises CompileError for others."""
    named = set(tools)
    if unknown := sorted(named - set(TOOLS)):
        raise CompileError(
            f"tools: expected some of {', '.join(TOOLS)}, got {', '.join(map(repr, unknown))}"
        )
    return tuple(each for each in TOOLS if each in named)


def checked_flags(goal: Target, tools: Iterable[str]) -> list[str]:
    """The compiler's flags of a checked build that these tools need."""
    arithmetic = _ARITHMETIC if "arithmetic" in tools else ()
    return [*goal.kernel_address, *_CHECKED, *arithmetic]


def following(options: Iterable[str]) -> list[str]:
    """The flags with which clang's front end marks what is to be followed, as it parses."""
    marked = [each.replace("kernel-address", "kernel-memory") for each in options]
    return [*marked, "-fno-sanitize-memory-param-retval", "-DMB_SHADOW=1"]


def followed(options: Iterable[str]) -> list[str]:
    """The flags with which clang has values followed, and hardly optimises before.

    Variables become values, which takes most of their cost away and says as much of them; whatever
    may conclude that a value which nothing gives is the one that is convenient comes later.
    """
    kept = [each for each in options if not each.startswith("-fsanitize-coverage")]
    return [*following(kept), "-mllvm", f"-opt-disable={','.join(_CONCLUDING)}"]


def as_checked(ir: str) -> str:
    """The module once values are followed, for the passes of all checked builds."""
    return ir.replace(" sanitize_memory", " sanitize_address")


# By their names in LLVM's pipelines.
_CONCLUDING = (
    "simplifycfg,ipsccp,globalopt,instcombine,called-value-propagation,early-cse,inline,"
    "function-attrs,speculative-execution,jump-threading,correlated-propagation,reassociate,"
    "loop-rotate,licm,simple-loop-unswitch,loop-simplifycfg,loop-instsimplify,loop-idiom,indvars,"
    "loop-deletion,loop-unroll-full,loop-unroll,sccp,bdce,dse,memcpyopt,tailcallelim,deadargelim,"
    "rpo-function-attrs,gvn,constraint-elimination,libcalls-shrinkwrap,mldst-motion,div-rem-pairs,"
    "loop-sink,instsimplify,globaldce,constmerge,float2int,lower-constant-intrinsics,"
    "loop-distribute,inject-tli-mappings,loop-vectorize,slp-vectorizer,vector-combine,"
    "transform-warning,infer-alignment,loop-load-elim,alignment-from-assumptions,expand-memcmp,"
    "openmp-opt,openmp-opt-cgscc,inferattrs,forceattrs,elim-avail-extern,cg-profile,"
    "rel-lookup-table-converter,callsite-splitting,lower-expect,loop-simplify,lcssa"
).split(",")
