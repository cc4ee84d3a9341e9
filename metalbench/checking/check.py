"""One kernel's checked runs, in a process that has nothing but the kernel and its buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.checking.allowances import allowances, sorted_out
from metalbench.checking.checked_run import CheckedRun
from metalbench.checking.finding import Finding, Findings, folded
from metalbench.checking.kinds import ALL, kind_named, tools_of
from metalbench.checking.subject import Subject, subject
from metalbench.isolation.sandbox import sandboxed_device
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
    """Run a kernel's checked build, and return all that is wrong with it.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose `// buffer:` lines, or
        the arrays in the file `buffers`, say what it takes.
    tools
        Which findings count: "mem", "race", "init", "sync", "arithmetic"; "all" for every one.
    sizes, dtype, seed
        Of a task: its small sizes and the kernel's first element type, if none are given.
    tunables, include_dirs
        Values of `// tune:` lines, else their first ones; where to look for includes.
    time_limit
        Seconds for one size.

    Raises CompileError, and DeclarationError or DispatchError if lines, arguments or sizes are
    wrong. Of a kernel there is never an exception: what it does is a finding.
    """
    wanted = tools_of([tools] if isinstance(tools, str) else tools)
    what = subject(kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs)
    return check_subject(
        what,
        sandboxed_device(),
        wanted,
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
    file = str(what.kernel.path)
    known = [
        each for each in allowances(what.kernel.source, file) if kind_named(each.kind).tool in tools
    ]
    built = compile_kernel(
        device,
        what.kernel,
        what.task,
        dtype_name=dtype or what.kernel.dtypes[0],
        tunables=tunables,
        checked=True,
        tools=tools,
    )
    found = [
        placed(finding)
        for size in what.sizes
        for finding in CheckedRun(what, built, size, seed).findings(time_limit)
        if finding.of.tool in tools
    ]
    counting, allowed, unused = sorted_out(folded(found), known, file)
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=what.kernel.source,
    )
