"""The text of an imported module's task file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metalbench.suites.pytorch.graph import Graph, Name, argument
from metalbench.suites.pytorch.matching import Different, Formula

WIDTH = 100
# Errors grow by as many layers where a file says nothing else.
DEPTH = 4


def text_of(
    name: str,
    file: str,
    graph: Graph,
    *,
    sizes: Mapping[str, Mapping[str, int]],
    flops: Sequence[int],
    title: str,
    varied: Mapping[str, bool],
    depth: int = DEPTH,
    magnitude: float = 0.0,
    why_not_mlx: str = "",
) -> str:
    """A task file; `why_not_mlx` says why PyTorch is the reference, where the body cannot be."""
    body = not why_not_mlx
    imported = sorted({"imported", "given", *(["parameter"] if graph.parameters else [])})
    imported += ["buffer"] if graph.buffers else []
    lines = [f'"""{title}"""', ""]
    lines += [f"from metalbench.suites.pytorch import {', '.join(sorted(imported))}", "", ""]
    head = f"{'@' if body else f'{name} = '}imported("
    lines += [head, f'    "{name}",', f'    "{file}",', "    sizes=dict("]
    for size, values in sizes.items():
        extents = ", ".join(f"{each}={number}" for each, number in values.items())
        lines += _fill_line(f"        {size}=dict(", extents, "),")
    lines += ["    ),", "    inputs=dict(", *_inputs(graph, varied), "    ),", "    outputs=dict("]
    several = len(graph.outputs) > 1
    for place, (shape, kind) in enumerate(graph.outputs):
        called = f"y{place}" if several else "y"
        lines.append(f'        {called}=("{kind}", {_dims(shape)}),'.replace(", ),", ",),"))
    lines += ["    ),", f"    flops=({', '.join(map(str, flops))},),"]
    lines += [f"    depth={depth},"] if depth != DEPTH else []
    lines += [f"    magnitude={magnitude:g},"] if magnitude else []
    if not body:
        return "\n".join([*lines, f")(None)  # {why_not_mlx}", ""])
    lines += [")", *_body(name, graph)]
    return "\n".join([*lines, ""])


def _inputs(graph: Graph, varied: Mapping[str, bool]) -> Iterator[str]:
    for name, shape in graph.inputs.items():
        kind = graph.input_types[name]
        more = [f'dtype="{kind}"'] if kind != "float32" else []
        more += ["varied=False"] if not varied.get(name, True) else []
        yield f"        {name}=given({', '.join([_dims(shape), *more])}),"
    for what, parts in (("parameter", graph.parameters), ("buffer", graph.buffers)):
        for called, shape in parts.items():
            yield f'        {argument(called)}={what}("{called}", {_dims(shape)}),'


def _dims(shape: Sequence[Any]) -> str:
    return ", ".join(map(_dim, shape))


def _dim(each: Any) -> str:
    if isinstance(each, Formula):
        return f'"{each.text}"'
    return repr(each.values) if isinstance(each, Different) else str(each)


def _body(name: str, graph: Graph) -> Iterator[str]:
    names = [*graph.inputs, *map(argument, (*graph.parameters, *graph.buffers))]
    yield from _fill_line(f"def {name}(", ", ".join(["nn", *names]), "):")
    for step in graph.steps:
        written = [_write_value(each) for each in step.arguments]
        written += [f"{option}={_write_value(each)}" for option, each in step.options.items()]
        yield from _fill_line(f"    {step.result} = nn.{step.operation}(", ", ".join(written), ")")
    results = ", ".join(each.text for each in graph.results)
    yield f"    return {results}"


def _write_value(value: Any) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, Formula):
        words = (f"nn.{each}" if each.isidentifier() else each for each in value.text.split())
        return " ".join(words).replace(" / ", " // ")
    if isinstance(value, Different):
        return f"nn.at({', '.join(map(repr, value.values))})"
    if isinstance(value, tuple):
        inner = ", ".join(map(_write_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _fill_line(head: str, inner: str, tail: str) -> list[str]:
    """Return one line, or where that is too long the inner part below, as wide as may be."""
    if len(head) + len(inner) + len(tail) <= WIDTH:
        return [f"{head}{inner}{tail}"]
    indent = " " * (len(head) - len(head.lstrip()))
    wrapped = textwrap.wrap(
        f"{inner},", WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False
    )
    return [head, *(f"{indent}    {line}" for line in wrapped), f"{indent}{tail}"]
