"""The pages of the headers: complete, current, and with examples that compute what NumPy does.

The examples are taken from the pages. Those of docs/examples run here in a checked build; those of
the library run on one size of their task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from short_form import is_in_sample
from tool_module import load_tool

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.kernel.source_files import include_folders
from metalbench.verify import VerifyPlan, verify

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
PAGES = ROOT / "docs/reference/headers"
RANDOM = np.random.default_rng(7)
QUICK = 12  # the sample of the short form has one kernel of the library in this number


TOOL_MODULE = load_tool("headers_md")
PLACES = {
    name: example for _, headers in TOOL_MODULE.GROUPS.values() for name, example in headers.items()
}


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


@dataclass(frozen=True)
class Case:
    """Inputs and sizes of an example, and its outputs by NumPy."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    tolerance: float = 1e-5


def softmax(x: np.ndarray) -> np.ndarray:
    found = np.exp(x - x.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def quads() -> Case:
    x = normal(3, 37, dtype=np.float16)
    return Case({"x": x, "cols": 37, "rows": 3}, {"y": 2 * x}, 0)


def inlined() -> Case:
    x = normal(3, 128)
    return Case({"x": x, "cols": 128, "rows": 3}, {"y": x[:, ::-1]}, 0)


def divisor() -> Case:
    x, weight, bias = normal(9, 37), normal(37), normal(3)
    y = wide(x) * weight + np.repeat(bias, 4)[:9, None]
    inputs = {"x": x, "weight": weight, "bias": bias, "cols": 37, "rows": 9, "group": 4}
    return Case(inputs, {"y": y})


def elementwise() -> Case:
    a, b = normal(1027), normal(1027)
    return Case({"a": a, "b": b, "count": 1027}, {"y": np.hypot(wide(a), wide(b))})


def typed() -> Case:
    a, b = (RANDOM.integers(0, 2**32, 1027, dtype=np.uint32) for _ in range(2))
    return Case({"a": a, "b": b, "count": 1027}, {"y": a & ~b}, 0)


def activations() -> Case:
    x = normal(515)
    mish = x * np.tanh(np.log1p(np.exp(wide(x))))
    leaky = np.where(x < 0, np.float32(0.25) * x, x)
    return Case({"x": x, "count": 515, "slope": 0.25}, {"y": mish, "z": leaky})


def reduce() -> Case:
    x = normal(3, 301)
    return Case({"x": x, "cols": 301, "rows": 3}, {"y": wide(x).sum(1)})


def rows() -> Case:
    x = normal(3, 251)
    return Case({"x": x, "cols": 251, "rows": 3}, {"y": x - x.max(1, keepdims=True)}, 0)


def arg_rows() -> Case:
    x = normal(3, 301).round(1)  # with equal elements
    return Case({"x": x, "cols": 301, "rows": 3}, {"y": x.argmax(1).astype(np.uint32)}, 0)


def softmax_rows() -> Case:
    x = normal(2, 1501, dtype=np.float16)
    return Case({"x": x, "cols": 1501, "rows": 2}, {"y": softmax(wide(x)).astype(np.float16)}, 1e-3)


def norm() -> Case:
    x, residual, weight = normal(2, 301), normal(2, 301), normal(301)
    total = wide(x) + residual
    scale = np.sqrt((total**2).mean(1, keepdims=True) + 1e-5)
    inputs = {"x": x, "residual": residual, "weight": weight, "cols": 301, "rows": 2, "eps": 1e-5}
    return Case(inputs, {"y": total / scale * weight})


def scan() -> Case:
    x = normal(2, 701)
    return Case({"x": x, "cols": 701, "rows": 2}, {"y": wide(x)[:, ::-1].cumsum(1)[:, ::-1]}, 1e-4)


def sort() -> Case:
    x = normal(2, 301)
    return Case({"x": x, "cols": 301, "rows": 2}, {"y": np.sort(x, 1)}, 0)


def array_sum() -> Case:
    x = normal(9001)
    return Case({"x": x, "count": 9001}, {"y": (wide(x) ** 2).sum()[None]})


def columns() -> Case:
    x = normal(2, 19, 70)
    return Case({"x": x, "batch": 2, "rows": 19, "cols": 70}, {"y": wide(x).mean(1)})


def tiles() -> Case:
    a, b, c0 = normal(37, 50), normal(50, 41), normal(37, 41)
    inputs = {"a": a, "b": b, "c0": c0, "m": 37, "n": 41, "k": 50}
    return Case(inputs, {"c": 2 * wide(a) @ wide(b) + c0})


def matvec() -> Case:
    a, x = normal(19, 301, dtype=np.float16), normal(301, dtype=np.float16)
    return Case({"a": a, "x": x, "rows": 19, "cols": 301}, {"y": wide(a) @ (wide(x) + 1)}, 1e-4)


def linear() -> Case:
    x, w, bias = normal(37, 50), normal(41, 50), normal(41)
    inputs = {"x": x, "w": w, "bias": bias, "batch": 37, "inner": 50, "features": 41}
    return Case(inputs, {"y": np.maximum(wide(x) @ wide(w).T + bias, 0)})


def attention() -> Case:
    q, k, v = normal(45, 40), normal(45, 40), normal(45, 40)
    scores = wide(q) @ wide(k).T / np.sqrt(40)
    query, key = np.indices(scores.shape)
    scores[(key > query) | (key + 7 <= query)] = -np.inf
    inputs = {"q": q, "k": k, "v": v, "tokens": 45, "dims": 40, "width": 7}
    return Case(inputs, {"y": softmax(scores) @ v}, 1e-4)


def decode() -> Case:
    """Five heads, whose numbers of keys and dims fill neither a turn nor a quad."""
    heads, keys, dims, sinks, recent = 5, 333, 70, 3, 130
    q, k, v = normal(heads, dims), normal(heads, keys, dims), normal(heads, keys, dims)
    scores = np.einsum("hd,hkd->hk", wide(q), k) / np.sqrt(dims)
    scores[:, sinks : keys - recent] = -np.inf
    sizes = {"heads": heads, "keys": keys, "dims": dims, "sinks": sinks, "recent": recent}
    y = np.einsum("hk,hkd->hd", softmax(scores), v)
    return Case({"q": q, "k": k, "v": v, **sizes}, {"y": y}, 1e-4)


def pool() -> Case:
    x = normal(3, 20, 6)
    windows = np.lib.stride_tricks.sliding_window_view(wide(x), 3, 1)[:, ::2]
    return Case({"x": x, "batch": 3, "length": 20, "channels": 6}, {"y": windows.mean(-1)})


def fourier() -> Case:
    x = normal(3, 60)
    return Case({"x": x, "rows": 3}, {"y": np.abs(np.fft.fft(wide(x))) ** 2}, 1e-4)


def quantised_matvec() -> Case:
    rows, cols = 19, 160
    codes = RANDOM.integers(0, 16, (rows, cols), np.uint32)
    scales = RANDOM.integers(124, 131, (rows, cols // 32), np.uint8)
    # E2M1: a sign, and one of eight sizes.
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes % 8]
    weights = np.where(codes < 8, sizes, -sizes) * np.exp2(scales.repeat(32, 1) - 127.0)
    words = (codes.reshape(rows, -1, 8) << np.arange(0, 32, 4, np.uint32)).sum(-1, dtype=np.uint32)
    gate, up = normal(cols, dtype=np.float16), normal(cols, dtype=np.float16)
    inputs = {"codes": words, "scales": scales, "gate": gate, "up": up, "rows": rows, "cols": cols}
    return Case(inputs, {"y": weights @ (wide(gate) * up)}, 1e-4)


def philox() -> Case:
    """The words of the published algorithm, in 64-bit integers."""
    counter = [np.arange(100, dtype=np.uint64), *(np.zeros(100, np.uint64) for _ in range(3))]
    key = [np.uint64(0x12345678), np.uint64(0x9ABCDEF0)]
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        even, odd = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [
            (odd >> shift) ^ counter[1] ^ key[0],
            odd & low,
            (even >> shift) ^ counter[3] ^ key[1],
            even & low,
        ]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    words = np.stack(counter, 1).astype(np.uint32)
    inputs = {"key": np.array([0x12345678, 0x9ABCDEF0], np.uint32), "count": 100}
    return Case(inputs, {"y": words}, 0)


CASES = {
    each.__name__: each
    for each in (
        *(quads, inlined, elementwise, typed, activations, reduce, rows, arg_rows, norm, scan),
        *(sort, array_sum, columns, divisor, matvec, tiles, linear, attention, philox),
        *(decode, pool, fourier, quantised_matvec),
    )
} | {"softmax": softmax_rows}


def shown_examples() -> dict[str, str]:
    """Return the text of each example in the pages, by the stem of its file."""
    found = {}
    for page in PAGES.glob("*.md"):
        pattern = r"Example, \[([^]]+)\.metal\]\(([^)]+)\):\n\n```cpp\n(.*?)\n```"
        for stem, link, text in re.findall(pattern, page.read_text(), re.DOTALL):
            assert (page.parent / link).is_file()
            found[stem] = text
    return found


def test_the_pages_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL_MODULE.main(["--check"]) == 0, capsys.readouterr().err


def test_every_header_has_a_section_and_an_example_that_uses_it() -> None:
    headers = {each.stem for each in TOOL_MODULE.HEADERS.glob("*.h")}
    assert set(PLACES) == headers
    pages = {each.stem: each.read_text() for each in PAGES.glob("*.md")}
    for page, (_, listed) in TOOL_MODULE.GROUPS.items():
        for name, example in listed.items():
            assert f"\n## `{name}.h`\n" in pages[page]
            assert f"[`{name}.h`]({page}.md#{name}h)" in pages["index"]
            text = TOOL_MODULE.example_path(example).read_text()
            assert name in included_headers(text), name
    assert {each.stem for each in EXAMPLES.glob("*.metal")} == set(CASES)


def included_headers(text: str) -> set[str]:
    """Return the names of headers that a text includes, directly and through others."""
    found: set[str] = set()
    waiting = [text]
    while waiting:
        for name in re.findall(r'#include "metalbench/(\w+)\.h"', waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append((TOOL_MODULE.HEADERS / f"{name}.h").read_text())
    return found


def extents(expressions: Sequence[Any], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(each.evaluate(values) for each in expressions)


@pytest.mark.parametrize("name", CASES)
def test_an_example_computes_what_numpy_does(name: str) -> None:
    text = shown_examples()[name]
    case = CASES[name]()
    kernel = parse(text, name=name)
    values = {key: value for key, value in case.inputs.items() if isinstance(value, int)}
    assert not [str(each) for each in kernel.limits if each.find_violation(values)]
    library = _core.open("cpu").compile(
        text, include_dirs=include_folders(), checked=True, fast_math=False
    )
    arrays = {
        **case.inputs,
        **{key: np.zeros(each.shape, each.dtype) for key, each in results(case).items()},
        **{
            each.name: np.zeros(extents(each.shape, values), np.float32)
            for each in kernel.scratches
        },
    }
    memory = 0
    for line in kernel.dispatches:
        pipeline = library.pipeline(line.function)
        memory = max(memory, pipeline.threadgroup_bytes)
        grid = {
            side: extents(found, values)
            for side in ("threadgroups", "threads_in_grid")
            if (found := getattr(line, side))
        }
        bound = {each.name: arrays[each.name] for each in pipeline.arguments}
        _core.open("cpu").run(
            [_core.Dispatch(pipeline, bound, threads=extents(line.threads, values), **grid)]
        )
    for key, expected in results(case).items():
        np.testing.assert_allclose(
            wide(arrays[key]), wide(expected), rtol=case.tolerance, atol=case.tolerance
        )
    assert f"Threadgroup memory: {memory} bytes." in kernel.description


def results(case: Case) -> dict[str, np.ndarray]:
    """Return the expected outputs; what NumPy has in float64 is float32 in kernels."""
    return {
        key: each.astype(np.float32) if each.dtype == np.float64 else np.ascontiguousarray(each)
        for key, each in case.outputs.items()
    }


LIBRARY = Library()


def library_examples() -> Iterator[object]:
    for example in sorted({each for each in PLACES.values() if "/" in each}):
        name = example.rpartition("/")[2]
        marks = () if is_in_sample(f"example-{name}", QUICK) else pytest.mark.slow
        yield pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", list(library_examples()))
def test_a_kernel_of_the_library_on_a_page_agrees_with_the_oracle(name: str) -> None:
    name_of_task, _, variant = name.partition(".")
    file = next(iter((ROOT / "kernels").rglob(f"{name}.metal")))
    instances = parse(file.read_text(), name=name_of_task, path=file, variant=variant).instances
    # A file of several tasks has the name of the first one, or its instances have their names.
    if name_of_task not in [*LIBRARY.names("all"), *LIBRARY.names("kernelbench")]:
        name_of_task = next(iter(instances))
    entry = LIBRARY.entry(name_of_task)
    kernel = parse(shown_examples()[name], name=entry.name, path=file, variant=variant)
    builds = Builds(_core.open("cpu"), kernel, entry.task, dtype_name=kernel.dtypes[0])
    report = verify(builds, VerifyPlan(sizes=["small"], seeds=[0]))
    assert report.passed, report.findings
