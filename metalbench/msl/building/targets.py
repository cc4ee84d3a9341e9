"""The compilation targets: Linux, macOS and NVIDIA GPUs."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass

from metalbench._core import Unsupported

_MAC = "14.0"
_MAC_TRIPLE = f"arm64-apple-macosx{_MAC}"


@dataclass(frozen=True)
class Target:
    """The flags of clang and its linker for one system.

    `object_format` names the folder of the MSL headers for the format, or is empty. `zig_linker`
    are arguments for zig, `clang_linker` those for a clang without a separate linker. With
    `debug_in_object`, the linker leaves debug information in the object file.
    """

    object_format: str
    triple: str
    compiler: tuple[str, ...]
    kernel_address: tuple[str, ...]
    zig_linker: tuple[str, ...]
    clang_linker: tuple[str, ...]
    debug_in_object: bool


# Flags for the host's processor.
_HOST_FLAGS = (
    "-fPIC",
    "-mrecip=none",
    "-gline-tables-only",
    # Clang for Darwin inserts calls to the host's stack protector by default.
    "-fno-stack-protector",
    # Large frames touch every page, so that none skips the one below the stack. The driver has the
    # option for some systems only.
    "-Xclang",
    "-fstack-clash-protection",
)
# Undefined symbols are reported, with the line that uses them.
LLD_FLAGS = ("-z", "defs", "--warn-unresolved-symbols")
_KERNEL_ADDRESS = "-fsanitize=kernel-address"

ELF = Target(
    object_format="elf",
    triple=f"{platform.machine()}-unknown-linux-gnu",
    compiler=(*_HOST_FLAGS, "-march=native"),
    kernel_address=(_KERNEL_ADDRESS,),
    zig_linker=("ld.lld", *LLD_FLAGS),
    clang_linker=("-nostdlib",),
    debug_in_object=False,
)
MACH_O = Target(
    object_format="mach_o",
    triple=_MAC_TRIPLE,
    # Every Mac with Apple silicon supports this.
    compiler=(*_HOST_FLAGS, f"--target={_MAC_TRIPLE}", "-mcpu=apple-m1"),
    # The driver has it for other systems only; the pass is the same.
    kernel_address=("-Xclang", _KERNEL_ADDRESS),
    # Without this option zig builds its C library first, which takes half a minute.
    zig_linker=("cc", "-target", f"aarch64-macos.{_MAC}", "-nostdlib", "-lSystem"),
    clang_linker=(f"--target={_MAC_TRIPLE}",),
    debug_in_object=True,
)

# PTX, which the driver of every GPU from Ampere (2020) on compiles for itself.
NVPTX = Target(
    object_format="",
    triple="nvptx64-nvidia-cuda",
    compiler=(
        "--target=nvptx64-nvidia-cuda",
        "-march=sm_80",
        # Drivers from 2022 on support it.
        "--cuda-feature=+ptx78",
        # Line directives only: with line tables the driver would compile for debugging.
        "-gline-directives-only",
        "-DMB_GPU=1",
    ),
    kernel_address=(),
    zig_linker=(),
    clang_linker=(),
    debug_in_object=False,
)


def find_host_target() -> Target:
    """Return the target of this machine. Raise Unsupported."""
    if sys.platform != "darwin":
        return ELF
    if platform.machine() != "arm64":
        raise Unsupported(
            f"the cpu device runs on Macs with Apple silicon, got {platform.machine()}; "
            "use Linux on this machine"
        )
    return MACH_O
