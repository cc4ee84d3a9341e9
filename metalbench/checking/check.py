"""Run the checked build of one kernel, in a process with only the kernel and its buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.checking.allowances import Suppression, apply_suppressions, read_suppressions
from metalbench.checking.checked_run import CheckedRun
from metalbench.checking.finding import Finding, Findings, merge_findings
from metalbench.checking.kinds import ALL, find_kind, parse_tools
from metalbench.checking.subject import Subject, resolve_subject
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
    """Run a kernel's checked build, for at most `time_limit` s a size; return all findings.

    Parameters
    ----------
    kernel
        NAME of a task of the library or of `folders`; or FILE.metal whose header declares its
        arguments, with the arrays in the file `buffers`.
    tools
        The tools to apply: "mem", "race", "init", "sync", "arithmetic", or "all".
    sizes, dtype, seed
        Of a task: by default its small sizes and the kernel's first element type.
    tunables, include_dirs
        Values of `// tune:` lines, by default their first ones; folders of includes.

    Raises CompileError, and DeclarationError or DispatchError if lines, arguments or sizes are
    wrong. A fault of the kernel is a finding, never an exception.
    """
    what = resolve_subject(
        kernel, sizes=sizes, buffers=buffers, folders=folders, include_dirs=include_dirs
    )
    return check_subject(
        what,
        open_sandboxed_device(),
        parse_tools([tools] if isinstance(tools, str) else tools),
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
    relocate: Callable[[Finding], Finding] = lambda finding: finding,
) -> Findings:
    """Check a resolved subject, as `check`, on a device with checked builds.

    `relocate` maps a finding to its place in the user's file. Raises CompileError, and
    DispatchError if the kernel's lines are wrong.
    """
    known = _read_suppressions_of(what, tools)
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
    found = [relocate(each) for run in runs for each in run if each.kind_info.tool in tools]
    counting, allowed, unused = apply_suppressions(
        merge_findings(found), known, str(what.kernel.path)
    )
    return Findings(
        kernel=what.kernel.name,
        sizes=what.sizes,
        tools=tuple(tools),
        found=tuple(counting),
        allowed=tuple(allowed),
        unused=tuple(unused),
        source=what.kernel.source,
    )


def _read_suppressions_of(what: Subject, tools: Sequence[str]) -> list[Suppression]:
    """Return the source's suppressions for findings of these tools."""
    every = read_suppressions(what.kernel.source, str(what.kernel.path))
    return [each for each in every if find_kind(each.kind).tool in tools]
