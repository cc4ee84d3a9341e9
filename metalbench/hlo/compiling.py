"""Compile a program to an executable through the plan cache."""

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
    """Return the graph of a program after the initial passes.

    `until` names the last initial pass to run, if it is one of them.
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
    """Compile a program (text, bytes or a module) for a device.

    A run that takes longer than `run_limit` seconds raises TimeLimitExceeded. Raise
    DeclarationError, Unsupported, OutOfMemoryError or CompileError.
    """
    executable, _ = compile_with_facts(
        program, dict, which="none", level=level, device=device, filename=filename
    )
    executable.run_limit = run_limit
    return executable


def compile_with_facts(
    program: Any,
    facts_of: Callable[[], dict[str, Any]],
    *,
    which: str,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
) -> tuple[Executable, dict[str, Any]]:
    """Return the executable of a program, and the facts that `facts_of` returns about it.

    The facts are stored in the plan cache, so they must be JSON values. `which` names the kind of
    facts; it is a part of the cache's key.
    """
    code = program if isinstance(program, (str, bytes)) else program.operation.get_asm()
    kind = open_device(device).kind
    key = kept.compute_key(code, f"-O {level}", kind, which)
    cached = kept.load_plan(key)
    if cached is not None:
        plan, facts = cached
    else:
        block = import_program(program, filename)
        plan, facts = build_plan(block, level, device=kind), facts_of()
        kept.store_plan(key, plan, facts)
    return Executable(plan, device=device), facts
