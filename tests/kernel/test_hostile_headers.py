"""A header that asks for too much fails with its line; it ends nothing but its own kernel."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from metalbench.errors import DeclarationError, DispatchError
from metalbench.expression import parse as expression
from metalbench.kernel.header import MOST_LINES, parse, read
from metalbench.kernel.source_files import MOST_BYTES, read_candidate
from metalbench.kernel.standalone import parse_number, read_standalone_kernel
from metalbench.verify import place_of

DISPATCH = "// dispatch: f threads_in_grid=(n) threads=(32)\n"
DIGITS = "5" * 5000
LINES = {
    "digits of a grid": f"// dispatch: f threads_in_grid=({DIGITS}) threads=(32)",
    "digits of threads": f"// dispatch: f threads_in_grid=(n) threads=({DIGITS})",
    "digits of memory": (
        f"// dispatch: f threads_in_grid=(n) threads=(1) threadgroup_bytes=(a: {DIGITS})"
    ),
    "digits of a scratch": f"// scratch: w float32 ({DIGITS})",
    "digits of a tunable": f"// tune: N = {DIGITS}",
    "digits of a negative tunable": f"// tune: N = 1, -{DIGITS}",
    "digits of an instance": f"// instance: a N = {DIGITS}",
    "digits of defaults": f"// tune: N = 1\n// defaults: cuda N = {DIGITS}",
    "a number of 64 bits": "// tune: N = 9223372036854775808",
    "a name of 100 000 characters": f"// dispatch: {'f' * 100_000} threads_in_grid=(n)",
    "nested parentheses": f"// scratch: w float32 ({'(' * 5000}1{')' * 5000})",
    "a chain of signs": f"// scratch: w float32 ({'-' * 5000}1)",
    "nested functions": f"// scratch: w float32 ({'min(1, ' * 2000}1{')' * 2000})",
    "a power tower": "// scratch: w float32 (9 ** 9 ** 9)",
    "a shift": "// scratch: w float32 (1 << 1000000000)",
    "a list of 100 000 extents": f"// scratch: w float32 ({', '.join(['1'] * 100_000)})",
    "100 000 values": f"// tune: N = {', '.join(map(str, range(100_000)))}",
    "thousands of tunables": "\n".join(f"// tune: N{i} = 1, 2" for i in range(5000)),
    "thousands of dispatches": DISPATCH * 5000,
    "thousands of scratches": "\n".join(f"// scratch: w{i} float32 (1)" for i in range(5000)),
    "thousands of named sizes": "\n".join(f"// let: n{i} = 1" for i in range(5000)),
    "thousands of bindings": (
        f"// dispatch: f({', '.join(f'x{i} = 1' for i in range(5000))}) threads=(1)"
    ),
    "thousands of instances": "\n".join(f"// instance: a{i} N = {i}" for i in range(5000)),
    "unicode digits": "// tune: N = \u0665\u00b2",
    "a line of 10 MB": f"// tune: N = {'1 ' * 5_000_000}",
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_parse_refuses_hostile_lines_without_much_memory(lines: str) -> None:
    tracemalloc.start()
    with pytest.raises(DeclarationError, match=r"^\[k\] k\.metal:\d+: ?") as caught:
        parse(f"{lines}\n{DISPATCH}kernel void f() {{}}\n", name="k")
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
    # The message itself stays short, although the line is not.
    assert len(str(caught.value)) < 1000


def test_parse_limits_the_number_of_lines() -> None:
    most = MOST_LINES["tune"]
    text = "".join(f"// tune: N{i} = 1\n" for i in range(most))
    assert len(parse(f"{text}{DISPATCH}", name="k").tunables) == most
    with pytest.raises(DeclarationError, match=rf"k.metal:{most + 1}: expected at most {most} "):
        parse(f"{text}// tune: LAST = 1\n{DISPATCH}", name="k")


@pytest.mark.parametrize(
    "text",
    [
        " * ".join(["n"] * 200),
        " * ".join(["9223372036854775807"] * 3),
        "9223372036854775807 + 1",
        "-9223372036854775807 - 2",
        "ceil_div(n * n * n * n, 1)",
    ],
)
def test_evaluate_refuses_results_beyond_64_bits(text: str) -> None:
    with pytest.raises(DeclarationError, match=r"less than 2\^63") as caught:
        expression(text).evaluate({"n": 2**62})
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("text", ["9223372036854775807", "-9223372036854775807", "0" * 30 + "7"])
def test_evaluate_allows_64_bits(text: str) -> None:
    assert abs(expression(text).evaluate({})) <= 2**63


@pytest.mark.parametrize("text", [DIGITS, "1e999", "inf", "nan", "-1e400", "1" * 30, "9" * 70])
def test_parse_number_refuses_nan_and_numbers_beyond_64_bits(text: str) -> None:
    assert parse_number(text) is None


BARE = {
    "a value of 5000 digits": f"value: n = {DIGITS}",
    "an infinite value": "value: n = 1e999",
    "a buffer of petabytes": "buffer: x float32 (1000000, 1000000, 1000) zeros",
    "a shape beyond 64 bits": "buffer: x float32 (9000000000000000000, 9) zeros",
    "a texture of terabytes": "texture: t rgba8unorm (1000000, 10000000) uniform",
    "integers beyond 64 bits": f"buffer: x int32 (4) integers 0 {DIGITS}",
    "an infinite range": "buffer: x float32 (4) uniform 0 1e999",
    "a range the wrong way round": "buffer: x float32 (4) uniform 1 0",
    "anisotropy": f"sampler: s max_anisotropy({DIGITS})",
    "a level of detail": f"sampler: s lod_clamp({DIGITS}, x)",
}


@pytest.mark.parametrize("line", BARE.values(), ids=BARE)
def test_read_standalone_kernel_refuses_a_line_with_invalid_or_too_large_values(
    line: str, tmp_path: Path
) -> None:
    path = tmp_path / "k.metal"
    path.write_text(f"// {line}\n// dispatch: f threads_in_grid=(1) threads=(1)\n")
    with pytest.raises(DeclarationError, match=r"^\[k\] k\.metal"):
        read_standalone_kernel(path)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "missing", "large", "binary"])
def test_read_raises_for_folders_pipes_devices_and_long_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "k.metal"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
    elif kind == "binary":
        path.write_bytes(b"\x7fELF\xff\xfe\x00\x80")
    with pytest.raises(DeclarationError, match=r"^\[k\] .*k\.metal"):
        read(path)


def test_read_candidate_returns_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * MOST_BYTES)
    assert len(read_candidate(tmp_path / "a")) == MOST_BYTES


@pytest.mark.parametrize(
    "shape",
    ["(100000, 100000)", "(4294967295, 4294967295)", "(4294967295, 4294967295, 4294967295)"],
)
def test_scratch_buffers_beyond_the_memory_fail_the_kernel(shape: str) -> None:
    from metalbench import _core
    from metalbench.kernel.library import Library
    from metalbench.kernel.prepare import compile_kernel
    from metalbench.task.workload import workload

    task = Library().entry("relu").task
    kernel = parse(
        f"// scratch: w float32 {shape}\n"
        "// dispatch: f threads_in_grid=(rows * cols) threads=(32)\n"
        "kernel void f(device const float* x, device float* y, device float* w,\n"
        "              uint i [[thread_position_in_grid]]) { w[i] = x[i]; y[i] = w[i]; }\n",
        name="relu",
    )
    compiled = compile_kernel(_core.open("cpu"), kernel, task)
    with pytest.raises(DispatchError, match=r"relu.metal:1: w: expected scratch of at most "):
        compiled.bind(workload(task, next(iter(task.sizes))))


@pytest.mark.parametrize(
    "message",
    [
        f"a.metal:{DIGITS}:{DIGITS}: error: no",
        f"[k] a.metal:{DIGITS}: no",
        f"y: expected 1 at ({DIGITS}, {DIGITS}), got 2",
        f"y: expected 1 at ({', '.join(['1'] * 100_000)}), got 2",
        f"byte {DIGITS} of `x` in thread ({DIGITS}, 0, 0) of threadgroup (0, {DIGITS}, 0)",
        f"begins {DIGITS} bytes before `x`",
    ],
)
def test_place_of_a_message_with_long_numbers(message: str) -> None:
    place = place_of(message)
    assert place.line is None or place.line < 10**18
