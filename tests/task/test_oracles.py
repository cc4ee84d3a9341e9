"""The parts of oracles, against definitions that take one number at a time, and against MLX."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench.task import oracles

random = np.random.default_rng(4)


def with_mlx(operation, *arrays: np.ndarray, **options) -> np.ndarray:
    with mx.stream(mx.cpu):
        return np.array(
            operation(*(mx.array(each.astype(np.float32)) for each in arrays), **options)
        )


def image(*extents: int) -> np.ndarray:
    return random.normal(size=(2, *extents, 3))


def filters(*taps: int) -> np.ndarray:
    return random.normal(size=(4, *taps, 3))


CONVOLUTIONS = [
    (mx.conv1d, (7,), (3,)),
    (mx.conv2d, (6, 5), (3, 2)),
    (mx.conv3d, (4, 5, 6), (3, 1, 3)),
]


@pytest.mark.parametrize(("operation", "extents", "taps"), CONVOLUTIONS)
def test_convolutions_are_mlxs(operation, extents, taps) -> None:
    x, w = image(*extents), filters(*taps)
    np.testing.assert_allclose(oracles.convolve(x, w), with_mlx(operation, x, w), atol=1e-4)


def test_padding_keeps_the_extents() -> None:
    x, w = image(6, 5), filters(3, 5)
    expected = with_mlx(mx.conv2d, x, w, padding=(1, 2))
    np.testing.assert_allclose(oracles.convolve_with_padding(x, w), expected, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(
    ("operation", "extents", "taps"),
    [(mx.conv_transpose2d, (4, 3), (3, 3)), (mx.conv_transpose3d, (2, 3, 4), (3, 2, 3))],
)
def test_transposed_convolutions_are_mlxs(operation, extents, taps, stride) -> None:
    x, w = image(*extents), filters(*taps)
    expected = with_mlx(operation, x, w, stride=stride)
    np.testing.assert_allclose(oracles.convolve_transposed(x, w, stride), expected, atol=1e-4)


def test_split_blocks_drops_incomplete_blocks() -> None:
    x = np.arange(2 * 5 * 7).reshape(2, 5, 7, 1)
    largest = oracles.split_blocks(x).max(axis=(2, 4))
    assert largest.shape == (2, 2, 3, 1)
    assert largest[1, 1, 2, 0] == x[1, 3, 5, 0]
    assert oracles.split_blocks(mx.array(x), 3).shape == (2, 1, 3, 2, 3, 1)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_weighs_values_by_softmax(causal: bool) -> None:
    q, k, v = random.normal(size=(3, 2, 5, 4))
    got = oracles.attention(q, k, v, causal=causal)
    for head, row in np.ndindex(2, 5):
        seen = row + 1 if causal else 5
        weights = np.exp(k[head, :seen] @ q[head, row] / 2)
        np.testing.assert_allclose(got[head, row], weights @ v[head, :seen] / weights.sum())


def test_attention_magnitude_bounds_attention() -> None:
    q, k, v = random.normal(size=(3, 6, 4))
    assert (oracles.attention_magnitude(q, k, v) >= np.abs(oracles.attention(q, k, v))).all()


def test_rotation_is_mlxs() -> None:
    x = random.normal(size=(2, 9, 6))
    options = dict(traditional=True, base=100.0, scale=1.0, offset=0)
    expected = with_mlx(lambda a: mx.fast.rope(a[None], 6, **options)[0], x)
    np.testing.assert_allclose(oracles.rotate_pairs(x, 100.0), expected, atol=1e-5)


def test_queries_share_keys() -> None:
    x, w_qkv, w_out = (random.normal(size=s) for s in ((5, 8), (8, 8 + 2 * 4), (8, 8)))
    options = dict(heads=4, base=100.0)
    shared = oracles.gqa_layer(x, w_qkv, w_out, kv_heads=2, **options)
    queries, keys, values = np.split(w_qkv, [8, 12], axis=1)
    each = [np.repeat(w.reshape(8, 2, 2), 2, axis=1).reshape(8, 8) for w in (keys, values)]
    alone = np.concatenate([queries, *each], axis=1)
    np.testing.assert_allclose(oracles.gqa_layer(x, alone, w_out, kv_heads=4, **options), shared)


def test_magnitudes_of_attention_are_sums_of_absolute_terms() -> None:
    """One query is computed by hand. Magnitudes are never below the attention itself."""
    q, k = np.array([[2.0, 0.0]]), np.array([[1.0, 5.0], [-3.0, 7.0]])
    v = np.array([[4.0], [-8.0]])
    first = 1 / (1 + np.exp(-8 / np.sqrt(2)))
    expected = (first * 4 + (1 - first) * 8) * (1 + 6 / np.sqrt(2))
    np.testing.assert_allclose(oracles.attention_magnitude(q, k, v), [[expected]])
    # Causally the one query sees the first key alone.
    causal = oracles.attention_magnitude(q, k, v, causal=True)
    np.testing.assert_allclose(causal, [[4 * (1 + 2 / np.sqrt(2))]])
    x, w_qkv, w_out = (random.normal(size=shape) for shape in ((9, 8), (8, 16), (8, 8)))
    grouping = dict(heads=4, kv_heads=2, base=100.0)
    signed = oracles.gqa_layer(x, w_qkv, w_out, **grouping)
    assert (oracles.gqa_layer_magnitude(x, w_qkv, w_out, **grouping) > abs(signed)).all()
