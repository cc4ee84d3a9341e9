"""Kernels from the text of their body: `mx.fast.metal_kernel` on any machine.

The arguments, the generated kernel and the names that a source finds are those of MLX 0.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalbench.custom_kernel.definition import DEVICES, definition
from metalbench.custom_kernel.kernel import CustomKernel
from metalbench.custom_kernel.mlx_kernel import MLXKernel, metal_is_available
from metalbench.errors import DeclarationError, suggestion

__all__ = ["CustomKernel", "MLXKernel", "metal_kernel"]


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
    checked: bool = False,
    time_limit: float = 60.0,
) -> CustomKernel | MLXKernel:
    """A kernel from the `source` of its body, called as that of `mx.fast.metal_kernel` is.

    `device` is "cpu" (this project's engine), "mlx" (MLX's own, on a Mac) or "auto": "mlx" where
    there is Metal. `checked` builds catch accesses out of bounds, races and reads of threadgroup
    memory that nobody wrote, at the line of the source; elements of outputs that the kernel leaves
    alone are NaN in them. `time_limit` in s ends a hang on the cpu. Raises DeclarationError.
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
    if device not in DEVICES:
        raise DeclarationError(f"[{name}] unknown device {device!r}; {suggestion(device, DEVICES)}")
    if device == "mlx" and checked:
        raise DeclarationError(f"[{name}] checked: MLX has no checked builds; use device='cpu'")
    if device == "mlx" or (device == "auto" and not checked and metal_is_available()):
        return MLXKernel(defined)
    return CustomKernel(defined, checked=checked, time_limit=time_limit)
