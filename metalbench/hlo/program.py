"""What users call: a program in StableHLO, or a function of jax, as a callable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from metalbench.custom_kernel import arrays
from metalbench.errors import DeclarationError
from metalbench.hlo.compiling import compile_program, import_program
from metalbench.hlo.running import LEVELS, Executable

__all__ = ["Program", "TracedFunction", "compile", "import_program"]


class Program:
    """A compiled program: call it with numpy, mlx or jax arrays.

    The answer is a tuple of arrays of the arguments' own library.
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable

    @property
    def source(self) -> str:
        """The kernels, as MSL."""
        return self.executable.source

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run it; raises DispatchError if an argument's shape or type is another."""
        given = [
            arrays.as_numpy(each, f"[hlo] argument {number}")
            if arrays.is_mlx(each)
            else np.asarray(each)
            for number, each in enumerate(arguments)
        ]
        found = self.executable(*given)
        if any(arrays.is_mlx(each) for each in arguments):
            return tuple(arrays.to_mlx(each) for each in found)
        jax = sys.modules.get("jax")
        if jax is not None and any(isinstance(each, jax.Array) for each in arguments):
            return tuple(jax.numpy.asarray(each) for each in found)
        return tuple(found)


def compile(
    program: Any, *, level: int = 2, device: str = "auto", filename: str = "<program>"
) -> Program | Callable[..., Any]:
    """A callable on arrays of a program.

    `program` is StableHLO's text, bytecode, a portable artifact, a module of jaxlib (or what
    `jax.jit(f).lower(...)` gives), or a function: that is traced by jax for each kind of
    arguments it is called with, and answers as it does itself. `level` 0 gives each operation a
    kernel, 2 fuses them, 3 also has one for what is done to rows. Raises DeclarationError if it is
    none of these, Unsupported, naming the operation, for what kernels cannot do.
    """
    if level not in LEVELS:
        expected = ", ".join(str(each) for each in LEVELS)
        raise DeclarationError(f"[hlo] level: expected {expected}, got {level!r}")
    if callable(getattr(program, "compiler_ir", None)):
        program = program.compiler_ir("stablehlo")
    if callable(program) and not hasattr(program, "operation"):
        return TracedFunction(program, level, device)
    if not isinstance(program, (str, bytes)) and not hasattr(program, "operation"):
        raise DeclarationError(
            f"[hlo] program: expected text, bytes, a module or a function, got {program!r}"
        )
    return Program(compile_program(program, level=level, device=device, filename=filename))


class TracedFunction:
    """A function of jax, compiled for each kind of arguments."""

    def __init__(self, function: Callable[..., Any], level: int, device: str) -> None:
        self._function, self._level, self._device = function, level, device
        self._programs: dict[Any, tuple[Program, Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """What the function answers, computed by kernels."""
        import jax

        leaves, tree = jax.tree.flatten(arguments)
        leaves = [jax.numpy.asarray(each) for each in leaves]
        key = (tree, *((each.shape, each.dtype.name) for each in leaves))
        if key not in self._programs:
            # Arguments that are not used would be dropped, and the rest not fit any more.
            jitted = jax.jit(self._function, keep_unused=True)
            lowered = jitted.lower(*arguments)
            module = lowered.compiler_ir("stablehlo")
            executable = compile_program(module, level=self._level, device=self._device)
            self._programs[key] = Program(executable), lowered.out_tree
        program, answer = self._programs[key]
        return jax.tree.unflatten(answer, program(*leaves))
