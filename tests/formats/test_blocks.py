"""Blocks of GGUF files: known blocks by hand, every position of a code, and errors by formula."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench.formats.blocks import BLOCKS, IQ4_NL, Blocks

HALF = {"q8_0": [0], "q4_k": [0, 2], "q5_k": [0, 2], "q6_k": [208], "iq4_nl": [0]}
every_format = pytest.mark.parametrize("form", BLOCKS.values(), ids=BLOCKS)


def random() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(5))


def half(value: float) -> list[int]:
    """Return the two bytes of a half."""
    return list(np.float16(value).tobytes())


def block_of(*parts: list[int]) -> np.ndarray:
    return np.array([byte for part in parts for byte in part], np.uint8)


def random_blocks(form: Blocks, rows: int, blocks: int) -> np.ndarray:
    """Random bytes, with halves that are finite."""
    found = random().integers(0, 256, (rows, blocks, form.nbytes), dtype=np.uint8)
    for at in HALF[form.name]:
        found[..., at + 1] &= 0xBF
    return found.reshape(rows, -1)


def test_a_block_of_q8_0_by_hand() -> None:
    block = block_of(half(0.5), [0, 1, 127, 128, 255], [7] * 27)
    values = BLOCKS["q8_0"].dequantised(block)
    np.testing.assert_array_equal(values, [0, 0.5, 63.5, -64, -0.5] + [3.5] * 27)


def test_a_block_of_iq4_nl_by_hand() -> None:
    """The lower four bits are of the weights 0 to 15, the upper four of 16 to 31."""
    block = block_of(half(-2.0), [at | (15 - at) << 4 for at in range(16)])
    values = BLOCKS["iq4_nl"].dequantised(block)
    np.testing.assert_array_equal(values, -2.0 * np.array([*IQ4_NL, *reversed(IQ4_NL)]))


def test_blocks_of_four_and_five_bits_by_hand() -> None:
    """Group g has the scale 8 g + 1 and the least value 60 - 7 g, of six bits."""
    scales = [8 * g + 1 for g in range(8)]
    mins = [60 - 7 * g for g in range(8)]
    packed = [
        *(scales[g] | scales[g + 4] // 16 << 6 for g in range(4)),
        *(mins[g] | mins[g + 4] // 16 << 6 for g in range(4)),
        *(scales[g + 4] % 16 | mins[g + 4] % 16 << 4 for g in range(4)),
    ]
    # Of each 64 weights the first half has the lower four bits of 32 bytes.
    fours = [(i % 32) % 16 | (15 - (i % 32) % 16) << 4 for i in range(128)]
    code = np.array([(i % 32) % 16 if i // 32 % 2 == 0 else 15 - (i % 32) % 16 for i in range(256)])
    group = np.arange(256) // 32
    least = 0.25 * np.array(mins)[group]
    block = block_of(half(0.5), half(0.25), packed, fours)
    expected = 0.5 * np.array(scales)[group] * code - least
    np.testing.assert_array_equal(BLOCKS["q4_k"].dequantised(block), expected)
    # Bit g of byte i is the fifth bit of weight i of group g: here of the groups 1, 2 and 7.
    block = block_of(half(0.5), half(0.25), packed, [0b10000110] * 32, fours)
    fifth = 16 * np.isin(group, [1, 2, 7])
    expected = 0.5 * np.array(scales)[group] * (code + fifth) - least
    np.testing.assert_array_equal(BLOCKS["q5_k"].dequantised(block), expected)


def test_a_block_of_q6_k_by_hand() -> None:
    """Each quarter of 128 weights has its upper two bits in two bits of the same 32 bytes."""
    scales = [g - 8 for g in range(16)]
    fours = [i % 16 | (i // 4) % 16 << 4 for i in range(128)]
    block = block_of(fours, [0b11100100] * 64, [s % 256 for s in scales], half(0.125))
    expected = []
    for i in range(256):
        part, quarter, at = i // 128, i // 32 % 4, i % 32
        byte = fours[64 * part + 32 * (quarter % 2) + at]
        four = byte % 16 if quarter < 2 else byte // 16
        expected.append(0.125 * scales[i // 16] * (four + 16 * quarter - 32))
    np.testing.assert_array_equal(BLOCKS["q6_k"].dequantised(block), expected)


@every_format
def test_mlx_decodes_the_same_values(form: Blocks) -> None:
    """In float32, where only the difference of a weight and its least value is rounded."""
    rows = random_blocks(form, 3, 5)
    ours = form.dequantised(rows)
    theirs = np.array(form.dequantised(mx.array(rows), mx, mx.float32))
    assert (np.abs(theirs - ours) <= 2**-23 * form.magnitudes(rows)).all()


@every_format
def test_quantised_rows_are_as_near_as_the_steps_allow(form: Blocks) -> None:
    plain = random().standard_normal((16, 512), dtype=np.float32)
    plain[0] = 0
    plain[1] = np.abs(plain[1])
    plain[2] = -np.abs(plain[2])
    plain[3] *= np.float32(100) ** (np.arange(512) % 2)
    (rows,) = form.quantised(plain)
    assert (rows.dtype, rows.shape) == (np.uint8, (16, 512 // form.group * form.nbytes))
    back = form.dequantised(rows)
    assert (back[0] == 0).all()

    def over(size: int, values: np.ndarray) -> np.ndarray:
        """Return the largest of each `size` values, for each value."""
        return np.repeat(values.reshape(16, -1, size).max(-1), size, -1)

    size = np.abs(plain)
    # Scales are rounded to halves, 2^-11 of themselves, so that ends are cut or steps are longer.
    if form.name == "q8_0":
        step = over(32, size) / 127
    elif form.name == "iq4_nl":
        # The widest gap is 24, and beyond 113 to the other side of -127 are 14.
        step = 2 * 14 * over(32, size) / 127
    elif form.name == "q6_k":
        step = over(16, size) / 31 + over(256, size) / 31 / 127
    else:
        codes = {"q4_k": 15, "q5_k": 31}[form.name]
        below = np.maximum(over(32, -plain), 0)
        reach = np.maximum(over(32, plain), 0) + below + over(256, below) / 63
        step = (reach + over(256, reach) / 63) / codes
    assert (np.abs(back - plain) <= 0.5 * step + 2**-9 * over(256, size)).all()


@every_format
def test_quantising_values_of_blocks_keeps_their_codes(form: Blocks) -> None:
    """What was quantised once changes by less than the rounding of scales when it is again."""
    plain = random().standard_normal((4, 512), dtype=np.float32)
    once = form.dequantised(*form.quantised(plain))
    twice = form.dequantised(*form.quantised(once.astype(np.float32)))
    rms = np.sqrt(np.mean((once - plain) ** 2))
    assert np.sqrt(np.mean((twice - once) ** 2)) <= rms
