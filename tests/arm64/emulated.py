"""Kernels as vectors of NEON: compiled for arm64 Linux, and run under qemu's user mode."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from metalbench.kernel.header import Kernel
from metalbench.kernel.prepare import Bound, Compiled, source_options
from metalbench.msl import engine
from metalbench.msl.frontend.lower import LoweredKernel, lower
from metalbench.msl.toolchain.clang import (
    ELF,
    LANE_FLAGS,
    VECTOR_FLAGS,
    find_toolchain,
    list_disabled_passes,
    list_flags,
)
from metalbench.msl.toolchain.compile import MessageTranslator, generate_ir
from metalbench.msl.toolchain.compile_kernel import list_widths
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module
from metalbench.task.dtypes import dtype

TRIPLE = "aarch64-unknown-linux-gnu"
# The processor of MACH_O, which has what every Mac with Apple silicon has.
ARM64 = replace(ELF, triple=TRIPLE, compiler=(f"--target={TRIPLE}", "-mcpu=apple-m1"))
DRIVER = Path(__file__).with_name("driver.cpp")
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
LIBRARY_BYTES = 56  # of the driver's `Library`
_SLOTS = 31  # of threadgroup arguments, as mb/abi.h has it
Size = tuple[int, int, int]


@dataclass(frozen=True)
class OneLane:
    """A kernel of one lane, and what it is bound to."""

    lowered: LoweredKernel
    lane: Path
    fast_math: bool

    def module(self, launch: LaunchShape) -> str:
        """The LLVM IR of all lanes, in one shape of launch."""
        return vectorize_module(self.lane.read_text(), launch)

    def shape(self, threads: Size, grid: Size) -> LaunchShape:
        """The shape that suits every threadgroup of a launch."""
        for width in list_widths(self.lane):
            if threads[0] % width == 0 and grid[0] % threads[0] % width == 0:
                return LaunchShape(width, rows=True)
        return LaunchShape(32, rows=False)


def kernel(program: engine.MslProgram, function: str, folder: Path, *, fast_math: bool) -> OneLane:
    """A kernel of a program, compiled for one lane of arm64."""
    tools, lowered = find_toolchain(), lower(program.source, function, {})
    options = list_flags(
        checked=False, fast_math=fast_math, spaces=lowered.spaces, goal=ARM64, passes=LANE_FLAGS
    )
    lane = folder / "lane.ll"
    lane.write_text(generate_ir(lowered.code, tools, options, MessageTranslator()))
    return OneLane(lowered, lane, fast_math)


def compiled(of: OneLane, module: str, target: Path, *more: str) -> None:
    """Machine code of a module: an object, or text with `-S`."""
    options = list_flags(checked=False, fast_math=of.fast_math, goal=ARM64, passes=VECTOR_FLAGS)
    tools = find_toolchain()
    options += list_disabled_passes(tools)
    command = [*tools.clang, "-c", *more, "-x", "ir", *options, "-o", str(target), "-"]
    subprocess.run(command, input=module, text=True, check=True)


def run(
    of: OneLane,
    arrays: Mapping[str, np.ndarray],
    threads: Size,
    grid: Size,
    threadgroup_bytes: Mapping[str, int] | None = None,
) -> dict[str, np.ndarray]:
    """Return the arrays after a launch with this total number of threads in the emulator."""
    launch = of.shape(threads, grid)
    folder = of.lane.parent
    compiled(of, of.module(launch), folder / "kernel.o")
    program = driver(folder, folder / "kernel.o")
    arguments = {str(each["name"]): each for each in of.lowered.bindings.arguments}
    given = order(threads, grid, launch.width, arguments, arrays, threadgroup_bytes)
    return emulate(program, bytes(LIBRARY_BYTES), given, arrays)[0]


def program_of(kernel: Kernel) -> engine.MslProgram:
    """A kernel of the library with its defaults, in float32."""
    options = source_options(kernel, dtype("float32"), kernel.resolve_tunables(None))
    folders = [str(each) for each in options.pop("include_dirs")]
    return engine.parse(kernel.source, **options, include_dirs=folders)


def buffers_of(bound: Bound) -> dict[str, np.ndarray]:
    """Copies of all buffers, as bytes."""
    groups = (bound.inputs, bound.outputs, bound.scratches)
    return {name: each.bytes.copy() for group in groups for name, each in group.items()}


def arguments_of(
    here: Compiled, bound: Bound, function: str, buffers: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the arguments that a dispatch binds: some of `buffers`, and scalars."""
    scalars = {**here.task.constants, **bound.workload.values}
    return {
        each.name: buffers[each.name]
        if each.name in buffers
        else np.array(scalars[each.name], each.element)
        for each in here.pipelines[function].arguments
        if each.kind == "buffer"
    }


def driver(folder: Path, *objects: Path) -> Path:
    """The program of `driver.cpp`, linked with these objects."""
    tools = find_toolchain()
    object_, program = folder / "driver.o", folder / "driver"
    options = [f"--target={TRIPLE}", "-std=c++17", "-O1", "-nostdinc", "-ffreestanding"]
    options += ["-fno-exceptions", "-fno-rtti", "-fno-stack-protector", f"-I{tools.headers}"]
    # Or its own memset is a call of memset.
    options += ["-fno-builtin"]
    made = [*tools.clang, "-c", "-x", "c++", *options, "-o", str(object_), str(DRIVER)]
    subprocess.run(made, check=True)
    linker = [tools.linker[0], "ld.lld"] if len(tools.clang) > 1 else [tools.linker[0]]
    linked = map(str, (object_, *objects))
    subprocess.run([*linker, "-static", "-o", str(program), *linked], check=True)
    return program


def emulate(
    program: Path, library: bytes, given: bytes, arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays after a launch, and the findings of a checked build.

    `library` begins as `driver.cpp` reads it, `given` is an `order` with the same arrays.
    """
    command = [str(QEMU), "-cpu", "max", str(program)]
    answer = subprocess.run(command, input=library + given, capture_output=True, check=False)
    said = answer.stderr.decode()
    assert answer.returncode == 0, (answer.returncode, said)
    found, at = {}, 0
    for name, like in arrays.items():
        found[name] = np.frombuffer(answer.stdout, like.dtype, like.size, at).reshape(like.shape)
        at += like.nbytes
    return found, said.splitlines()


def order(
    threads: Size,
    grid: Size,
    width: int,
    arguments: Mapping[str, Mapping[str, str | int]],
    arrays: Mapping[str, np.ndarray],
    threadgroup_bytes: Mapping[str, int] | None = None,
) -> bytes:
    """A launch as `driver.cpp` reads it, with `width` threads to a fiber, and its buffers."""
    offsets, arena = [0] * _SLOTS, 0
    for name, size in (threadgroup_bytes or {}).items():
        offsets[int(arguments[name]["index"])] = arena
        arena += (size + 15) // 16 * 16
    groups = [-(-total // size) for total, size in zip(grid, threads, strict=True)]
    head = struct.pack("<12I", *grid, *groups, *threads, arena, width, len(arrays))
    buffers = b"".join(
        struct.pack("<2I", int(arguments[name]["index"]), each.nbytes) + each.tobytes()
        for name, each in arrays.items()
    )
    return head + struct.pack(f"<{_SLOTS}I", *offsets) + buffers
