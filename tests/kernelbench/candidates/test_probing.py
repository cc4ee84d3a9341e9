"""Whether a result depends on the kernels' computation."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.kernelbench.candidates.own_work import is_affine_match

RANDOM = np.random.default_rng(5)
EXPECTED = RANDOM.normal(3, 2, (40, 40)).astype(np.float32)
DEPENDENT = {
    "another array": RANDOM.normal(3, 2, (40, 40)),
    "a constant": np.full((40, 40), 3.0),
    "zeros": np.zeros((40, 40)),
    "no numbers": np.full((40, 40), np.nan),
    "another factor for each row": EXPECTED * RANDOM.uniform(0.5, 2, (40, 1)),
    "one element in a hundred is another": np.where(
        RANDOM.random((40, 40)) < 0.01, -EXPECTED, EXPECTED
    ),
    "another order": EXPECTED[::-1],
}
INDEPENDENT = {
    "the same": EXPECTED,
    "scaled": EXPECTED * -1.7,
    "moved": EXPECTED + 40,
    "scaled and moved": EXPECTED * 1e-3 - 5,
}


@pytest.mark.parametrize("got", DEPENDENT.values(), ids=DEPENDENT)
def test_is_affine_match_is_false_if_the_result_depends_on_kernels(got: np.ndarray) -> None:
    assert not is_affine_match({"y": EXPECTED}, {"y": got.astype(np.float32)}, "float32")


@pytest.mark.parametrize("got", INDEPENDENT.values(), ids=INDEPENDENT)
def test_is_affine_match_is_true_up_to_scale_and_offset(got: np.ndarray) -> None:
    assert is_affine_match({"y": EXPECTED}, {"y": got.astype(np.float32)}, "float32")


def test_is_affine_match_accepts_half_precision() -> None:
    got = (EXPECTED.astype(np.float16) * np.float16(1.3)).astype(np.float16)
    assert is_affine_match({"y": EXPECTED}, {"y": got}, "float16")


def test_is_affine_match_of_few_elements_needs_equality() -> None:
    one = np.array([2.5], np.float32)
    assert is_affine_match({"y": one}, {"y": one}, "float32")
    assert not is_affine_match({"y": one}, {"y": one * 2}, "float32")


def test_all_outputs_have_to_follow() -> None:
    other = DEPENDENT["another array"]
    assert not is_affine_match(
        {"y": EXPECTED, "z": EXPECTED}, {"y": EXPECTED, "z": other}, "float32"
    )


def test_is_affine_match_needs_infinities_at_the_expected_places() -> None:
    expected = EXPECTED.copy()
    expected[3, 4] = np.inf
    assert is_affine_match({"y": expected}, {"y": expected * 2}, "float32")
    assert not is_affine_match({"y": expected}, {"y": EXPECTED}, "float32")
