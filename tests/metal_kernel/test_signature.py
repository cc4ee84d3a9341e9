"""The kernel that is generated, as `verbose` prints it."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel
from metalbench.mlx.definition import ATTRIBUTES


def generated(capsys, kernel, inputs, outputs, template=None):
    kernel(
        inputs=inputs,
        template=template,
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(8,)] * len(outputs),
        output_dtypes=outputs,
        verbose=True,
    )
    return capsys.readouterr().out


def test_the_documented_signature(capsys):
    source = (
        "\n  uint elem = thread_position_in_grid.x;\n  T tmp = inp[elem];\n  out[elem] = tmp;\n"
    )
    kernel = metal_kernel("myexp", ["inp"], ["out"], source)
    text = generated(capsys, kernel, [np.ones(16, np.float16)], [mx.float16], [("T", mx.float32)])
    name = "custom_kernel_myexp__float_float16_t_float16_t"
    assert text == (
        "Generated source code for `myexp`:\n```\n"
        "template <typename T>\n"
        f"[[kernel]] void {name}(\n"
        "  const device float16_t* inp [[buffer(0)]],\n"
        "  device float16_t* out [[buffer(1)]],\n"
        "  uint3 thread_position_in_grid [[thread_position_in_grid]]) {\n"
        f"{source}\n}}\n\n"
        f'template [[host_name("{name}")]] [[kernel]] decltype({name}<float>) {name}<float>;\n'
        "\n```\n"
    )


def test_small_inputs_are_constant_and_scalars_are_references(capsys):
    source = "out[0] = a[0] + b[0] + c + d;"
    kernel = metal_kernel("spaces", list("abcd"), ["out"], source)
    inputs = [np.ones(8, np.float32), np.ones(7, np.float32), np.float32(1), 2]
    text = generated(capsys, kernel, inputs, [np.float32])
    assert "const device float* a [[buffer(0)]]" in text
    assert "const constant float* b [[buffer(1)]]" in text
    assert "const constant float& c [[buffer(2)]]" in text
    assert "const constant int32_t& d [[buffer(3)]]" in text
    assert "device float* out [[buffer(4)]]) {" in text
    assert "void custom_kernel_spaces_float_floatc_floats_int32_ts_float(" in text


def test_shapes_strides_and_ndim_are_parameters_if_mentioned(capsys):
    source = "out1[0] = a_shape[0] + a_ndim; out2[0] = b_strides[0] + c;"
    kernel = metal_kernel("extents", list("abc"), ["out1", "out2"], source + "// c_shape")
    text = generated(capsys, kernel, [np.ones((3, 5)), np.ones((2, 9)), 1.5], [np.int32, np.int64])
    assert (
        "(\n  const device float* a [[buffer(0)]],\n"
        "  const constant int* a_shape [[buffer(1)]],\n"
        "  const constant int& a_ndim [[buffer(2)]],\n"
        "  const device float* b [[buffer(3)]],\n"
        "  const constant int64_t* b_strides [[buffer(4)]],\n"
        "  const constant float& c [[buffer(5)]],\n"
        "  device int32_t* out1 [[buffer(6)]],\n"
        "  device int64_t* out2 [[buffer(7)]]) {\n"
    ) in text


def test_atomic_outputs(capsys):
    source = "atomic_fetch_add_explicit(&out[0], 1, memory_order_relaxed);"
    kernel = metal_kernel("atomics", [], ["out"], source, atomic_outputs=True)
    text = generated(capsys, kernel, [], [np.uint32])
    assert "(\n  device atomic<uint32_t>* out [[buffer(0)]]) {" in text


def test_the_header_precedes_the_template(capsys):
    kernel = metal_kernel("headed", [], ["out"], "out[0] = N + T(1);", "#define TWO 2")
    text = generated(capsys, kernel, [], [np.int32], [("T", mx.int32), ("N", 3), ("B", True)])
    assert "```\n#define TWO 2\ntemplate <typename T, int N, bool B>\n[[kernel]]" in text
    assert "custom_kernel_headed__int32_t_3_1_int32_t<int32_t, 3, 1>;" in text


SOURCES = {
    "templates": ("out1[0] = T(a[0]) + N + B; out2[0] = threads_per_grid.x;", "#define ONE 1\n"),
    "extents": ("out1[0] = a_shape[0] + b_strides[0] + c_ndim + d_ndim; // thread_position", ""),
    "attributes": ("\n" + "; ".join(ATTRIBUTES) + ";\n", ""),
    "atomics": ("atomic_store_explicit(out2, 1, memory_order_relaxed); grid_size;", "int f();\n"),
}


@pytest.mark.parametrize("which", SOURCES)
@pytest.mark.parametrize("template", [None, [("T", mx.bfloat16), ("N", 5), ("B", False)]])
def test_the_generated_text_agrees_with_mlx(capfd, tmp_path, which, template):
    source, header = SOURCES[which]
    options = {"atomic_outputs": which == "atomics"}
    definition = (which, list("abcd"), ["out1", "out2"], source + "threads_per_grid;", header)
    inputs = [
        mx.zeros((4, 3), mx.float16),
        mx.zeros((7,), mx.uint8),
        mx.zeros((2, 2, 2), mx.complex64),
        mx.array(1),
    ]
    call = {
        "template": template,
        "grid": (0, 1, 1),
        "threadgroup": (1, 1, 1),
        "output_shapes": [(3,)] * 2,
        "output_dtypes": [mx.float32, mx.uint32],
        "verbose": True,
    }

    def exported(*inputs):
        return mx.fast.metal_kernel(*definition, **options)(inputs=list(inputs), **call)

    # While a function is exported MLX generates its kernels without a GPU.
    mx.export_function(str(tmp_path / "kernel.mlxfn"), exported, *inputs)
    theirs = capfd.readouterr().out
    metal_kernel(*definition, **options, device="cpu")(inputs=inputs, **call)
    assert theirs.startswith("Generated source code for")
    assert capfd.readouterr().out == theirs


def test_attributes_have_their_values(run):
    parts = {name: ".x" if type_ == "uint3" else "" for name, type_ in ATTRIBUTES.items()}
    stores = [f"out[{i}] = {name}{part};" for i, (name, part) in enumerate(parts.items())]
    source = f"if (thread_position_in_grid.x == 101) {{ {' '.join(stores)} }}"
    (out,) = run(source, [], [(len(stores),)], [np.uint32], grid=110, threadgroup=(96, 1, 1))
    assert dict(zip(ATTRIBUTES, out.tolist(), strict=True)) == {
        "dispatch_quadgroups_per_threadgroup": 24,
        "dispatch_simdgroups_per_threadgroup": 3,
        "dispatch_threads_per_threadgroup": 96,
        "grid_origin": 0,
        "grid_size": 110,
        "quadgroup_index_in_threadgroup": 1,
        "quadgroups_per_threadgroup": 4,
        "simdgroup_index_in_threadgroup": 0,
        "simdgroups_per_threadgroup": 1,
        "thread_execution_width": 32,
        "thread_index_in_quadgroup": 1,
        "thread_index_in_simdgroup": 5,
        "thread_index_in_threadgroup": 5,
        "thread_position_in_grid": 101,
        "thread_position_in_threadgroup": 5,
        "threadgroup_position_in_grid": 1,
        "threadgroups_per_grid": 2,
        "threads_per_grid": 110,
        "threads_per_simdgroup": 32,
        "threads_per_threadgroup": 14,
    }
