"""Describe the machine, the operating system and the versions behind a result."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metalbench.devices import find_kind
from metalbench.msl.engine import read_engine
from metalbench.process import usable_cores
from metalbench.store.project import describe_revision, read_output

PACKAGES = ("metalbench", "mlx", "numpy", "scipy", "ml_dtypes", "ziglang")


@dataclass(frozen=True, slots=True)
class Environment:
    """A machine and its software. `revision` is git's, None outside of a checkout.

    `engine` is the execution mode of the cpu device for kernels with barriers: `fibers` or
    `vectors`.
    """

    machine: str
    cpu: str
    cores: int
    memory_bytes: int | None
    os: str
    python: str
    versions: Mapping[str, str]
    revision: str | None
    engine: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def engine_on(kind: str) -> str:
    """Return the execution mode for kernels with barriers on a device kind; empty for a GPU."""
    return read_engine() if find_kind(kind).is_simulated else ""


def environment() -> Environment:
    """Describe this machine, without names of the user or the host."""
    return Environment(
        machine=platform.machine(),
        cpu=_cpu(),
        cores=usable_cores(),
        memory_bytes=memory_bytes(),
        os=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions=dict(_versions()),
        revision=describe_revision(Path(__file__).resolve().parents[2]),
        engine=read_engine(),
    )


def _cpu() -> str:
    if sys.platform == "darwin":
        return read_output("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def memory_bytes() -> int | None:
    """Return the memory of this machine in bytes; None if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


@cache
def _versions() -> Mapping[str, str]:
    # Imported here, because the import is slow and `memory_bytes` does not need it.
    from importlib import metadata

    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
