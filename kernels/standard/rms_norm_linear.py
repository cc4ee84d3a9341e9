"""RMS norm of rows, then a dense layer: rms_norm(x) W^T."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


def normed(x, eps):
    """Rows of `x` over the root of their mean square."""
    return x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + eps)


@task(
    sizes=dict(
        small=dict(rows=32, inputs=32, outputs=64),
        odd1=dict(rows=37, inputs=65, outputs=23),
        odd2=dict(rows=5, inputs=129, outputs=67),
        seed=dict(rows=1024, inputs=1024, outputs=1024),
        large=dict(rows=1024, inputs=1536, outputs=1536),
        huge=dict(rows=4096, inputs=1536, outputs=1536),
        cpu=dict(rows=256, inputs=512, outputs=512),
    ),
    headline="cpu",
    gpu_headlines=("large", "huge"),
    inputs=dict(
        x=normal("rows", "inputs"),
        w=normal("outputs", "inputs"),
    ),
    outputs=dict(y=output("rows", "outputs")),
    constants=dict(eps=1e-5),
    oracle=lambda x, w, eps: normed(x, eps) @ w.T,
    scale=lambda x, w, eps: np.abs(normed(x, eps)) @ np.abs(w).T,
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * rows * inputs * outputs + 3 * rows * inputs",
    baseline="mx.fast.rms_norm, matmul",
    torch=lambda torch, x, w, eps: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=eps) @ w.mT,
)
def rms_norm_linear(x, w, eps):
    return mx.fast.rms_norm(x, None, eps) @ w.T
