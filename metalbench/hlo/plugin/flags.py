"""Print the compiler options for C programs with metalbench/hlo.h.

Run it as `python -m metalbench.hlo.plugin.flags`.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from metalbench.errors import MachineError

HEADER = Path("include", "metalbench", "hlo.h")


def list_flags() -> list[str]:
    """Return the options to compile and link with the library.

    Raise MachineError if it is not installed.
    """
    core = find_spec("metalbench._core")
    package = Path(core.origin).parent if core is not None and core.origin else Path()
    libraries = package / "lib"
    if not (package / HEADER).exists() or not libraries.exists():
        raise MachineError(f"{HEADER}: not in {package}; install metalbench again")
    return [
        f"-I{package / 'include'}",
        f"-L{libraries}",
        "-lmetalbench_hlo",
        f"-Wl,-rpath,{libraries}",
    ]


if __name__ == "__main__":
    print(shlex.join(list_flags()))
