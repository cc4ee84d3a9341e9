"""Run a program as compiled by XLA for the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metalbench.errors import Unsupported

Array = np.ndarray[Any, Any]


class XlaProgram:
    """A program compiled by XLA, with arguments in its device's memory."""

    name = "XLA:CPU"

    def __init__(self, text: str | bytes, arrays: Sequence[Array]) -> None:
        jax = _import_jax()
        from jaxlib import _jax as bindings
        from jaxlib import xla_client

        device = jax.devices("cpu")[0]
        self.version = str(jax.lib.__version__)
        try:
            self._compiled = device.client.compile_and_load(
                text, bindings.DeviceList((device,)), xla_client.CompileOptions()
            )
        except (jax.errors.JaxRuntimeError, ValueError, TypeError, AttributeError) as error:
            # The last two come from versions of jaxlib with other bindings.
            raise Unsupported(f"[xla] {str(error).splitlines()[0]}") from error
        self._given = [jax.device_put(each, device) for each in arrays]

    def compute_results(self) -> list[Array]:
        """Return the results."""
        found = self._compiled.execute_sharded(self._given)
        return [np.asarray(each[0]) for each in found.disassemble_into_single_device_arrays()]

    def __call__(self, times: int) -> None:
        """Run the program `times` times to completion."""
        for _ in range(times):
            found = self._compiled.execute_sharded(self._given)
            for each in found.disassemble_into_single_device_arrays():
                each[0].block_until_ready()


def _import_jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise Unsupported(f"[xla] {error}; install it: pip install 'metalbench[jax]'") from error
    return jax
