"""What compiled code may want of the process that loads it: next to nothing, and that is checked.

The last of three checks, and the one that no spelling of a source can pass by: before it are words
(reading/host_code.py) and what clang made of them (host_calls.py).
"""

from __future__ import annotations

import re
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import elf, mach_o
from metalbench.msl.building.targets import MACH_O, Target

# What clang itself calls for copies of structs and for filled arrays, and what os_log calls, by
# names that no source can say (csrc/msl/mb/cpu/log_line.h).
RUNTIME = frozenset({"memcpy", "memmove", "memset", "bzero", "snprintf", "write"})
_LOADER = frozenset({"dyld_stub_binder"})
# What a kernel tells of itself, and the places of the threadgroup's memory.
_OWN_VARIABLE = re.compile(
    r"_ZZ\d+mb_info\w*|\w*mb_(?:storage|part)_\w*|__(?:start|stop)_\w+"
    # Of Mach-O's linker.
    r"|_*dso_handle|_mh_\w+|dyld_private|section\$(?:start|end)\$\w+\$\w+"
)
# A checked build numbers its branches once, when it is loaded: one address.
_COUNTING_BYTES = 8


def check_imports(library: Path, target: Target, *, checked: bool) -> None:
    """Raise CompileError if a library wants what no kernel needs; it must not be loaded then."""
    found = (mach_o if target is MACH_O else elf).contents(library)
    faults = []
    if wanted := sorted(found.imports - RUNTIME - _LOADER):
        faults.append(f"calls {', '.join(wanted)} of the host")
    if kept := sorted(each for each in found.variables if not _OWN_VARIABLE.fullmatch(each)):
        faults.append(f"has variables that outlive a launch: {', '.join(kept)}")
    if found.at_loading > (_COUNTING_BYTES if checked else 0):
        faults.append("runs code when it is loaded")
    if faults:
        raise CompileError(
            f"error: the compiled kernel {' and '.join(faults)}: a kernel may have what Metal has, "
            "and no more"
        )
