"""Compile a StableHLO program, or a function of JAX, to a callable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.hlo.jax_rules import NAME, register_rules
from metalbench.hlo.runtime.compilation import compile_program, import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.host_regions import CHOICES
from metalbench.hlo.runtime.plan import LEVELS
from metalbench.mlx import call

__all__ = ["Program", "TracedFunction", "compile", "import_program"]


class Program:
    """A compiled program; call it with arrays of NumPy, MLX or JAX.

    The result is a tuple of arrays of the same library as the arguments.
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable

    @property
    def source(self) -> str:
        """MSL source of the kernels."""
        return self.executable.source

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run the program. Raise DispatchError if an argument has another shape or type."""
        given = [
            call.as_numpy(each, f"[hlo] argument {number}")
            if call.is_mlx(each)
            else np.asarray(each)
            for number, each in enumerate(arguments)
        ]
        found = self.executable(*given)
        if any(call.is_mlx(each) for each in arguments):
            return tuple(call.to_mlx(each) for each in found)
        jax = sys.modules.get("jax")
        if jax is not None and any(isinstance(each, jax.Array) for each in arguments):
            return tuple(jax.numpy.asarray(each) for each in found)
        return tuple(found)


def compile(
    program: Any,
    *,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
    host: str = "never",
) -> Program | Callable[..., Any]:
    """Compile a program to a callable on arrays.

    `program` is StableHLO as text, bytecode, a portable artifact, a module of jaxlib or the result
    of `jax.jit(f).lower(...)`. It may also be a Python function: JAX traces it once for each
    combination of argument types, and the callable returns what the function returns. `level` 0
    creates one kernel for each operation, 2 fuses operations, 3 also fuses operations on rows.
    `host` says whether the host's processors run sequential parts of the program next to a GPU:
    "never", "auto" (where a cost model expects a gain) or "always".

    Raise DeclarationError for another kind of program, and Unsupported with the operation's name
    for an operation that kernels cannot compute.
    """
    if level not in LEVELS:
        expected = ", ".join(str(each) for each in LEVELS)
        raise DeclarationError(f"[hlo] level: expected {expected}, got {level!r}")
    if host not in CHOICES:
        raise DeclarationError(f"[hlo] host: expected {', '.join(CHOICES)}, got {host!r}")
    if callable(getattr(program, "compiler_ir", None)):
        program = program.compiler_ir("stablehlo")
    if callable(program) and not hasattr(program, "operation"):
        return TracedFunction(program, level, device, host)
    if not isinstance(program, (str, bytes)) and not hasattr(program, "operation"):
        raise DeclarationError(
            f"[hlo] program: expected text, bytes, a module or a function, got {program!r}"
        )
    return Program(
        compile_program(program, level=level, device=device, filename=filename, host=host)
    )


class TracedFunction:
    """A function of JAX, compiled once for each combination of argument types."""

    def __init__(
        self, function: Callable[..., Any], level: int, device: str, host: str = "never"
    ) -> None:
        self._function, self._level, self._device, self._host = function, level, device, host
        self._programs: dict[Any, tuple[Program, Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function, computed by kernels."""
        import jax

        leaves, tree = jax.tree.flatten(arguments)
        leaves = [jax.numpy.asarray(each) for each in leaves]
        key = (tree, *((each.shape, each.dtype.name) for each in leaves))
        if key not in self._programs:
            # JAX would drop unused arguments, and the remaining ones would not match.
            jitted = jax.jit(self._function, keep_unused=True)
            register_rules()
            lowered = jitted.trace(*arguments).lower(lowering_platforms=(NAME,))
            module = lowered.compiler_ir("stablehlo")
            executable = compile_program(
                module, level=self._level, device=self._device, host=self._host
            )
            self._programs[key] = Program(executable), lowered.out_tree
        program, answer = self._programs[key]
        return jax.tree.unflatten(answer, program(*leaves))
