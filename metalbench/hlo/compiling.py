"""From a program to an executable: as it was planned before, if it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalbench.hlo.graph import Block
from metalbench.hlo.passes import run_initial_passes
from metalbench.hlo.reading import read
from metalbench.hlo.running import Executable, build_plan, kept
from metalbench.hlo.running.executable import open_device


def import_program(
    program: Any, filename: str = "<program>", entry: str = "main", *, until: str | None = None
) -> Block:
    """The graph that kernels are made of, after the passes that every level has.

    `until` is the last pass that is done, if it is one of these.
    """
    block = read(program, filename, entry)
    run_initial_passes(block, until)
    return block


def compile_program(
    program: Any,
    *,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
    run_limit: float | None = None,
) -> Executable:
    """Return a program, compiled for a device, from text, bytes or a module.

    A run of it that takes longer than `run_limit` seconds raises TimeLimitExceeded. Raises
    DeclarationError, Unsupported, OutOfMemoryError and CompileError.
    """
    made, _ = compile_with_facts(
        program, dict, which="none", level=level, device=device, filename=filename
    )
    made.run_limit = run_limit
    return made


def compile_with_facts(
    program: Any,
    facts_of: Callable[[], dict[str, Any]],
    *,
    which: str,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
) -> tuple[Executable, dict[str, Any]]:
    """The same, and what `facts_of` tells of the program, which is kept beside its plan.

    These are what JSON has; `which` names those that are asked for.
    """
    code = program if isinstance(program, (str, bytes)) else program.operation.get_asm()
    kind = open_device(device).kind
    key = kept.compute_key(code, f"-O {level}", kind, which)
    found = kept.load_plan(key)
    if found is None:
        made, facts = build_plan(import_program(program, filename), level, device=kind), facts_of()
        kept.store_plan(key, made, facts)
        found = made, facts
    made, facts = found
    return Executable(made, device=device), facts
