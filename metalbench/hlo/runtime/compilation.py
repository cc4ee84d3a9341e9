"""Cache plans on disk, so that a known program needs no MLIR, passes or code generation.

The key depends on the program's bytes, the level, the kind of device, the sources of this package
and the version of jaxlib. An entry holds only the part of the graph that a run needs: arguments,
results, and the operations of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from metalbench import build_cache
from metalbench._core import Queue
from metalbench.build_cache import digest_trees
from metalbench.errors import MetalBenchError
from metalbench.hlo.importer import read
from metalbench.hlo.ir import Block
from metalbench.hlo.passes.pipeline import run_initial_passes
from metalbench.hlo.runtime.executable import Executable, open_device
from metalbench.hlo.runtime.host_regions import build_split_plan
from metalbench.hlo.runtime.plan import ExecutionPlan
from metalbench.hlo.runtime.plan_records import decode_plan, encode_plan
from metalbench.process import usable_cores

# A plan with more bytes of constants is not cached: the program has them already.
MAX_CONSTANT_BYTES = 1 << 26


def compute_key(code: str | bytes, *parts: str) -> str:
    """Return the cache key of a program's plan; `parts` are further parts of the key."""
    return build_cache.digest("hlo plan", *_identify_versions(), *parts, code)


@cache
def _identify_versions() -> tuple[str, str]:
    """Return a digest of this package, and the version of jaxlib; a process has one of each."""
    try:
        reader = version("jaxlib")
    except PackageNotFoundError:
        reader = ""
    return digest_trees([(Path(__file__).parents[1], (".py", ".h"))]), reader


def store_plan(key: str, plan: ExecutionPlan, facts: Mapping[str, Any]) -> None:
    """Store a plan and the facts about its program; do nothing if the cache is not writable."""
    encoded = encode_plan(plan)
    constants = b"".join(each.tobytes() for each in encoded.constants)
    if len(constants) > MAX_CONSTANT_BYTES:
        return
    record = {
        "facts": dict(facts),
        "block": encoded.block,
        "values": encoded.values,
        "texts": encoded.texts,
        "constants": build_cache.digest(constants),
    }
    try:
        with build_cache.write_atomically(build_cache.locate_file(key, ".bin")) as path:
            path.write_bytes(constants)
        build_cache.store(key, record)
    except MetalBenchError:
        return  # The kernels' builds need the same cache, and report why it fails.


def load_plan(key: str) -> tuple[ExecutionPlan, dict[str, Any]] | None:
    """Return the stored plan and the facts about its program, or None."""
    record = build_cache.load(key)
    if record is None:
        return None
    try:
        constants = build_cache.locate_file(key, ".bin").read_bytes()
    except OSError:
        return None
    if build_cache.digest(constants) != record["constants"]:
        return None
    plan = decode_plan(record["block"], record["values"], record["texts"], constants)
    return plan, record["facts"]


# Compile a program to an executable through the plan cache.


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
    host: str = "never",
) -> Executable:
    """Compile a program (text, bytes or a module) for a device.

    `host` is one of CHOICES in `host_regions.py`. A run that takes longer than `run_limit` seconds
    raises TimeLimitExceeded. Raise DeclarationError, Unsupported, OutOfMemoryError or CompileError.
    """
    executable, _ = compile_with_facts(
        program,
        lambda _: {},
        which="none",
        level=level,
        device=device,
        filename=filename,
        host=host,
    )
    executable.run_limit = run_limit
    return executable


def compile_with_facts(
    program: Any,
    facts_of: Callable[[Block], dict[str, Any]],
    *,
    which: str,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
    queue: Queue | None = None,
    may_defer: Callable[[ExecutionPlan], bool] = lambda _: False,
    host: str = "never",
) -> tuple[Executable, dict[str, Any]]:
    """Return the executable of a program, and the facts that `facts_of` returns about its graph.

    The facts are stored in the plan cache, so they must be JSON values. `which` names the kind of
    facts; it is a part of the cache's key. The kernels of a plan that `may_defer` accepts are built
    by the first run, or together with those of other programs (`build_kernels`).
    """
    code = program if isinstance(program, (str, bytes)) else program.operation.get_asm()
    opened = open_device(device)
    # The choice depends on both processors.
    processors = f"{opened.name}, {opened.cores}, {usable_cores()}" if host == "auto" else ""
    key = compute_key(code, f"-O {level}", opened.kind, which, host, processors)
    cached = load_plan(key)
    if cached is not None:
        plan, facts = cached
    else:
        block = import_program(program, filename)
        facts = facts_of(block)
        plan = build_split_plan(block, level, device=opened.kind, cores=opened.cores, choice=host)
        # Functions of the host are those of this process.
        if not plan.calls_host():
            store_plan(key, plan, facts)
    return Executable(plan, device=device, queue=queue, deferred=may_defer(plan)), facts
