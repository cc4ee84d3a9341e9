"""The family `attention` and steps of `cache` by formulas: what oracles of tasks do not show."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task.attention import attend

Array = np.ndarray


def draw(shape: tuple[int, ...], seed: int = 1) -> Array:
    return np.random.Generator(np.random.Philox(seed)).standard_normal(shape, np.float32)


def test_sdpa_varlen_averages_the_values_of_a_text_where_keys_are_zeros() -> None:
    starts = np.array([0, 7, 7, 40, 97, 97], np.uint32)
    q, v = draw((97, 3, 80)), draw((97, 1, 80), seed=2)
    k = np.zeros_like(v)
    _, found = compute("sdpa_varlen", starts=starts, q=q, k=k, v=v)
    for begin, end in pairwise(starts):
        counts = np.arange(1, end - begin + 1)[:, None, None]
        mean = v[begin:end].astype(np.float64).cumsum(axis=0) / counts
        np.testing.assert_allclose(found["y"][begin:end], mean.repeat(3, axis=1), atol=1e-5)


@pytest.mark.parametrize("name", ["sdpa_softcap", "sdpa_decode_softcap"])
def test_soft_capping_ends_at_the_cap(name: str) -> None:
    """With large scores of both signs, keys have the weights e^cap and e^-cap."""
    given, _ = compute(name, constants={"cap": 0.5})
    q = np.ones_like(given["q"]) * 1000
    signs = np.sign(draw(given["k"].shape[:2]))
    k = np.ones_like(given["k"]) * signs[..., None].astype(np.float32)
    _, found = compute(name, constants={"cap": 0.5}, q=q, k=k)
    weights = np.exp(0.5 * signs)[..., None]
    v = given["v"]
    heads, kv_heads = len(q), len(k)
    sums, wholes = (weights * v).cumsum(axis=1), weights.cumsum(axis=1)
    expected = (sums / wholes).repeat(heads // kv_heads, axis=0)
    y = found["y"] if name == "sdpa_softcap" else found["y"][:, None]
    np.testing.assert_allclose(y, expected[:, -y.shape[1] :], rtol=1e-4, atol=1e-5)


def test_mla_decode_is_the_attention_whose_keys_are_made_of_latent_rows() -> None:
    """Keys U c and values W c: U is absorbed by the query, and W applied to the output."""
    heads, keys, latent, rotary, dims, scaling = 11, 130, 104, 64, 24, 192
    up, down = draw((heads, dims, latent)), draw((heads, 16, latent), seed=2)
    plain, turned = draw((heads, dims), seed=3), draw((heads, rotary), seed=4)
    cache = draw((1, keys, latent + rotary), seed=5) / 4
    absorbed = np.einsum("hd,hdl->hl", plain, up)
    q = np.concatenate([absorbed, turned], axis=-1)[None]
    _, found = compute("mla_decode", q=q, cache=cache)
    rows, shared = cache[0, :, :latent], cache[0, :, latent:]
    own_keys = np.concatenate(
        [np.einsum("hdl,kl->hkd", up, rows), np.broadcast_to(shared, (heads, keys, rotary))],
        axis=-1,
    )
    own_q = np.concatenate([plain, turned], axis=-1) * np.sqrt((dims + rotary) / scaling)
    values = np.einsum("hdl,kl->hkd", down, rows)
    expected = attend(own_q[:, None].astype(np.float64), own_keys, values)[:, 0]
    of_latent = np.einsum("hdl,hl->hd", down, found["y"][0])
    np.testing.assert_allclose(of_latent, expected, rtol=2e-3, atol=2e-3)


def test_steps_of_kv_step_are_causal_attention() -> None:
    """Caches go from step to step; what was in them behind the position is never seen."""
    size, heads, length, dims = "odd1", 3, 53, 81
    q, k, v = (draw((heads, 6, dims), seed) for seed in (1, 2, 3))
    expected = attend(*(each.astype(np.float64) for each in (q, k, v)), seen=np.tri(6) > 0)
    caches = {name: np.full((heads, length, dims), 1e30, np.float32) for name in "kv"}
    for at in range(6):
        _, found = compute(
            "kv_step",
            size,
            q=q[:, at],
            k_new=k[:, at],
            v_new=v[:, at],
            position=np.array([at], np.uint32),
            **caches,
        )
        caches = {"k": found["y_k"], "v": found["y_v"]}
        np.testing.assert_allclose(found["y"], expected[:, at], rtol=1e-4, atol=1e-5)


def test_sdpa_prefix_paged_does_not_depend_on_where_pages_are() -> None:
    given, found = compute("sdpa_prefix_paged")
    order = np.random.Generator(np.random.Philox(9)).permutation(len(given["k"]))
    inverse = np.argsort(order)
    _, again = compute(
        "sdpa_prefix_paged",
        q=given["q"],
        k=given["k"][order],
        v=given["v"][order],
        table=inverse[given["table"].astype(int)].astype(np.uint32),
        starts=given["starts"],
        before=given["before"],
    )
    np.testing.assert_array_equal(found["y"], again["y"])
