"""The same callable over MLX's own `mx.fast.metal_kernel`, where there is Metal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from metalbench.custom_kernel import arrays
from metalbench.custom_kernel.definition import Definition
from metalbench.custom_kernel.element_types import element_type, is_dtype, is_mlx_dtype, mlx_dtype
from metalbench.errors import Unsupported


def _of_mlx() -> tuple[Any, Any]:
    if sys.platform != "darwin":
        return None, lambda: False
    import mlx.core as mx

    return mx.fast.metal_kernel, mx.metal.is_available


# Kept from the start, because others may come to stand in their places.
MLX_METAL_KERNEL, _METAL_IS_AVAILABLE = _of_mlx()


def metal_is_available() -> bool:
    """Return whether MLX itself can run Metal kernels here; imports MLX on a Mac only."""
    return bool(_METAL_IS_AVAILABLE())


class MLXKernel:
    """A kernel of MLX's that also takes and gives numpy arrays."""

    def __init__(self, definition: Definition) -> None:
        if not metal_is_available():
            raise Unsupported(
                f"[{definition.name}] device 'mlx': MLX runs Metal kernels on a Mac only; "
                "use device='cpu'"
            )
        self.definition = definition
        self._kernel: Any = MLX_METAL_KERNEL(
            name=definition.name,
            input_names=list(definition.input_names),
            output_names=list(definition.output_names),
            source=definition.source,
            header=definition.header,
            ensure_row_contiguous=definition.ensure_row_contiguous,
            atomic_outputs=definition.atomic_outputs,
            **_options(definition),
        )

    def __repr__(self) -> str:
        return f"<metal_kernel {self.definition.name} on mlx>"

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_dtypes: Sequence[Any],
        template: Sequence[tuple[str, Any]] | None = None,
        **others: Any,
    ) -> list[Any]:
        """Run the kernel with the arguments of MLX's; numpy arrays give numpy arrays."""
        name = self.definition.name
        answer = self._kernel(
            inputs=[_array(each, f"[{name}] inputs") for each in inputs],
            output_dtypes=[_dtype(each, f"[{name}] output_dtypes") for each in output_dtypes],
            template=[(each, _value(value, f"[{name}] template")) for each, value in template or ()]
            or None,
            **others,
        )
        if arrays.returns_mlx(inputs, output_dtypes):
            return list(answer)
        return [np.array(arrays.as_numpy(each, name)) for each in answer]


def _options(definition: Definition) -> dict[str, Any]:
    """MLX before 0.32 has no math modes; its kernels are then what they always were."""
    if definition.math_mode == "safe":
        return {}
    return {"compile_options": {"math_mode": definition.math_mode}}


def _array(value: Any, where: str) -> Any:
    if arrays.is_mlx(value) or isinstance(value, (bool, int, float, complex)):
        return value
    return arrays.to_mlx(arrays.as_numpy(value, where))


def _dtype(value: Any, where: str) -> Any:
    return value if is_mlx_dtype(value) else mlx_dtype(element_type(value, where))


def _value(value: Any, where: str) -> Any:
    return _dtype(value, where) if is_dtype(value) else value
