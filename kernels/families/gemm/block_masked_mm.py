"""A matrix product of which blocks of 32 x 32 are left out, of either operand or of the result."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def masked(a, b, mask_a, mask_b, mask_c, block):
    """The product of what the masks leave, where the result's mask leaves it."""

    def spread(mask, shape):
        return np.kron(mask, np.ones((block, block)))[: shape[0], : shape[1]]

    y = (a * spread(mask_a, a.shape)) @ (b * spread(mask_b, b.shape))
    return y * spread(mask_c, y.shape)


@task(
    sizes=dict(
        small=dict(m=32, n=64, k=64),
        odd1=dict(m=37, n=41, k=70),
        odd2=dict(m=129, n=130, k=99),
        seed=dict(m=256, n=512, k=512),
        large=dict(m=4096, n=4096, k=4096),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        a=normal("m", "k"),
        b=normal("k", "n"),
        mask_a=integers("ceil_div(m, block)", "ceil_div(k, block)", high=2),
        mask_b=integers("ceil_div(k, block)", "ceil_div(n, block)", high=2),
        mask_c=integers("ceil_div(m, block)", "ceil_div(n, block)", high=2),
    ),
    outputs=dict(y=output("m", "n")),
    constants=dict(block=32),
    oracle=masked,
    scale=lambda a, b, mask_a, mask_b, mask_c, block: masked(
        np.abs(a), np.abs(b), mask_a, mask_b, mask_c, block
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="2 * m * n * k",
    baseline="mx.block_masked_mm",
)
def block_masked_mm(a, b, mask_a, mask_b, mask_c, block):
    left, right, whole = (mask.astype(mx.bool_) for mask in (mask_a, mask_b, mask_c))
    return mx.block_masked_mm(a, b, block, whole, left, right)
