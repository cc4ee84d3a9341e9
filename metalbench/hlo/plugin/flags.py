"""`python -m metalbench.hlo.plugin.flags`: what compilers of C need for metalbench/hlo.h."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from metalbench.errors import MachineError

HEADER = Path("include", "metalbench", "hlo.h")


def list_flags() -> list[str]:
    """Options that compile and link with it. Raises MachineError where it is not installed."""
    core = find_spec("metalbench._core")  # what is built lies beside it, in an editable install too
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
