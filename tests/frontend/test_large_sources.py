"""Test long sources and long numbers: linear time, and messages for refused ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.frontend.source import Source

KERNEL = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }\n"
LINES: dict[str, Callable[[int], str]] = {
    "constants": lambda i: f"constant int a{i} = {i};\n",
    "constants of each other": lambda i: f"constant int a{i} = {f'a{i - 1} + 1' if i else 1};\n",
    "function constants": lambda i: f"constant int a{i} [[function_constant({i})]];\n",
    "functions": lambda i: f"inline float f{i}(float x) {{ return x + {i}; }}\n",
    "functions of spaces": lambda i: (
        f"inline int f(device int* x, thread float (*a)[{i}]) {{ return x[0]; }}\n"
    ),
    "records": lambda i: f"struct S{i} {{ float a[4]; float g() const {{ return a[0]; }} }};\n",
    "enumerations": lambda i: f"enum E{i} {{ A{i}, B{i} }};\n",
    "templates": lambda i: (
        f"template <typename T> T t{i}(T x) {{ return x < T({i}) ? x : T(1); }}\n"
    ),
    "namespaces": lambda i: f"namespace n{i} {{ constant int a = {i}; }}\n",
    "other files": lambda i: f'# {i + 10} "x{i}.h"\nconstant int a{i} = {i};\n',
    "kernels": lambda i: f"kernel void k{i}(device float* x) {{ x[0] = {i}; }}\n",
    "aliases": lambda i: f"using T{i} = {f'T{i - 1}' if i else 'float'};\n",
}
# Kinds that took time by the square of their number.
OFTEN = ("function constants", "functions of spaces")


def processor_time(kind: str, count: int) -> float:
    """Seconds of processor time to read and lower a source of `count` lines, the minimum of two."""
    expanded = '# 1 "k.metal"\n' + "".join(map(LINES[kind], range(count))) + KERNEL
    constants = {f"a{i}": 1 for i in range(count)} if kind == "function constants" else {}
    found = []
    for _ in range(2):
        begin = time.process_time()
        lower(Source(expanded, "k.metal", expanded), "k", constants)
        found.append(time.process_time() - begin)
    return min(found)


@pytest.mark.parametrize(
    "kind",
    [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.slow) for kind in LINES],
)
def test_reading_a_source_takes_linear_time(kind: str) -> None:
    """Eight times the length takes eight times the work; quadratic time would be 64 times."""
    assert processor_time(kind, 6400) < 24 * processor_time(kind, 800)


NUMBERS = {"digits": "9" * 5000, "hexadecimal": "0x" + "f" * 5000, "octal": "0" + "7" * 5000}
PLACES = {
    "a value": "kernel void k(device float* x) { x[0] = NUMBER; }",
    "a buffer's index": "kernel void k(device float* x [[buffer(NUMBER)]]) { x[0] = 1; }",
    "a constant that is an index": (
        "constant int c = NUMBER;\nkernel void k(device float* x [[buffer(c)]]) { x[0] = 1; }"
    ),
    "products that are an index": (
        "constant int c = 0xffffffffff * 0xffffffffff * 0xffffffffff;\n"
        "kernel void k(device float* x [[buffer(c)]]) { x[0] = NUMBER; }"
    ),
    "a function constant's index": (
        "constant int c [[function_constant(NUMBER)]];\n"
        "kernel void k(device float* x) { x[0] = c; }"
    ),
    "a limit of threads": (
        "[[kernel, max_total_threads_per_threadgroup(NUMBER)]]\n"
        "void k(device float* x) { x[0] = 1; }"
    ),
    "a threadgroup's array": (
        "kernel void k(device float* x) { threadgroup float s[NUMBER]; x[0] = s[0]; }"
    ),
    "a thread's array": "kernel void k(device float* x) { float s[NUMBER]; x[0] = s[0]; }",
    "an enumerator": "enum E { A = NUMBER };\nkernel void k(device float* x) { x[0] = A; }",
    "a template's argument": (
        "template <ulong N> float f() { return N; }\n"
        "kernel void k(device float* x) { x[0] = f<NUMBER>(); }"
    ),
    "an alignment": (
        "struct alignas(NUMBER) S { int a; };\nkernel void k(device S* x) { x[0].a = 1; }"
    ),
    "a shift": "kernel void k(device float* x) { x[0] = 1 << NUMBER; }",
    "a line": "#line NUMBER\nkernel void k(device float* x) { x[0] = 1; }",
    "a case": ("kernel void k(device float* x) { switch (int(x[0])) { case NUMBER: x[0] = 1; } }"),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", PLACES)
def test_a_number_of_5000_digits_is_an_error_of_the_source(place: str, number: str) -> None:
    source = PLACES[place].replace("NUMBER", NUMBERS[number])
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(source, "k.metal"), "k")
    assert "defect of metalbench" not in str(caught.value)


def test_a_skipped_line_of_5000_digits_does_not_reach_the_compiler() -> None:
    source = f"#if 0\n#line {'9' * 5000}\n#endif\nkernel void k(device float* x) {{ x[0] = q; }}"
    with pytest.raises(CompileError, match="undeclared identifier 'q'"):
        engine.build(engine.parse(source, "k.metal"), "k")


@pytest.mark.parametrize("name", ["/dev/zero", "/proc/self/mem", "/proc/kcore", "/dev/stdin"])
def test_a_file_of_a_line_directive_is_not_read(name: str, tmp_path: Path) -> None:
    program = engine.parse(f'#line 1 "{name}"\n{KERNEL}', str(tmp_path / "k.metal"))
    assert program.functions == ["k"]


def test_a_file_of_a_line_directive_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x[i] = q + 1; // hidden words\n")
    folder = tmp_path / "kernels"
    folder.mkdir()
    source = f'{KERNEL[:-6]}\n#line 1 "{tmp_path}/secret"\nx[i] = q + 1; }}\n'
    with pytest.raises(CompileError, match="undeclared identifier 'q'") as caught:
        engine.build(engine.parse(source, str(folder / "k.metal")), "k")
    assert "hidden" not in str(caught.value)
