"""One kernel's checked runs, in a process that has nothing but the kernel and its buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.checking.allowances import Allowance, allowances, sorted_out
from metalbench.checking.checked_run import CheckedRun
from metalbench.checking.finding import Finding, Findings, folded
from metalbench.checking.kinds import ALL, kind_named, tools_of
from metalbench.checking.subject import Subject, subject
from metalbench.isolation.sandbox import open_sandboxed_device
from metalbench.kernel.prepare import compile_kernel

if TYPE_CHECKING:
    from metalbench._core import Device

SECONDS = 60.0


def check(
    kernel: str | Path,
    *,
    tools: str | Sequence[str] = (ALL,),
    sizes: Sequence[str] = (),
    dtype: str | None = None,
    buffers: Path | None = None,
    tunables: Mapping[str, int] | None = None,
    folders: Sequence[Path] = (),
    include_dirs: Sequence[Path] = (),
    seed: int = 0,
    time_limit: float = SECONDS,
) -> Findings:
    """Run a kernel's checked build, `time_limit` s a size at most; return all that is wrong.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose header says what it
        takes, with the arrays in the file `buffers`.
    tools
        What counts: "mem", "race", "init", "sync", "arithmetic", or "all".
    sizes, dtype, seed
        Of a task: if none, its small sizes and the kernel's first element type.
    tunables, include_dirs
        Values of `// tune:` lines, else their first ones; where includes are.

    Raises CompileError, and DeclarationError or DispatchError if lines, arguments or sizes are
    wrong. What a kernel does is never an exception.
    """
    what = subject(kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs)
    return check_subject(
        what,
        open_sandboxed_device(),
        tools_of([tools] if isinstance(tools, str) else tools),
        dtype=dtype,
        tunables=tunables,
        seed=seed,
        time_limit=time_limit,
    )


def check_subject(
    what: Subject,
    device: Device,
    tools: Sequence[str],
    *,
    dtype: str | None = None,
    tunables: Mapping[str, int] | None = None,
    seed: int = 0,
    time_limit: float = SECONDS,
    placed: Callable[[Finding], Finding] = lambda finding: finding,
) -> Findings:
    """The same of what has been read already, on a device that makes checked builds.

    `placed` puts a finding where the user's own file has it. Raises CompileError, and DispatchError
    if the kernel's lines are wrong.
    """
    known = _allowed(what, tools)
    built = compile_kernel(
        device,
        what.kernel,
        what.task,
        dtype_name=dtype or what.kernel.dtypes[0],
        tunables=tunables,
        checked=True,
        tools=tools,
    )
    runs = (CheckedRun(what, built, size, seed).findings(time_limit) for size in what.sizes)
    found = [placed(each) for run in runs for each in run if each.of.tool in tools]
    counting, allowed, unused = sorted_out(folded(found), known, str(what.kernel.path))
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=what.kernel.source,
    )


def _allowed(what: Subject, tools: Sequence[str]) -> list[Allowance]:
    """The source's comments that are about findings of these tools."""
    every = allowances(what.kernel.source, str(what.kernel.path))
    return [each for each in every if kind_named(each.kind).tool in tools]
