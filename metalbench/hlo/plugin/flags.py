"""`python -m metalbench.hlo.plugin.flags`: what compilers of C need for metalbench/hlo.h."""

from __future__ import annotations

import shlex
from pathlib import Path

import metalbench
from metalbench.errors import MachineError

HEADER = Path("include", "metalbench", "hlo.h")


def flags() -> list[str]:
    """Options that compile and link with it. Raises MachineError where it is not installed."""
    for each in metalbench.__path__:
        package = Path(each)
        libraries = package / "lib"
        if (package / HEADER).exists() and libraries.exists():
            return [
                f"-I{package / 'include'}",
                f"-L{libraries}",
                "-lmetalbench_hlo",
                f"-Wl,-rpath,{libraries}",
            ]
    raise MachineError(f"{HEADER}: not in {metalbench.__path__[0]}; install metalbench again")


if __name__ == "__main__":
    print(shlex.join(flags()))
