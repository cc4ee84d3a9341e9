"""Blocks of GGUF files: known blocks by hand, every position of a code, and errors by formula."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench.formats.blocks import BLOCKS, IQ4_NL, Blocks

# Where the halves of each block are.
HALF = {
    **dict.fromkeys(("q4_0", "q5_0", "q8_0", "iq4_nl", "iq4_xs"), (0,)),
    **dict.fromkeys(("q4_1", "q5_1", "q4_k", "q5_k"), (0, 2)),
    "q2_k": (80, 82),
    "q3_k": (108,),
    "q6_k": (208,),
}
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


@pytest.mark.parametrize("least", [None, -0.25])
@pytest.mark.parametrize("bits", [4, 5])
def test_short_blocks_by_hand(bits: int, least: float | None) -> None:
    """Bit i of the four bytes is the fifth one of weight i: here of 1, 8, 16 and 31."""
    fours = [at | (15 - at) << 4 for at in range(16)]
    tops = [0b10, 0b1, 0b1, 0b10000000] if bits == 5 else []
    halves = half(0.5) + ([] if least is None else half(least))
    codes = np.array([*range(16), *reversed(range(16))])
    if bits == 5:
        codes[[1, 8, 16, 31]] += 16
    expected = 0.5 * (codes - 2 ** (bits - 1)) if least is None else 0.5 * codes + least
    name = f"q{bits}_{0 if least is None else 1}"
    values = BLOCKS[name].dequantised(block_of(halves, tops, fours))
    np.testing.assert_array_equal(values, expected)


def test_a_block_of_iq4_xs_by_hand() -> None:
    """Group g has the scale 8 g + 3 less 32: bytes 4 to 7 have four bits, 2 and 3 the upper two."""
    scales = [8 * g + 3 for g in range(8)]
    twos = [sum(scales[4 * k + i] // 16 << 2 * i for i in range(4)) for k in range(2)]
    low = [scales[2 * k] % 16 | scales[2 * k + 1] % 16 << 4 for k in range(4)]
    codes = [(at + g) % 16 | (15 - at) << 4 for g in range(8) for at in range(16)]
    values = BLOCKS["iq4_xs"].dequantised(block_of(half(0.5), twos, low, codes))
    expected = []
    for i in range(256):
        byte = codes[i // 32 * 16 + i % 16]
        code = byte % 16 if i % 32 < 16 else byte // 16
        expected.append(0.5 * (scales[i // 32] - 32) * IQ4_NL[code])
    np.testing.assert_array_equal(values, expected)


def test_blocks_of_two_and_three_bits_by_hand() -> None:
    """Each 32 of 128 weights have two bits of the same 32 bytes."""
    twos = [(37 * at + 5) % 256 for at in range(64)]
    group = np.arange(256) // 16
    codes = np.array([twos[i // 128 * 32 + i % 32] >> (i // 32 % 4 * 2) & 3 for i in range(256)])
    # Of two bits: group g has the scale g and the least value 15 - g.
    shared = [g | (15 - g) << 4 for g in range(16)]
    values = BLOCKS["q2_k"].dequantised(block_of(shared, twos, half(0.5), half(0.25)))
    np.testing.assert_array_equal(values, 0.5 * group * codes - 0.25 * (15 - group))
    # Of three bits: group g has the scale 4 g less 32. Bit i / 32 of byte i % 32 is the third bit.
    tops = [(29 * at + 3) % 256 for at in range(32)]
    third = np.array([tops[i % 32] >> i // 32 & 1 for i in range(256)])
    scales = [4 * g for g in range(16)]
    packed = [scales[k] % 16 | scales[k + 8] % 16 << 4 for k in range(8)]
    packed += [sum(scales[k + 4 * i] // 16 << 2 * i for i in range(4)) for k in range(4)]
    values = BLOCKS["q3_k"].dequantised(block_of(tops, twos, packed, half(0.5)))
    expected = 0.5 * (4 * group - 32) * (codes + 4 * third - 4)
    np.testing.assert_array_equal(values, expected)


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
    elif form.name == "iq4_xs":
        # The rounding of a group's scale moves its values by half of that times 127.
        step = 2 * 14 * over(32, size) / 127 + (127 + 28) * over(256, size) / 127 / 31
    elif form.name in ("q4_0", "q5_0"):
        # Beyond the last code, the other side of the range has one step more.
        step = 2 * over(32, size) / {"q4_0": 8, "q5_0": 16}[form.name]
    elif form.name in ("q4_1", "q5_1"):
        step = (over(32, plain) + over(32, -plain)) / {"q4_1": 15, "q5_1": 31}[form.name]
    elif form.name in ("q3_k", "q6_k"):
        most, scales = {"q3_k": (3, 31), "q6_k": (31, 127)}[form.name]
        step = over(16, size) / most + over(256, size) / most / scales
    else:
        codes, scales, of = {"q2_k": (3, 15, 16), "q4_k": (15, 63, 32), "q5_k": (31, 63, 32)}[
            form.name
        ]
        below = np.maximum(over(of, -plain), 0)
        reach = np.maximum(over(of, plain), 0) + below + over(256, below) / scales
        step = (reach + over(256, reach) / scales) / codes
    assert (np.abs(back - plain) <= 0.5 * step + 2**-9 * over(256, size)).all()


@every_format
def test_quantising_values_of_blocks_keeps_their_codes(form: Blocks) -> None:
    """What was quantised once changes by less than the rounding of scales when it is again."""
    plain = random().standard_normal((4, 512), dtype=np.float32)
    once = form.dequantised(*form.quantised(plain))
    twice = form.dequantised(*form.quantised(once.astype(np.float32)))
    rms = np.sqrt(np.mean((once - plain) ** 2))
    assert np.sqrt(np.mean((twice - once) ** 2)) <= rms
