"""Kernels with one text are compiled once for all programs, also of later processes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from metalbench import build_cache
from metalbench.hlo.codegen.writer import THREAD, KernelWriter
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime import kernels
from metalbench.hlo.runtime.executable import Executable, open_device
from metalbench.hlo.runtime.kernels import KernelCache
from metalbench.hlo.runtime.plan import build_plan


def build(operation, shape, *, level=2):
    """Return the plan of a program with two arguments of a shape."""
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
      %0 = stablehlo.{operation} %a, %b : {type_}
      return %0 : {type_}
    }}"""
    return build_plan(import_program(text), level, device="cpu")


def list_texts(plan):
    return [each.nameless_text for each in plan.iterate_kernels()]


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Return the list of sources that are compiled, with an empty cache and no shared kernels."""
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    found = []
    plain = KernelCache._compile_source

    def compile_source(self, source, names):
        found.append(source.text)
        return plain(self, source, names)

    monkeypatch.setattr(KernelCache, "_compile_source", compile_source)
    kernels.find_kernels.cache_clear()
    yield found
    kernels.find_kernels.cache_clear()


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (8, 1, 8), (64, 2)])
def test_elementwise_kernels_of_all_shapes_have_one_text(shape):
    threads = int(np.prod(shape))
    other = (threads,)
    assert list_texts(build("add", shape)) == list_texts(build("add", other))
    assert list_texts(build("add", shape)) != list_texts(build("multiply", shape))


def test_programs_share_a_compiled_kernel(compiled):
    x = np.arange(24, dtype="f4")
    for shape in ((4, 6), (2, 3, 4), (24,)):
        (found,) = Executable(build("add", shape), device="cpu")(*[x.reshape(shape)] * 2)
        assert np.array_equal(found, 2 * x.reshape(shape))
    assert len(compiled) == 1


def test_a_new_process_finds_the_source_of_a_kernel(compiled):
    Executable(build("add", (24,)), device="cpu")
    kernels.find_kernels.cache_clear()
    Executable(build("add", (4, 6)), device="cpu")
    assert len(compiled) == 2
    assert compiled[0] == compiled[1]


def test_kernels_of_two_sources_are_found_in_both(compiled):
    cache = KernelCache(open_device("cpu"), checked=False)
    cache.compile(build("add", (24,)).iterate_kernels())
    cache.compile(build("multiply", (24,)).iterate_kernels())
    del compiled[:]
    both = [
        *build("add", (4, 6)).iterate_kernels(),
        *build("multiply", (4, 6)).iterate_kernels(),
        *build("subtract", (4, 6)).iterate_kernels(),
    ]
    found = KernelCache(open_device("cpu"), checked=False).compile(both)
    assert sorted(found) == sorted(each.name for each in both)
    assert len(compiled) == 3


@pytest.mark.parametrize("damage", ["remove", "change"])
def test_a_damaged_source_is_compiled_anew(compiled, damage):
    Executable(build("add", (24,)), device="cpu")
    (file,) = build_cache.find_cache_folder().rglob("*.metal")
    if damage == "remove":
        file.unlink()
    else:
        file.write_text(file.read_text().replace("+", "-"))
    kernels.find_kernels.cache_clear()
    x = np.ones(24, "f4")
    (found,) = Executable(build("add", (24,)), device="cpu")(x, x)
    assert np.array_equal(found, x + x)


def test_checked_kernels_are_not_shared_with_others(compiled):
    Executable(build("add", (24,)), device="cpu")
    Executable(build("add", (24,)), device="cpu", checked=True)
    assert len(compiled) == 2


def test_small_kernels_are_compiled_with_few_passes(compiled):
    small, large = build("add", (24,)), build("add", (2 * kernels.QUICK_THREADS,))
    assert list_texts(small) == list_texts(large)
    for number, (plan, is_quick) in enumerate([(small, True), (large, False), (small, False)]):
        cache = KernelCache(open_device("cpu"), checked=False)
        cache.compile(plan.iterate_kernels())
        assert [each.is_quick for each in cache._pipelines.values()] == [is_quick]
        assert len(compiled) == number + 1


def test_a_large_kernel_replaces_a_small_one_of_the_same_process(compiled):
    cache = KernelCache(open_device("cpu"), checked=False)
    for size in (24, 2 * kernels.QUICK_THREADS, 24):
        cache.compile(build("add", (size,)).iterate_kernels())
    assert len(compiled) == 2
    assert [each.is_quick for each in cache._pipelines.values()] == [False]


def test_small_and_large_kernels_of_a_program_are_one_source(compiled):
    both = [
        *build("add", (24,)).iterate_kernels(),
        *build("multiply", (2 * kernels.QUICK_THREADS,)).iterate_kernels(),
    ]
    cache = KernelCache(open_device("cpu"), checked=False)
    cache.compile(both)
    assert len(compiled) == 1
    assert [each.is_quick for each in cache._pipelines.values()] == [False, False]


@pytest.mark.parametrize("length", ["for (", "lines"])
def test_long_kernels_are_not_small(length):
    (kernel,) = build("add", (24,)).iterate_kernels()
    assert kernels.is_small(kernel)
    more = "for (;;) {}" if length == "for (" else "\n" * kernels.QUICK_LINES
    assert not kernels.is_small(replace(kernel, text=kernel.text + more))


def test_old_kernels_are_dropped(compiled, monkeypatch):
    monkeypatch.setattr(kernels, "MAX_KERNELS", 1)
    cache = KernelCache(open_device("cpu"), checked=False)
    for operation in ("add", "multiply", "multiply", "add"):
        cache.compile(build(operation, (24,)).iterate_kernels())
    assert len(compiled) == 3


@pytest.mark.parametrize("seed", range(40))
def test_linearize_is_the_row_major_number(seed):
    random = np.random.default_rng(seed)
    shape = random.choice([1, 2, 3, 4, 8], random.integers(1, 5)).tolist()
    writer = KernelWriter({}, set())
    index = writer.unravel_index(THREAD, shape)
    axes = random.permutation(len(shape))[: random.integers(1, len(shape) + 1)]
    if seed % 2:
        axes = sorted(axes)
    operand = [shape[axis] for axis in axes]
    text = writer.linearize([index[axis] for axis in axes], operand)
    # Then as a number of another shape with as many elements.
    other = writer.unravel_index(text, [*operand, 1]) if text == THREAD else None
    for number in range(int(np.prod(shape))):
        names = {}
        for line in writer.lines:
            _, name, expression = re.fullmatch(r" *(const int) (\w+) = (.*);", line).groups()
            names[name] = evaluate(expression, number, names)
        places = np.unravel_index(number, shape)
        expected = np.ravel_multi_index([places[axis] for axis in axes], operand)
        assert evaluate(text, number, names) == expected
        for axis, place in enumerate(index):
            assert evaluate(place, number, names) == places[axis]
        if other is not None:
            found = [evaluate(each, number, names) for each in other]
            assert found == [*np.unravel_index(number, operand), 0]


def evaluate(expression, number, names):
    """Return the value of an index expression of a thread."""
    return eval(expression.replace("int(i)", str(number)).replace("/", "//"), {}, names)


def test_indices_that_nothing_uses_are_not_written():
    writer = KernelWriter({}, set())
    index = writer.unravel_index(THREAD, (4, 8, 16))
    writer.add_line(f"out0[i] = in0[{writer.linearize(index[1:], (8, 16))}];")
    assert [each.strip() for each in writer.list_lines()] == [
        "const int i1 = int(i) % 128;",
        "out0[i] = in0[i1];",
    ]
