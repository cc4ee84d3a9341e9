"""What a compiled object may have: the loader is given nothing else to act on.

The last of three checks, and the one that no spelling of a source can pass by: before it are words
(reading/host_code.py) and what clang made of them (host_calls.py). An object is moved to its place
in the cache after this check alone, and processes load objects from there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import elf, mach_o
from metalbench.msl.building.targets import MACH_O, Target

# What clang itself calls for copies of structs and for filled arrays, and what os_log calls, by
# names that no source can say (csrc/msl/mb/cpu/log_line.h).
RUNTIME = frozenset({"memcpy", "memmove", "memset", "bzero", "snprintf", "write"})
_LOADER = frozenset({"dyld_stub_binder"})
# What the runtime looks for (csrc/cpu/module.cpp), and what vectors call in the object itself
# (emission); of several kernels, each with a number.
_EXPORT = re.compile(
    r"mb_(?:info|lanes|shadowed|span|thread|threadgroup_parts|vector_body)(?:_\d+)?"
    # Of Mach-O's linker.
    r"|_*dso_handle|_?mh_dylib_header"
)
# What a kernel tells of itself, and names that linkers define.
_OWN_VARIABLE = re.compile(
    r"_ZZ\d+mb_info(?:_\d+)?E4info|__(?:start|stop)_mb_(?:threadgroup|parts)"
    r"|__(?:start|stop)___sancov_guards|_DYNAMIC|_GLOBAL_OFFSET_TABLE_"
    # Of Mach-O's linker.
    r"|_*dso_handle|_mh_\w+|dyld_private|section\$(?:start|end)\$__DATA\$\w+"
)
# A checked build numbers its branches once, when it is loaded: clang's own function.
_NUMBERS_BRANCHES = "sancov.module_ctor_trace_pc_guard"


def check_imports(
    library: Path, target: Target, *, checked: bool, variables: Collection[str] = ()
) -> None:
    """Raise CompileError if a library has what no kernel needs; it must not be loaded then.

    `variables` are the exact names of the threadgroup's memory, and of what describes it.
    """
    found = (mach_o if target is MACH_O else elf).read_contents(library)
    faults = []
    if wanted := sorted(found.imports - RUNTIME - _LOADER):
        faults.append(f"calls {', '.join(wanted)} of the host")
    if given := sorted(each for each in found.exports if not _EXPORT.fullmatch(each)):
        faults.append(f"defines {', '.join(given)} for the host")
    kept = sorted(
        each
        for each in found.variables
        if each not in variables and not _OWN_VARIABLE.fullmatch(each)
    )
    if kept:
        faults.append(f"has variables that outlive a launch: {', '.join(kept)}")
    if found.initialisers and not (checked and found.initialisers == (_NUMBERS_BRANCHES,)):
        faults.append("runs code when it is loaded")
    if found.unexpected:
        faults.append(f"has {', '.join(found.unexpected)}")
    if faults:
        raise CompileError(
            f"error: the compiled kernel {' and '.join(faults)}: a kernel may have what Metal has, "
            "and no more"
        )
