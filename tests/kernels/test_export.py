"""Exported kernels need no other file, and compute the bits of the library's kernels.

Without -m slow a sample of them.
"""

from __future__ import annotations

import inspect
import itertools
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mlx.core as mx
import pytest
from metal_double.compiler import compiler
from short_form import is_in_sample

from metalbench import _core
from metalbench.errors import DeclarationError, Unsupported
from metalbench.expression import Parser
from metalbench.kernel.export import export_kernel
from metalbench.kernel.header import Limit, parse
from metalbench.kernel.host_code import (
    plan_host_code,
    write_mlx_code,
    write_objc_code,
    write_swift_code,
)
from metalbench.kernel.host_limits import write_cpp_checks, write_python_checks
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.mlx import metal_kernel, patch_mlx
from metalbench.reference.evaluate import to_mlx, to_numpy
from metalbench.task.workload import workload

LIBRARY = Library()
INCLUDE = Path(__file__).parents[1] / "metal_double/include"
QUICK = 24  # the sample of the short form has one kernel in this number
# The first is always in the short form: a small one.
HOSTS = ("transpose_2d", "mse_loss", "rms_norm", "matvec", "argmax", "top_k", "softmax")
# Kernels with limits, and values that a limit excludes, with the message.
VIOLATIONS = [
    ("sort_rows", {"rows": 1, "cols": 8193}, "cols: expected cols <= 8192, got cols = 8193"),
    (
        "mha_attention",
        {"tokens": 8, "dims": 66, "heads": 4},
        "dims, heads: expected dims % heads == 0, got dims = 66, heads = 4",
    ),
    (
        "mha_attention",
        {"tokens": 8, "dims": 64, "heads": 0},
        "dims, heads: expected dims % heads == 0, got dims = 64, heads = 0",
    ),
    (
        "mha_attention",
        {"tokens": 8, "dims": 516, "heads": 4},
        "dims, heads: expected dims / heads <= 128, got dims = 516, heads = 4",
    ),
    (
        "qmv4",
        {"rows": 32, "cols": 96},
        "cols: expected cols % 64 == 0, got cols = 96",
    ),
    (
        "relu",
        {"rows": 2**16, "cols": 2**16},
        "rows, cols: expected rows * cols <= 4294967292, got rows = 65536, cols = 65536",
    ),
    (
        "softmax",
        {"rows": 8, "cols": 2**32},
        "cols: expected 0 <= cols <= 4294967295, got cols = 4294967296",
    ),
]


def list_by_speed() -> Iterator[object]:
    for name in LIBRARY.names("all"):
        marks = () if is_in_sample(f"export-{name}", QUICK) else pytest.mark.slow
        yield pytest.param(name, id=name, marks=marks)


def computed(kernel, task, dtype: str) -> dict[str, bytes]:
    """Return the bits of all outputs at the small size."""
    device = _core.open("cpu")
    work = workload(task, next(iter(task.sizes)), dtype_name=dtype)
    bound = compile_kernel(device, kernel, task, dtype_name=dtype).bind(work)
    bound.poison()
    device.run(bound.dispatches)
    return {name: bound.read(name).tobytes() for name in bound.outputs}


@pytest.mark.parametrize("name", list(list_by_speed()))
def test_an_exported_kernel_computes_the_same_bits_and_its_checks_accept_the_headline(
    name, tmp_path
):
    entry = LIBRARY.entry(name)
    kernel = entry.kernel(_core.open("cpu"))
    dtype = kernel.dtypes[-1]
    exported = export_kernel(kernel, dtype_name=dtype)
    assert '#include "' not in exported.text
    assert "DTYPE" not in exported.text
    alone = parse(exported.text, name=name, path=tmp_path / f"{name}.metal")
    assert not alone.tunables
    assert computed(alone, entry.task, dtype) == computed(kernel, entry.task, dtype)
    plan = plan_host_code(exported, entry.task)
    space: dict[str, object] = {}
    exec(write_python_checks(*plan.checks), space)
    check = space.get("check_arguments")
    if check is not None:
        values = {**plan.task.constants, **plan.task.sizes[plan.task.headline]}
        check(**{each: values[each] for each in inspect.signature(check).parameters})


@cache
def planned(name: str, **options):
    entry = LIBRARY.entry(name)
    return plan_host_code(export_kernel(entry.kernel(), **options), entry.task)


@pytest.mark.parametrize("name", HOSTS)
def test_the_code_for_mlx_computes_the_same_bits(name):
    entry = LIBRARY.entry(name)
    kernel = entry.kernel()
    dtype = kernel.dtypes[-1]
    task, work = entry.task, workload(entry.task, "small", dtype_name=dtype)
    space: dict[str, object] = {}
    undo = patch_mlx(device="cpu")
    try:
        exec(write_mlx_code(planned(name, dtype_name=dtype)), space)
        function = space[name]
        named = inspect.signature(function).parameters
        sizes = {each: value for each, value in work.values.items() if each in named}
        with mx.stream(mx.cpu):
            got = function(**{each: to_mlx(v) for each, v in work.inputs.items()}, **sizes)
    finally:
        undo()
    got = got if isinstance(got, tuple) else (got,)
    bits = dict(zip(task.outputs, (to_numpy(each).tobytes() for each in got), strict=True))
    assert bits == computed(kernel, task, dtype)


@pytest.mark.parametrize(("name", "values", "message"), VIOLATIONS)
def test_checks_in_python_refuse_what_a_limit_excludes(name, values, message):
    space: dict[str, object] = {}
    exec(write_python_checks(*planned(name).checks), space)
    check = space["check_arguments"]
    with pytest.raises(ValueError, match=f"^{re.escape(f'[{name}] {message}')}$"):
        check(**{each: values[each] for each in inspect.signature(check).parameters})


def test_the_function_for_mlx_checks_before_it_launches():
    space: dict[str, object] = {}
    undo = patch_mlx(device="cpu")
    try:
        exec(write_mlx_code(planned("relu")), space)
        with mx.stream(mx.cpu):
            assert space["relu"](mx.zeros((64, 64))).shape == (64, 64)
            # An array without memory: a launch would read 16 GiB.
            large = mx.broadcast_to(mx.zeros(1), (2**16, 2**16))
            with pytest.raises(ValueError, match=r"expected rows \* cols <= 4294967292, got rows"):
                space["relu"](large)
    finally:
        undo()


# A limit with every operator and function, and numbers on both sides of it.
ARITHMETIC = "min(a - b, a) / b % 5 + ceil_div(a, b) * max(b, 2) <= 40"


def test_checks_in_cpp_agree_with_the_limits(tmp_path):
    """The C++ is run, with numbers that overflow and a divisor of zero among them."""
    kernels = [*dict.fromkeys(name for name, _, _ in VIOLATIONS)]
    code = [write_cpp_checks(*planned(name).checks) for name in kernels]
    parser = Parser(ARITHMETIC)
    left = parser.expression()
    parser.expect("<=")
    limit = Limit(left, "<=", parser.expression(), 1)
    code.append(write_cpp_checks("arithmetic", (), (limit,)))
    calls = []
    expected = []
    for name, values, message in VIOLATIONS:
        signature = next(each for each in code if f" check_{name}(" in each)
        names = re.findall(r"NSUInteger (\w+)", signature.split(f" check_{name}(")[1].split(")")[0])
        calls.append(f"check_{name}({', '.join(f'{values[each]}ul' for each in names)})")
        expected.append(f"[{name}] {message}")
    for a, b in itertools.product((0, 1, 2, 7, 19, 63, 2**62, 2**63, 2**64 - 1), repeat=2):
        calls.append(f"check_arithmetic({a}ul, {b}ul)")
        try:
            is_held = not limit.find_violation({"a": a, "b": b})
        except DeclarationError:
            is_held = False
        got = f"[arithmetic] a, b: expected {ARITHMETIC}, got a = {a}, b = {b}"
        expected.append("" if is_held else got)
    assert "" in expected
    prints = "".join(f"  std::puts({call}.c_str());\n" for call in calls)
    file, program = tmp_path / "checks.cpp", tmp_path / "checks"
    file.write_text(
        "#include <algorithm>\n#include <cstdint>\n#include <cstdio>\n#include <optional>\n"
        "#include <string>\n#include <string_view>\nusing NSUInteger = unsigned long;\n"
        + "\n".join(code)
        + f"\nint main() {{\n{prints}}}\n"
    )
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
    flags += ["-fsanitize-trap=undefined"]
    subprocess.run([*compiler(), *flags, str(file), "-o", str(program)], check=True)
    answer = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == expected


@pytest.mark.parametrize("name", [*HOSTS, "kv_append", "masked_scatter", "mha_attention", "qmv4"])
def test_the_objective_cpp_compiles_against_headers_of_metal(name, tmp_path):
    file = tmp_path / f"{name}.mm"
    file.write_text(write_objc_code(planned(name)))
    flags = ["-fsyntax-only", "-x", "objective-c++", "-std=c++20", "-fobjc-arc", "-fblocks"]
    flags += ["-fobjc-runtime=macosx-14.0", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    flags += ["-Wno-unused-parameter", "-Wno-nullability-completeness", "-Wno-unused-function"]
    answer = subprocess.run(
        [*compiler(), *flags, str(file)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("name", [*HOSTS, "kv_append", "masked_scatter", "mha_attention", "qmv4"])
def test_the_swift_code_binds_every_argument(name):
    """There is no compiler of Swift here: brackets match, and each index is set once a launch."""
    plan = planned(name)
    text = write_swift_code(plan)
    for opening, closing in ("()", "{}", "[]"):
        assert text.count(opening) == text.count(closing)
    launches = text.split("encoder.setComputePipelineState(")[1:]
    for line, launch in zip(plan.kernel.dispatches, launches, strict=True):
        assert launch.startswith(f"{line.function})")
        for each in plan.arguments(line):
            assert launch.count(f"index: {each.index})") == 1
        assert launch.count("threadsPerThreadgroup:") == 1


@pytest.mark.parametrize("name", ["mha_attention", "sort_rows", "qmv4", "relu"])
def test_the_swift_code_checks_every_limit_before_it_encodes(name):
    plan = planned(name)
    text = write_swift_code(plan)
    assert plan.kernel.limits
    check = text.split("private static func check(")[1].split("\n  }\n")[0]
    for limit in plan.kernel.limits:
        assert f": expected {limit}, got " in check
    for each in plan.sizes:
        assert f"guard 0 <= {each}, {each} <= " in check
    for called in set(re.findall(r"\b(?:add|subtract|multiply|divide|remainder)\(", check)):
        assert f"func {called}" in check
    body = text.split("  func encode(")[1]
    assert body.index("try Self.check(") < body.index("makeComputeCommandEncoder")


def test_values_replace_tunables_and_the_element_type():
    kernel = LIBRARY.entry("kv_append").kernel()
    text = export_kernel(kernel, dtype_name="bfloat16", tunables={"TG": 64}).text
    assert "// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)" in text
    assert "threads=(32, 64 / 32, 1)" in text
    assert "// inout: cache" in text
    assert "// dtypes: bfloat16" in text
    assert "device const bfloat* fresh" in text
    assert "// tune:" not in text
    assert "RowSum" not in text
    with pytest.raises(DeclarationError, match="unknown tunable 'TGS'"):
        export_kernel(kernel, tunables={"TGS": 64})


def test_mlx_cannot_update_in_place():
    with pytest.raises(Unsupported, match="MLX's arrays are values; use --host swift"):
        write_mlx_code(planned("kv_append"))


def test_the_code_for_mlx_passes_no_array_as_constant():
    """MLX does that with arrays of fewer than eight elements, also with scratch memory."""
    sizes = []

    def make_kernel(input_names, **options):
        kernel = metal_kernel(input_names=input_names, device="cpu", **options)

        def call(inputs, **others):
            sizes.extend(each.size for each in inputs if each.ndim > 0)
            return kernel(inputs=inputs, **others)

        return call

    space: dict[str, object] = {"make_kernel": make_kernel}
    exec(write_mlx_code(planned("mse_loss"), make_kernel="make_kernel"), space)
    with mx.stream(mx.cpu):
        x, y = mx.array([[1.0, 2.0, 4.0]]), mx.array([[1.0, 0.0, 0.0]])
        assert abs(float(space["mse_loss"](x, y).item()) - 20 / 3) < 1e-6
    assert len(sizes) >= 3
    assert min(sizes) >= 8
