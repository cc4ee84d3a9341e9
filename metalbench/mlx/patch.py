"""`patch_mlx()`: make MLX behave as on a Mac for code that uses Metal kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from threading import RLock
from typing import Any

from metalbench.mlx.kernel import (
    CustomKernel,
    MLXKernel,
    metal_is_available,
    metal_kernel,
    runs_on_mlx,
)
from metalbench.mlx.replacement import replace_attributes


@dataclass(frozen=True, eq=False)
class Patch:
    """One call of `patch_mlx`: `options` are those of the kernels that are defined under it."""

    options: dict[str, Any]
    is_simulated: bool


def patch_mlx(
    *,
    device: str = "auto",
    checked: bool | None = None,
    time_limit: float = 60.0,
    sandbox: bool = False,
) -> Callable[[], None]:
    """Make `mx.fast.metal_kernel`, and all that asks for a GPU, work here; returns what undoes it.

    The options are those of `metal_kernel`. To be called before the modules that define kernels
    are imported. It holds for all threads. Where kernels run on the cpu device, functions that
    `mx.compile` was given run as they are. Patches nest and may be undone in any order: MLX is as
    it was when the last is gone. Raise DeclarationError.
    """
    options = {
        "device": device,
        "checked": checked,
        "time_limit": time_limit,
        "sandbox": sandbox,
    }
    patch = Patch(options, not runs_on_mlx("[patch_mlx]", device, checked, sandbox=sandbox))
    with _LOCK:
        _settle([*_patches, patch])
        _patches.append(patch)

    def undo() -> None:
        with _LOCK:
            if patch in _patches:
                _patches.remove(patch)
                _settle(_patches)

    return undo


@contextmanager
def patched_mlx(
    *,
    device: str = "auto",
    checked: bool | None = None,
    time_limit: float = 60.0,
    sandbox: bool = False,
) -> Iterator[None]:
    """`patch_mlx` for the length of a with statement or, as a decorator, of a function's call."""
    undo = patch_mlx(device=device, checked=checked, time_limit=time_limit, sandbox=sandbox)
    try:
        yield
    finally:
        undo()


_LOCK = RLock()
_patches: list[Patch] = []
_open: dict[Callable[[], AbstractContextManager[None]], ExitStack] = {}


def _settle(patches: Sequence[Patch]) -> None:
    """Apply the replacements that these patches need, and undo the others."""
    # They import MLX, which `import metalbench` does not.
    from metalbench.mlx.simulation import simulate_gpu, transformations

    is_simulated = any(each.is_simulated for each in patches)
    wanted = {
        _kernels: bool(patches),
        transformations: is_simulated,
        simulate_gpu: is_simulated and not metal_is_available(),
    }
    for enter, is_wanted in wanted.items():
        if is_wanted and enter not in _open:
            stack = ExitStack()
            stack.enter_context(enter())
            _open[enter] = stack
        elif not is_wanted and enter in _open:
            _open.pop(enter).close()


@contextmanager
def _kernels() -> Iterator[None]:
    import mlx.core as mx

    with replace_attributes(mx.fast, metal_kernel=_metal_kernel):
        yield


@wraps(metal_kernel)
def _metal_kernel(*args: Any, **options: Any) -> CustomKernel | MLXKernel:
    patches = _patches[-1:]
    return metal_kernel(*args, **(patches[0].options if patches else {}) | options)
