"""Formats of few bits: what MLX makes of the same words, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import mlx.core as mx
import numpy as np
import pytest

from metalbench.formats.encodings import (
    BITS,
    E2M1,
    E4M3,
    GROUPS,
    MODES,
    Affine,
    Mode,
    _nearest,
    pack_bits,
    to_e4m3,
    unpack_bits,
)
from metalbench.formats.inputs import minifloat, quantised
from metalbench.task import normal, output, task
from metalbench.task.dtypes import dtype as dtype_of
from metalbench.task.workload import workload

WORDS = 1_000_000
TYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
COLS = 3840  # whole words and groups of every kind


def random() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(5))


def words_of(bits: int) -> np.ndarray:
    """A million words, whatever is in them."""
    cols = COLS * bits // 32
    rows = -(-WORDS // cols)
    return random().integers(0, 2**32, (rows, cols), dtype=np.uint32)


def as_numpy(array: mx.array) -> np.ndarray:
    return np.array(array.astype(mx.float32))


@pytest.mark.parametrize("bits", [1, *BITS])
def test_unpack_inverts_pack(bits: int) -> None:
    codes = random().integers(0, 1 << bits, (3, 5, 96), dtype=np.uint8)
    words = pack_bits(codes, bits)
    assert (words.dtype, words.shape) == (np.uint32, (3, 5, 3 * bits))
    np.testing.assert_array_equal(unpack_bits(words, bits), codes)


@pytest.mark.parametrize(
    ("bits", "group", "dtype"),
    [
        *((bits, group, "float32") for bits in BITS for group in GROUPS),
        *((bits, 64, dtype) for bits in BITS for dtype in ("float16", "bfloat16")),
    ],
)
def test_affine_values_agree_with_mlx(bits: int, group: int, dtype: str) -> None:
    words, form = words_of(bits), Affine(bits, group)
    shape = (len(words), COLS // group)
    scales, biases = (
        mx.array(random().standard_normal(shape, dtype=np.float32) * by).astype(TYPES[dtype])
        for by in (0.02, 0.3)
    )
    theirs = mx.dequantize(mx.array(words), scales, biases, group_size=group, bits=bits)
    kind = dtype_of(dtype).numpy
    ours = form.dequantised(words, as_numpy(scales).astype(kind), as_numpy(biases).astype(kind))
    np.testing.assert_array_equal(ours.astype(np.float32), as_numpy(theirs))


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_small_floats_agree_with_mlx(mode: Mode) -> None:
    words = words_of(mode.bits)
    shape = (len(words), COLS // mode.group)
    if mode.name == "nvfp4":
        scales = random().integers(0, 0x7F, shape, dtype=np.uint8)
    else:
        # Powers of two whose products are neither infinite nor subnormal.
        scales = random().integers(16, 240, shape, dtype=np.uint8)
    theirs = mx.dequantize(
        mx.array(words), mx.array(scales), mode=mode.name, dtype=mx.float32, group_size=mode.group
    )
    np.testing.assert_array_equal(mode.dequantised(words, scales, np.float32), as_numpy(theirs))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("bits", BITS)
def test_quantize_agrees_with_mlx(bits: int, group: int) -> None:
    plain = random().standard_normal((64, 384), dtype=np.float32)
    plain[0] = 3.0
    plain[1] = np.abs(plain[1])
    plain[2] = -np.abs(plain[2])
    ours = Affine(bits, group).quantised(plain)
    theirs = mx.quantize(mx.array(plain), group_size=group, bits=bits)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, np.array(other))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_small_floats_are_quantised_as_by_mlx(mode: str, dtype: str) -> None:
    """Half types, in which many lie in the middle of two codes, signs of zeros, and too much.

    MLX's CPU takes the smaller of two codes of four bits as near, where ours is the even one.
    """
    plain = random().standard_normal((256, 384), dtype=np.float32)
    plain[0] = 0
    plain[1] = -np.abs(plain[1]) * (np.arange(384) % 32 == 0)
    # Where scales would be subnormal in float16, all of MLX's codes are zero.
    plain[2:7] *= np.float32(2.0) ** np.arange(-3, 12, 3)[:, None]
    plain[7] *= 3000  # more than the largest code times the largest scale of nvfp4
    typed = mx.array(plain).astype(TYPES[dtype])
    theirs = mx.quantize(typed, mode=mode)
    form = MODES[mode]
    words, scales = form.quantised(as_numpy(typed))
    np.testing.assert_array_equal(scales, np.array(theirs[1]))
    if form.bits == 8:
        np.testing.assert_array_equal(words, np.array(theirs[0]))
        return
    ours, others = unpack_bits(words, 4), unpack_bits(np.array(theirs[0]), 4)
    negative = np.signbit(as_numpy(typed))
    np.testing.assert_array_equal(ours >= 8, negative & (np.repeat(scales, form.group, -1) != 0))
    ours, others = ours % 8, others % 8
    rounded_up = ours != others
    assert rounded_up.any() == (dtype != "float32")
    # One more than theirs, even, and as near as theirs.
    np.testing.assert_array_equal(ours[rounded_up], others[rounded_up] + 1)
    assert (ours[rounded_up] % 2 == 0).all()
    units = np.repeat(form.scales[scales], form.group, -1)
    middle = (form.values[ours] + form.values[others]) / 2 * units
    np.testing.assert_array_equal(np.abs(as_numpy(typed))[rounded_up], middle[rounded_up])


@pytest.mark.parametrize("values", [E4M3[:127], E2M1[:8]], ids=["E4M3", "E2M1"])
def test_many_numbers_have_the_same_nearest_as_each(values: np.ndarray) -> None:
    """Many are looked up in a table, few are searched."""
    middles = (values[1:] + values[:-1]) / 2
    edges = [np.nextafter(middles, np.float32(end)) for end in (0, np.inf)]
    others = random().exponential(size=1 << 17).astype(np.float32) * values[-1]
    wanted = np.concatenate([values, middles, *edges, others])
    many = _nearest(values, wanted)
    few = [_nearest(values, each) for each in np.array_split(wanted, 4)]
    np.testing.assert_array_equal(many, np.concatenate(few))
    assert many.dtype == np.uint8


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_small_floats_are_the_nearest(mode: Mode) -> None:
    plain = random().standard_normal((64, 384), dtype=np.float32)
    plain[0] = 0
    words, scales = mode.quantised(plain)
    back = mode.dequantised(words, scales)
    # Half a step of the mantissa of the largest code, and of a group whose scale was rounded a
    # little more.
    step = 2.0 ** -(2 if mode.bits == 4 else 4)
    largest = np.repeat(np.abs(plain).reshape(64, -1, mode.group).max(-1), mode.group, -1)
    assert (np.abs(back - plain) <= 1.07 * step * largest).all()
    assert (back[0] == 0).all()


def test_e4m3_agrees_with_mlx() -> None:
    theirs = np.array(mx.from_fp8(mx.arange(256).astype(mx.uint8), mx.float32))
    np.testing.assert_array_equal(E4M3, theirs)


def test_codes_of_e4m3_agree_with_mlx() -> None:
    middles = (E4M3[:126] + E4M3[1:127]) / 2
    drawn = random().standard_normal(10_000).astype(np.float32) * 100
    values = np.concatenate([middles, -middles, drawn, [0, -0.0, 448, 449, 1e9, -500]])
    theirs = np.array(mx.to_fp8(mx.array(values.astype(np.float32))))
    np.testing.assert_array_equal(to_e4m3(values.astype(np.float32)), theirs)


@pytest.mark.parametrize("bad", [dict(bits=7), dict(bits=4, group=48)])
def test_other_formats_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"expected bits of \(2, 3, 4, 5, 6, 8\) and a group of"):
        Affine(**bad)


FORM = Affine(4, 32)
TINY = dict(
    sizes=dict(seed=dict(rows=3, cols=64)),
    outputs=dict(y=output("rows")),
    flops="2 * rows * cols",
    multiples=dict(cols=32),
    dtypes=("float32", "float16"),
)


@task(
    inputs=dict(
        x=normal("cols"),
        **quantised("rows", "cols", format=FORM, plain=normal("rows", "cols")),
        **minifloat("rows", "cols", mode="nvfp4", name="v", plain=normal("rows", "cols")),
    ),
    oracle=lambda x, w, w_scales, w_biases, v, v_scales: (
        FORM.dequantised(w, w_scales, w_biases) @ x
    ),
    **TINY,
)
def product(x, w, w_scales, w_biases, v, v_scales):
    return mx.quantized_matmul(x[None], w, w_scales, w_biases, group_size=32, bits=4)[0]


def assert_equals(parts: Mapping[str, np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for (name, part), other in zip(parts.items(), expected, strict=True):
        np.testing.assert_array_equal(part, other, err_msg=name)


def test_the_parts_of_an_input_are_of_one_matrix() -> None:
    whole = task(
        inputs=dict(w=normal("rows", "cols"), v=normal("rows", "cols")),
        oracle=lambda w, v: w[:, 0],
        **TINY,
    )(named("product"))
    for seed in range(product.turn):
        work, plain = (workload(each, "seed", seed=seed) for each in (product, whole))
        parts = FORM.quantised(plain.inputs["w"])
        got = {name: work.inputs[name] for name in ("w", "w_scales", "w_biases")}
        assert_equals(got, parts)
        got = {name: work.inputs[name] for name in ("v", "v_scales")}
        assert_equals(got, MODES["nvfp4"].quantised(plain.inputs["v"]))
        theirs = product.reference(**{k: mx.array(v) for k, v in work.inputs.items()})
        near = 1e-4 * np.abs(FORM.dequantised(*parts) @ np.abs(work.inputs["x"])).max()
        np.testing.assert_allclose(np.array(theirs), work.expected["y"], rtol=1e-4, atol=near)


def test_scales_have_the_dtype_of_the_run_and_words_do_not() -> None:
    halves = workload(product, "seed", dtype_name="float16").inputs
    assert (halves["w_scales"].dtype, halves["w"].dtype) == (np.float16, np.uint32)


def named(name: str) -> Callable[..., mx.array]:
    """A reference for `w` and `v` of this name."""

    def reference(w, v):
        return w[:, 0]

    reference.__name__ = name
    return reference
