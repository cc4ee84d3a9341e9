"""The double of NVIDIA's driver, and kernels as it runs them.

All of it is kept in the cache, by what it is made of.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.msl.engine import CompiledKernel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = {
    "libcuda.so.1": ("device.cpp", "execution.cpp", "modules.cpp"),
    "libnvidia-ml.so.1": ("libnvml.cpp",),
}
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@cache
def folder() -> Path:
    """Return the folder with both libraries by the names that programs load."""
    from metalbench import build_cache
    from metalbench.msl.toolchain.clang import find_toolchain

    parts = [path.read_bytes() for path in sorted(HERE.glob("*.*"))]
    found = (
        build_cache.find_cache_folder()
        / f"cuda_double-{build_cache.digest(find_toolchain().key, *parts)}"
    )
    found.mkdir(parents=True, exist_ok=True)
    return found.absolute()


def build() -> Path:
    """Compile both libraries into `folder`, unless they are there."""
    for name, sources in LIBRARIES.items():
        target = folder() / name
        if not target.exists():
            command = [compiler(), "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}"]
            _make([*command, *(str(HERE / each) for each in sources), "-ldl"], target)
    return folder()


def compiler() -> str:
    """The host's."""
    found = shutil.which("c++") or shutil.which("g++")
    assert found is not None, "the double needs a C++ compiler, as the extension does"
    return found


def building_both(build: Callable[..., CompiledKernel]) -> Callable[..., CompiledKernel]:
    """`build`, which makes PTX of a kernel, with what the double runs in its place."""

    @wraps(build)
    def build_both(*arguments: object, **options: object) -> CompiledKernel:
        built = build(*arguments, **options)
        build_kernel(Path(built.path))
        return built

    return build_both


def replace_in(engine: ModuleType) -> None:
    """Let the engine build for the double, too."""
    if not hasattr(engine.build_for_gpu, "__wrapped__"):
        engine.build_for_gpu = building_both(engine.build_for_gpu)  # type: ignore[attr-defined]


def build_kernel(ptx: Path) -> None:
    """Return what the double runs in place of a kernel's PTX. The lowered text is next to it."""
    from metalbench.msl.ir.module import Module
    from metalbench.msl.toolchain.clang import COMMON_FLAGS, ELF, find_toolchain
    from metalbench.msl.transforms.alignment import lower_alignment

    target = folder() / f"{digest(ptx.read_text())}.so"
    if target.exists():
        return
    lowered = ptx.with_suffix(".cpp").read_text() + (HERE / "entry.h").read_text()
    tools = find_toolchain()
    clang = [*tools.clang, "-x"]
    options = [*COMMON_FLAGS, *ELF.compiler, "-DMB_GPU=1", "-O1"]
    front = [*clang, "c++", *options, f"-I{tools.headers}", "-include", str(HERE / "shim.h")]
    front += ["-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-o", "-", "-"]
    # The entry of a kernel has a calling convention that does not permit calls.
    module = Module(_answer(front, lowered).replace(" spir_kernel ", " "))
    # x86-64 faults on vectors that are not aligned, too.
    lower_alignment(module)
    made = target.with_suffix(f".{os.getpid()}.o")
    _answer([*clang, "ir", *options, "-c", "-o", str(made), "-"], str(module))
    _make([compiler(), "-shared", str(made)], target)
    made.unlink()


def _answer(command: list[str], text: str) -> str:
    """Return what a program prints that reads a text."""
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def digest(text: str) -> str:
    """The double's own name of a text (FNV-1a)."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & (1 << 64) - 1
    return f"{value:016x}"


def _make(command: list[str], target: Path) -> None:
    """Run a linker; other processes see its file as a whole or not at all."""
    made = target.with_name(f"{target.name}.{os.getpid()}")
    subprocess.run([*command, "-o", str(made)], check=True)
    made.replace(target)
