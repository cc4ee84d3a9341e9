"""The kinds of devices, and what they can do. Code asks for a capability where kinds differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DeviceKind:
    """The capabilities that all devices of one kind share."""

    name: str
    # A kernel may be this many times as fast as the measured ceiling of plain arithmetic: half
    # precision, matrix units, and algorithms that need less arithmetic.
    faster_arithmetic: float = 32.0
    # Kernels run on the host's processors, in executors. Times are host times of a simulation.
    is_simulated: bool = False
    # The device's memory is separate from the host's.
    has_separate_memory: bool = False
    # The driver compiles all kernels of a source at once.
    compiles_whole_sources: bool = False
    # MLX runs on the same GPU through Metal, with command buffers and a shared last-level cache.
    runs_mlx_on_metal: bool = False
    # MLX runs on the same GPU through CUDA: it has a stream to select, and TF32 products.
    runs_mlx_on_cuda: bool = False
    # The device reports whether its GPU has Metal 4's tensors; other kinds run them anyway.
    reports_tensors: bool = False
    # Metal's own compiler builds the kernels. Its language has no `double`, which the engine can
    # compile for other devices.
    has_double: bool = True


KINDS = {
    each.name: each
    for each in (
        DeviceKind(name="cpu", is_simulated=True, faster_arithmetic=8.0),
        DeviceKind(
            name="metal",
            compiles_whole_sources=True,
            runs_mlx_on_metal=True,
            reports_tensors=True,
            has_double=False,
        ),
        DeviceKind(name="cuda", has_separate_memory=True, runs_mlx_on_cuda=True),
    )
}


def find_kind(name: str) -> DeviceKind:
    """Return the kind with this name. A kind that is not listed has no capabilities."""
    return KINDS.get(name, DeviceKind(name=name))
