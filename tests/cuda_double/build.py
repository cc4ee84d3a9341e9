"""The double of NVIDIA's driver, and kernels as it runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from metalbench.msl.building.targets import ELF
from metalbench.msl.building.toolchain import COMMON_FLAGS, toolchain

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = {"libcuda.cpp": "libcuda.so.1", "libnvml.cpp": "libnvidia-ml.so.1"}
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def build(folder: Path) -> None:
    """Compile both libraries into `folder`, by the names that programs load."""
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler is not None, "the double needs a C++ compiler, as the extension does"
    for source, name in LIBRARIES.items():
        command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}"]
        command += [str(HERE / source), "-o", str(folder / name), "-ldl"]
        subprocess.run(command, check=True)


def build_kernel(ptx: Path, folder: Path) -> None:
    """What the double runs in place of a kernel's PTX, which the lowered text lies beside."""
    text = ptx.read_text()
    target = folder / f"{digest(text)}.so"
    if target.exists():
        return
    lowered = ptx.with_suffix(".cpp").read_text() + (HERE / "entry.h").read_text()
    tools = toolchain()
    command = [*tools.clang, "-x", "c++", *COMMON_FLAGS, *ELF.compiler, "-DMB_GPU=1", "-O1"]
    command += [f"-I{tools.headers}", "-include", str(HERE / "shim.h"), "-c", "-"]
    made = target.with_suffix(f".{os.getpid()}.o")
    subprocess.run([*command, "-o", str(made)], input=lowered, text=True, check=True)
    compiler = shutil.which("c++") or "g++"
    subprocess.run([compiler, "-shared", str(made), "-o", str(target)], check=True)
    made.unlink()


def digest(text: str) -> str:
    """The double's own name of a text (FNV-1a)."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & (1 << 64) - 1
    return f"{value:016x}"
