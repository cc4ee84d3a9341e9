"""Describe a task and the arguments of its kernel, before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from metalbench.devices import find_kind
from metalbench.report import numbers
from metalbench.report.terminal import HEADING, QUIET, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metalbench._core import Device, Pipeline
    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.task import Task
    from metalbench.task.inputs import Array


def task_section(entry: Entry) -> Group:
    """Describe the task: inputs, outputs, and sizes with their work."""
    task = entry.task
    arrays = Table.grid(padding=(0, 2, 0, 0))
    for name, given in task.inputs.items():
        becomes = f"; may become {task.inout[name]} in place" if name in task.inout else ""
        arrays.add_row("  in", name, _shape(given), _type(given), given.distribution + becomes)
    for name, made in task.outputs.items():
        arrays.add_row("  out", name, _shape(made), _type(made), "")
    for name, value in task.constants.items():
        arrays.add_row("  const", name, f"{value:g}", "", "")
    files = ", ".join(path.name for path in entry.kernel_paths) or "no kernel yet"
    return Group(
        Text(entry.name, style=HEADING) + Text(f"  {task.description}", style="not bold"),
        Text(f"set {entry.set}; kernels: {files}; compared with {task.baseline}", style=QUIET),
        Text(),
        arrays,
        Text("\nSizes", style=HEADING),
        _sizes(entry),
    )


def _shape(array: Array) -> str:
    return f"({', '.join(map(str, array.shape))})"


def _type(array: Array) -> str:
    return array.dtype.name if array.dtype else "of the run"


def _sizes(entry: Entry) -> Table:
    task = entry.task
    table = Table.grid(padding=(0, 2, 0, 0))
    for size, extents in task.sizes.items():
        table.add_row(
            f"  {size}",
            _extents(extents),
            numbers.quantity(task.flops(size), "FLOP"),
            numbers.size(task.bytes(size, task.dtypes[0])),
            Text(_headline(task, size), style=QUIET),
        )
    return table


def _headline(task: Task, size: str) -> str:
    """Return the devices on which a size is the headline size."""
    first, *larger = task.gpu_headlines
    if size in larger:
        return "headline on a fast GPU"
    if size == first != task.headline:
        return "headline on a GPU"
    return "headline" if size == task.headline else ""


def _extents(extents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {extent}" for name, extent in extents.items())


def source_text(kernel: Kernel, *, terminal: bool) -> Group:
    """Return the kernel's source, in colour on a terminal and verbatim in a pipe."""
    shown: RenderableType = Text(kernel.source)
    if terminal:
        shown = Syntax(kernel.source, "cpp", theme="ansi_dark", background_color="default")
    return Group(Text(f"\n{kernel.path}", style=HEADING), shown)


def _describe_mode(device: Device, pipeline: Pipeline) -> str:
    """Return the execution mode on the cpu device; empty for a GPU."""
    if not find_kind(device.kind).is_simulated:
        return ""
    return (
        f"; {'uses barriers or SIMD-group functions' if pipeline.needs_fibers else 'a plain loop'}"
    )


def reflection(pipelines: Iterable[Pipeline], device: Device, *, terminal: bool) -> Group:
    """List the arguments of compiled kernels, and their limits on a device."""
    blocks: list[RenderableType] = []
    for pipeline in pipelines:
        title = Text(f"\n{pipeline.name}", style=HEADING)
        title.append(
            f"  at most {pipeline.max_threads} threads, {pipeline.threadgroup_bytes} bytes of "
            f"threadgroup memory{_describe_mode(device, pipeline)}",
            style="not bold",
        )
        table = plain_table(terminal=terminal)
        for name in ("argument", "index", "type", "address space", "access"):
            table.add_column(name, no_wrap=True)
        for each in pipeline.arguments:
            index = f"{each.kind}({each.index})"
            # As text: a type such as `texture2d<float>` is not markup.
            row = (each.name, index, each.type, each.address_space, each.access)
            table.add_row(*map(Text, row))
        blocks += [title, table]
    return Group(*blocks)


# Execution modes of the MSL engine for each kernel, with reasons.

LEGEND = (
    "loops: threads are the iterations of a loop. vectors: threads are the elements of vectors. "
    "fibers: each thread has a separate stack."
)


def engine_table(builds: Mapping[bool, Sequence[Pipeline]], *, terminal: bool) -> Group:
    """Return a table of execution modes; `builds` maps checked or not to the compiled kernels."""
    table = plain_table(terminal=terminal)
    for name in ("kernel", "build", "runs as"):
        table.add_column(name, no_wrap=True)
    table.add_column("because")
    for name in dict.fromkeys(each.name for pipelines in builds.values() for each in pipelines):
        for checked, pipelines in builds.items():
            for each in pipelines:
                if each.name == name:
                    build = "checked" if checked else "plain"
                    table.add_row(
                        *map(Text, (name, build, describe_engine(each), explain_engine(each)))
                    )
    return Group(table, Text(f"\n{LEGEND}", style=QUIET))


def describe_engine(pipeline: Pipeline) -> str:
    """Return the execution mode: `vectors of 32, 16 or 8 threads`."""
    if not pipeline.engine_widths:
        return pipeline.engine
    *others, least = map(str, pipeline.engine_widths)
    widths = f"{', '.join(others)} or {least}" if others else least
    return f"{pipeline.engine} of {widths} threads"


def explain_engine(pipeline: Pipeline) -> str:
    """Return the reason for the execution mode."""
    return pipeline.engine_reason or "its threads synchronise"
