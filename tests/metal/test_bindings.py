"""Bindings of the Metal device: addresses, textures of odd strides, limits, constants."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
LOOK = HEAD + (
    "kernel void look(texture2d<float> t, device float* x, uint i [[thread_position_in_grid]]) "
    "{ x[i] = t.read(uint2(i % 3, i / 3)).x; }"
)


def look(metal: _core.Device, texels: np.ndarray, x: np.ndarray) -> _core.Dispatch:
    arguments = {"t": metal.texture(texels), "x": x}
    pipeline = metal.compile(LOOK).pipeline()
    return _core.Dispatch(pipeline, arguments, threads_in_grid=x.size, threads=2)


def test_a_kernel_reaches_memory_by_its_address(metal: _core.Device) -> None:
    source = """
    struct Node { device float* values; };
    kernel void follow(constant Node& node, device float* y, uint i [[thread_position_in_grid]]) {
      y[i] = node.values[i];
    }
    """
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    there = metal.buffer(x)
    node = np.array([there.address], np.uint64)
    follow = _core.Dispatch(
        metal.compile(source).pipeline(),
        {"node": node.tobytes(), "y": y},
        threads_in_grid=32,
        threads=32,
        resources=[there],
    )
    metal.run([follow])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(("type_", "offset"), [("uchar", 2), ("half", 6), ("float4", 8)])
def test_constants_start_at_multiples_of_four_bytes_and_of_their_type(
    metal: _core.Device, type_: str, offset: int
) -> None:
    source = HEAD + (
        "kernel void first(constant TYPE* x, device float* y) { y[0] = float(x[0] ONE); }"
    ).replace("TYPE", type_).replace("ONE", ".x" if type_.endswith("4") else "")
    memory = metal.allocate(64)
    memory.numpy("uint8")[:] = 60
    pipeline, y = metal.compile(source).pipeline(), np.zeros(1, np.float32)

    def start_at(start: int) -> _core.Dispatch:
        return _core.Dispatch(
            pipeline, {"x": memory.slice(start, 32), "y": y}, threadgroups=1, threads=1
        )

    least = max(4, {"uchar": 1, "half": 2, "float4": 16}[type_])
    metal.run([start_at(least)])
    assert y[0] > 0
    words = rf"\[first\] x: expected an offset at a multiple of {least} bytes"
    with pytest.raises(_core.DispatchError, match=words):
        metal.run([start_at(offset)])


def test_rows_that_no_texture_of_metals_can_have(metal: _core.Device) -> None:
    # Their distance is not a whole number of texels of four components.
    memory = np.arange(2 * 14, dtype=np.float32)
    rows = np.lib.stride_tricks.as_strided(memory, (2, 3, 4), (14 * 4, 16, 4))
    x = np.zeros(6, np.float32)
    metal.run([look(metal, rows, x)])
    np.testing.assert_array_equal(x, rows[..., 0].ravel())


@pytest.mark.parametrize(
    ("texels", "kind", "declared", "words"),
    [
        (np.zeros(16385, np.float32), "1d", "texture1d<float>", "at most .*16384.* use a buffer"),
        (
            [np.zeros(4, np.float32), np.zeros(2, np.float32)],
            "1d",
            "texture1d<float>",
            "one dimension have one level, got 2; use a 2d texture of height 1",
        ),
    ],
)
def test_textures_beyond_metals_limits(metal: _core.Device, texels, kind, declared, words) -> None:
    source = f"{HEAD}kernel void k({declared} t, device float* x) {{ x[0] = t.read(0).x; }}"
    arguments = {"t": metal.texture(texels, kind=kind), "x": np.zeros(1, np.float32)}
    pipeline = metal.compile(source).pipeline()
    with pytest.raises(_core.Unsupported, match=rf"\[k\] t: .*{words}"):
        metal.run([_core.Dispatch(pipeline, arguments, threads_in_grid=1, threads=1)])


def test_textures_are_not_filled_while_the_gpu_hangs(metal: _core.Device, metal_double) -> None:
    x = np.zeros(6, np.float32)
    behind = look(metal, np.ones((2, 3), np.float32), x)
    source = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    arguments = {"x": np.zeros(32, np.float32)}
    pipeline = metal.compile(source).pipeline()
    first = _core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)
    metal_double.set("hang_command_buffer")

    def hang() -> None:
        with pytest.raises(_core.TimeLimitExceeded):
            metal.run([first], time_limit=3)

    thread = threading.Thread(target=hang)
    thread.start()
    while metal_double.get("hang_command_buffer"):
        pass
    with pytest.raises(_core.TimeLimitExceeded, match=r"busy with \[what was started before"):
        metal.run([behind], time_limit=0.1)
    thread.join()
    assert (x == 0).all()
    metal_double.reset()
    metal.run([behind])
    assert (x == 1).all()


def test_a_filename_of_any_bytes(metal: _core.Device) -> None:
    with pytest.raises(_core.CompileError, match=r"kérnel\.metal:1:\d+: error: .*nonsense"):
        metal.compile("kernel void k() { nonsense; }", filename="kérnel.metal").pipeline()


def test_comments_and_quotes_hide_includes(metal: _core.Device, tmp_path) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 7\n")
    source = (
        '/* #include "none.h"\n   #include "none.h" */ // "\n'
        "constant char quote = '\"'; constant char escaped = '\\'';\n"
        '/* before */ #include "value.h" // after\n'
        "kernel void k(device int* y) { y[0] = VALUE + 0 * (quote + escaped) + 1'000 - 1000; }\n"
    )
    y = np.zeros(1, np.int32)
    pipeline = metal.compile(source, filename=str(tmp_path / "k.metal")).pipeline()
    metal.run([_core.Dispatch(pipeline, {"y": y}, threads_in_grid=1, threads=1)])
    assert y[0] == 7


def test_an_included_file_that_is_not_utf8(metal: _core.Device, tmp_path) -> None:
    (tmp_path / "value.h").write_bytes("// für Gerät\n#define VALUE 7\n".encode("latin-1"))
    source = '#include "value.h"\nkernel void k(device int* y) { y[0] = VALUE; }\n'
    y = np.zeros(1, np.int32)
    pipeline = metal.compile(source, filename=str(tmp_path / "k.metal")).pipeline()
    metal.run([_core.Dispatch(pipeline, {"y": y}, threads_in_grid=1, threads=1)])
    assert y[0] == 7
