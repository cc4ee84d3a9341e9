"""Products of parts of the depth, ragged ones: a separate result for each segment."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def cuts(*dims):
    """Segments that cover the depth, of any lengths, the second of them empty."""
    plain = integers(*dims, high=1)

    def draw(random, shape, values):
        inner = np.sort(random.integers(0, values["k"] + 1, size=shape[0] - 1))
        inner[1:2] = inner[:1]
        ends = np.concatenate([[0], inner, [values["k"]]])
        return np.stack([ends[:-1], ends[1:]], axis=1).astype(np.uint32)

    return replace(plain, draw=draw, distribution="cuts of the depth", together=True)


def parts(a, b, segments):
    """Of every segment the product of its columns of a and its rows of b."""
    return np.stack([a[:, i:j] @ b[i:j] for i, j in segments])


@task(
    sizes=dict(
        small=dict(m=16, n=16, k=64, count=3),
        odd1=dict(m=37, n=41, k=129, count=5),
        odd2=dict(m=5, n=67, k=31, count=2),
        seed=dict(m=128, n=128, k=1024, count=8),
        large=dict(m=1024, n=1024, k=16384, count=16),
    ),
    gpu_headlines=("large",),
    inputs=dict(a=normal("m", "k"), b=normal("k", "n"), segments=cuts("count", 2)),
    outputs=dict(y=output("count", "m", "n")),
    oracle=parts,
    scale=lambda a, b, segments: parts(np.abs(a), np.abs(b), segments),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k",
    baseline="mx.segmented_mm",
)
def segmented_mm(a, b, segments):
    dtype = a.dtype
    if mx.default_device() == mx.Device(mx.cpu):  # which has it in float32 alone
        a, b = a.astype(mx.float32), b.astype(mx.float32)
    return mx.segmented_mm(a, b, segments).astype(dtype)
