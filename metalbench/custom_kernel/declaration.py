"""`metal_kernel`: select the device of a kernel and its checks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from metalbench.custom_kernel import mlx_kernel
from metalbench.custom_kernel.definition import DEVICES, definition
from metalbench.custom_kernel.kernel import CustomKernel
from metalbench.custom_kernel.mlx_kernel import MLXKernel
from metalbench.errors import DeclarationError, suggestion

CHECKED = "METALBENCH_CHECKED"
WITHOUT_CHECKS = {"mlx": "MLX", "cuda": "the cuda device"}
UNCONFINED = {
    "mlx": "MLX runs its kernels in the process that calls them",
    "cuda": "the cuda device's driver runs in the process that calls a kernel",
}


def metal_kernel(  # noqa: PLR0917 - MLX's order
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, str] | None = None,
    *,
    device: str = "auto",
    checked: bool | None = None,
    time_limit: float = 60.0,
    sandbox: bool = False,
) -> CustomKernel | MLXKernel:
    """Return a kernel from the `source` of its body, called as that of `mx.fast.metal_kernel` is.

    `device` is "cpu" (this project's engine), "cuda" (an NVIDIA GPU), "mlx" (MLX's own, on a Mac)
    or "auto": "mlx" where Metal is available, else "cpu". `checked` builds catch accesses out of
    bounds, races and reads of unwritten threadgroup memory, at the line of the source; unwritten
    elements of outputs are NaN. None uses METALBENCH_CHECKED: 1 or 0, by default 0. `time_limit`
    in seconds ends a hang on the cpu; on a GPU a hang is reported, and this process cannot use the
    GPU any more. In a `sandbox` the kernel runs on the cpu in a separate, confined process, which
    serves all calls. Raise DeclarationError.
    """
    defined = definition(
        name,
        input_names,
        output_names,
        source,
        header,
        ensure_row_contiguous=ensure_row_contiguous,
        atomic_outputs=atomic_outputs,
        compile_options=compile_options,
    )
    if runs_on_mlx(f"[{name}]", device, checked, sandbox=sandbox):
        return MLXKernel(defined)
    return CustomKernel(
        defined,
        checked=is_checked(checked),
        time_limit=time_limit,
        device="cuda" if device == "cuda" else "cpu",
        sandbox=sandbox,
    )


def runs_on_mlx(where: str, device: str, checked: bool | None, *, sandbox: bool) -> bool:
    """Return whether MLX itself runs a kernel with these options; raises DeclarationError."""
    if device not in DEVICES:
        raise DeclarationError(f"{where} unknown device {device!r}; {suggestion(device, DEVICES)}")
    if device in WITHOUT_CHECKS and is_checked(checked):
        asked = "checked" if checked else f"{CHECKED}=1"
        has = f"{WITHOUT_CHECKS[device]} has no checked builds"
        raise DeclarationError(f"{where} {asked}: {has}; use device='cpu'")
    if device in UNCONFINED and sandbox:
        raise DeclarationError(f"{where} sandbox: {UNCONFINED[device]}; use device='cpu'")
    if device == "auto":
        return not (is_checked(checked) or sandbox) and mlx_kernel.metal_is_available()
    return device == "mlx"


def is_checked(checked: bool | None) -> bool:
    """`checked`, or what the environment says for all kernels; raises DeclarationError."""
    if checked is not None:
        return checked
    value = os.environ.get(CHECKED, "0")
    if value not in {"0", "1", ""}:
        raise DeclarationError(f"{CHECKED}: expected 1 or 0, got {value!r}")
    return value == "1"
