"""Convolutions against mlx on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
from mlx_kernels import matrices as m
from mlx_kernels.bench import Bench, Outcome, check, compare, random, zeros
from mlx_kernels.check_products import packed
from mlx_kernels.family import of

ULP = {"float": 64, "half": 2, "bfloat16_t": 2}


def _params(x: np.ndarray, w: np.ndarray, out: np.ndarray, step: int, pad: int) -> np.ndarray:
    """MLXConvParams of contiguous operands, no dilation, one group."""
    space = x.ndim - 2
    return packed(
        n=x.shape[0], c=x.shape[-1], o=w.shape[0],
        i_s=x.shape[1:-1], w_s=w.shape[1:-1], o_s=out.shape[1:-1],
        step=(step,) * space, pad=(pad,) * space, kdil=(1,) * space, idil=(1,) * space,
        l_in=_strides(x), l_wt=_strides(w), l_out=_strides(out), groups=1, flip=0,
    )  # fmt: skip


def _strides(x: np.ndarray) -> tuple[int, ...]:
    return tuple(stride // x.itemsize for stride in x.strides)


def _jumps(x: np.ndarray, w: np.ndarray, inner: int) -> dict[str, int]:
    """Return the steps of a loader between elements of a filter, from the last axis outward."""
    strides, total, jumps = _strides(x), 0, []
    for axis in range(x.ndim - 2, 0, -1):
        jumps.append(strides[axis] - total)
        total += (w.shape[axis] - 1) * strides[axis]
    names = ("w", "h", "d")
    return {**{f"jump_{n}": j for n, j in zip(names, jumps, strict=False)}, "jump_c": inner - total}


def _convolve(bench: Bench, kind: str, x: np.ndarray, w: np.ndarray, block: tuple, rest: tuple):
    space = x.ndim - 2
    family = m.STEEL_CONV if space == 2 else m.STEEL_CONV_3D
    want = _want(x, w)
    out = zeros(want.shape, kind)
    rows, columns = want[..., 0].size, w.shape[0]
    channels = x.shape[-1]
    filters = w[0, ..., 0].size
    steps = filters * -(-channels // block[2])
    if channels <= 4:
        steps = -(-(filters * 4) // block[2])
    tiles = (-(-columns // block[1]), -(-rows // block[0]))
    gemm = packed(
        m=rows, n=columns, k=filters * channels, steps=steps, **_jumps(x, w, block[2]),
        tiles_n=tiles[0], tiles_m=tiles[1], swizzle=0,
    )  # fmt: skip
    instance = of(f"implicit_gemm_conv_{space}d", kind, *block, *rest)
    arguments = [x, w, out, _params(x, w, out, 1, 1), gemm]
    bench.run(family, instance, arguments, groups=(*tiles, 1), threads=(32, block[4], block[3]))
    return compare(instance, out, want, kind, ULP[kind])


def _want(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    wide = [mx.array(part.astype(np.float32)) for part in (x, w)]
    return np.array(mx.conv_general(*wide, padding=1))


@check(m.STEEL_CONV)
def conv_2d(bench: Bench) -> Iterator[Outcome]:
    cases = (
        ("float", 16, 8, (32, 8, 16, 4, 1), (0, True)),
        ("half", 32, 64, (32, 32, 16, 2, 2), (0, False)),
        ("bfloat16_t", 3, 64, (32, 64, 16, 2, 2), (3, False)),
    )
    for kind, channels, filters, block, rest in cases:
        x = random((2, 9, 11, channels), kind)
        yield _convolve(bench, kind, x, random((filters, 3, 3, channels), kind, 1), block, rest)


@check(m.STEEL_CONV_3D)
def conv_3d(bench: Bench) -> Iterator[Outcome]:
    cases = (
        ("float", 8, (32, 8, 16, 4, 1), (True,)),
        ("half", 64, (32, 32, 16, 2, 2), (False,)),
    )
    for kind, filters, block, rest in cases:
        x = random((1, 4, 5, 6, 16), kind)
        yield _convolve(bench, kind, x, random((filters, 3, 3, 3, 16), kind, 1), block, rest)


@check(m.STEEL_CONV_GENERAL)
def conv_general(bench: Bench) -> Iterator[Outcome]:
    cases = (("float", 8, (32, 8, 16, 4, 1)), ("half", 64, (32, 32, 16, 2, 2)))
    for kind, filters, block in cases:
        x, w = random((2, 9, 11, 16), kind), random((filters, 3, 3, 16), kind, 1)
        want = np.array(
            mx.conv_general(*[mx.array(part.astype(np.float32)) for part in (x, w)], 2, 1)
        )
        out, rows = zeros(want.shape, kind), want[..., 0].size
        tiles = (-(-filters // block[1]), -(-rows // block[0]))
        gemm = packed(
            m=rows, n=filters, k=9 * 16, steps=1, **_jumps(x, w, block[2]),
            tiles_n=tiles[0], tiles_m=tiles[1], swizzle=0,
        )  # fmt: skip
        jumps = packed(
            wh=1, ww=1, oh=1, ow=1, h=want.shape[1], w=want.shape[2],
            hw=want.shape[1] * want.shape[2], m=rows,
        )  # fmt: skip
        base = packed(base=0, size=3)
        instance = of("implicit_gemm_conv_2d_general", kind, *block)
        arguments = [x, w, out, _params(x, w, out, 2, 1), gemm, jumps, base, base]
        bench.run(
            m.STEEL_CONV_GENERAL,
            instance,
            arguments,
            groups=(*tiles, 1),
            threads=(32, block[4], block[3]),
        )
        yield compare(instance, out, want, kind, ULP[kind])
