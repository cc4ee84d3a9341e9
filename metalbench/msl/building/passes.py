"""LLVM's passes that the module of all lanes is not put through once more.

It is made of code that went through all of them as one lane's; they find next to nothing in it and
take about a tenth of the time that machine code is made in. Kept is what the vectors themselves
leave to be done: variables into registers, addresses out of loops, what was computed twice.
"""

from __future__ import annotations

import re

from metalbench.msl.building.toolchain import Toolchain

_FIRST_WITH_OPTION = 22  # of clang's versions
_LEFT_OUT = (
    # Of a module: what is known of functions' arguments and of globals.
    *("ipsccp", "called-value-propagation", "globalopt", "openmp-opt", "inject-tli-mappings"),
    # Of loops, in the form that they have been given.
    *("indvars", "loop-idiom", "loop-deletion", "loop-rotate", "loop-unroll", "loop-unroll-full"),
    *("loop-distribute", "loop-sink", "loop-instsimplify", "loop-simplifycfg", "loop-load-elim"),
    # Of scalars.
    *("sccp", "bdce", "adce", "memcpyopt", "reassociate", "vector-combine", "tailcallelim"),
    *("libcalls-shrinkwrap", "div-rem-pairs", "float2int", "lower-constant-intrinsics"),
    "alignment-from-assumptions",
)
_VERSION = re.compile(r"\bversion (\d+)")


def list_disabled_passes(tools: Toolchain) -> list[str]:
    """The flags beside VECTOR_FLAGS that say so, if this clang knows them; runs it once to ask."""
    version = _VERSION.search(tools.version)
    if version is None or int(version[1]) < _FIRST_WITH_OPTION:
        return []
    return ["-mllvm", f"-opt-disable={','.join(_LEFT_OUT)}"]
