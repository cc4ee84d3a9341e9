"""Random bits: the published test vectors of the generators, and the order of XLA."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import Unsupported

STATE = (0x123456789ABCDEF0, 0xFFFFFFFEFFFFFFFD, 0xFFFFFFFFFFFFFFFE)
# The last two counters of a low word: the high word receives a carry.
LAST = (7, 2**64 - 2, 41)


def program(algorithm, words, result):
    kinds = f"tensor<{words}xui64>", f"tensor<{result}>"
    return f"""func.func @main(%s: {kinds[0]}) -> ({kinds[0]}, {kinds[1]}) {{
      %t, %b = stablehlo.rng_bit_generator %s, algorithm = {algorithm}
        : ({kinds[0]}) -> ({kinds[0]}, {kinds[1]})
      return %t, %b : {kinds[0]}, {kinds[1]} }}"""


@pytest.mark.parametrize(
    ("algorithm", "state", "expected"),
    [
        # Random123's known answers (tests/kat_vectors).
        ("THREE_FRY", (0, 0), [0x6B200159, 0x99BA4EFE]),
        ("THREE_FRY", (2**64 - 1, 2**64 - 1), [0x1CB996FC, 0xBB002BE7]),
        ("THREE_FRY", (0x03707344_13198A2E, 0x85A308D3_243F6A88), [0xC4923A9C, 0x483DF7A0]),
        ("PHILOX", (0, 0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            "PHILOX",
            (2**64 - 1, 2**64 - 1, 2**64 - 1),
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            "PHILOX",
            (0x299F31D0_A4093822, 0x85A308D3_243F6A88, 0x03707344_13198A2E),
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_generators_agree_with_published_values(algorithm, state, expected):
    text = program(algorithm, len(state), f"{len(expected)}xui32")
    _, bits = hlo.compile(text, device="cpu")(np.array(state, np.uint64))
    assert [hex(each) for each in bits] == [hex(each) for each in expected]


PARTS = 4
CASES = [
    *(
        ("THREE_FRY", STATE[:2], each)
        for each in ("ui32", "7xui32", "3x4xui32", "5x3xi32", "2x3x2xui32", "5xui64", "3xi8")
    ),
    *(("PHILOX", LAST, each) for each in ("ui32", "15xui32", "5xui64", "5xui16")),
    ("PHILOX", STATE, "3x4xui32"),
    ("PHILOX", LAST[:2], "15xui32"),
    ("DEFAULT", STATE[:2], "7xui32"),
]
ORACLE = """
import sys, numpy as np, jax
from jaxlib import _jax, xla_client
jax.config.update("jax_enable_x64", True)
device = jax.devices("cpu")[0]
found = {}
for number, (text, state) in enumerate(eval(sys.stdin.read())):
    options = xla_client.CompileOptions()
    made = device.client.compile_and_load(text, _jax.DeviceList((device,)), options)
    given = [jax.numpy.asarray(np.array(state, np.uint64))]
    arrays = made.execute_sharded(given).disassemble_into_single_device_arrays()
    found |= {f"{number}.{k}": np.asarray(each[0]) for k, each in enumerate(arrays)}
np.savez(sys.argv[1], **found)
"""


# One process of XLA answers for all cases of a part.
@pytest.mark.parametrize("part", range(PARTS))
def test_states_and_bits_are_xlas(tmp_path, part):
    pytest.importorskip("jax")
    cases = CASES[part::PARTS]
    assert cases
    programs = [(program(name, len(state), result), state) for name, state, result in cases]
    answers = tmp_path / "answers.npz"
    command = [sys.executable, "-c", ORACLE, str(answers)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run(command, input=repr(programs), text=True, check=True, env=environment)
    expected = np.load(answers)
    for number, (text, state) in enumerate(programs):
        found = hlo.compile(text, device="cpu")(np.array(state, np.uint64))
        for k, each in enumerate(found):
            # XLA's generators are unsigned.
            wanted = expected[f"{number}.{k}"].view(each.dtype)
            np.testing.assert_array_equal(each, wanted, err_msg=text)


def test_invalid_states_and_results_are_refused():
    with pytest.raises(Unsupported, match=r"expected a state tensor<2xui64>, got tensor<3xui64>"):
        hlo.compile(program("THREE_FRY", 3, "4xui32"), device="cpu")
    with pytest.raises(Unsupported, match=r"expected integers, got tensor<4xf32>"):
        hlo.compile(program("PHILOX", 3, "4xf32"), device="cpu")
