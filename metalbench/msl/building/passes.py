"""Disable LLVM's passes that find nothing to do in a vectorised module.

The code of the module went through all passes as one lane's code. These passes find almost nothing
in it and take about a tenth of the time of code generation. The remaining passes handle the
vectors: promotion of variables, loop-invariant code motion, common subexpressions.
"""

from __future__ import annotations

import re

from metalbench.msl.building.toolchain import Toolchain

_FIRST_WITH_OPTION = 22  # of clang's versions
_DISABLED = (
    # Module passes: function arguments and globals.
    *("ipsccp", "called-value-propagation", "globalopt", "openmp-opt", "inject-tli-mappings"),
    # Loop passes.
    *("indvars", "loop-idiom", "loop-deletion", "loop-rotate", "loop-unroll", "loop-unroll-full"),
    *("loop-distribute", "loop-sink", "loop-instsimplify", "loop-simplifycfg", "loop-load-elim"),
    # Scalar passes.
    *("sccp", "bdce", "adce", "memcpyopt", "reassociate", "vector-combine", "tailcallelim"),
    *("libcalls-shrinkwrap", "div-rem-pairs", "float2int", "lower-constant-intrinsics"),
    "alignment-from-assumptions",
)
_VERSION = re.compile(r"\bversion (\d+)")


def list_disabled_passes(tools: Toolchain) -> list[str]:
    """Return the flags that disable these passes, if this clang has the option."""
    version = _VERSION.search(tools.version)
    if version is None or int(version[1]) < _FIRST_WITH_OPTION:
        return []
    return ["-mllvm", f"-opt-disable={','.join(_DISABLED)}"]
