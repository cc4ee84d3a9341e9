"""Dropout that draws its mask with Philox 4x32-10, the element's index / 4 as the counter."""

import mlx.core as mx
import numpy as np

from metalbench.task import integers, normal, output, task


def philox_words(module, count, key):
    """The first `count` words of Philox 4x32-10 (Salmon et al., 2011), by NumPy or MLX.

    Words are of 32 bits, held in uint64: so are the products of two of them.
    """

    def number(value):
        return module.array(value, dtype=module.uint64)

    low_bits, half = number(0xFFFFFFFF), number(32)
    a = module.arange((count + 3) // 4, dtype=module.uint64)
    b = c = d = module.zeros_like(a)
    key = key.astype(module.uint64)
    for _ in range(10):
        even, odd = number(0xD2511F53) * a, number(0xCD9E8D57) * c
        a, b = (odd >> half) ^ b ^ key[0], odd & low_bits
        c, d = (even >> half) ^ d ^ key[1], even & low_bits
        key = (key + number([0x9E3779B9, 0xBB67AE85])) & low_bits
    return module.stack([a, b, c, d], axis=-1).reshape(-1)[:count]


def dropped_out(x, key, p):
    """`x` / (1 - p), but 0 where the word is below p 2^32."""
    words = philox_words(np, x.size, key).reshape(x.shape)
    return np.where(words < int(p * 4294967296), 0, x / (1 - p))


@task(
    sizes=dict(
        small=dict(rows=16, cols=256),
        odd1=dict(rows=37, cols=1023),
        odd2=dict(rows=5, cols=4097),
        seed=dict(rows=1024, cols=1024),
        large=dict(rows=2048, cols=4096),
        huge=dict(rows=18432, cols=4096),
    ),
    gpu_headlines=("large", "huge"),
    inputs=dict(x=normal("rows", "cols"), key=integers(2, high=4294967296)),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(p=0.25),
    oracle=dropped_out,
    dtypes=("float32", "float16", "bfloat16"),
    flops="13 * rows * cols",
    baseline="mx.where(philox < p, 0, x / (1 - p))",
)
def dropout_philox(x, key, p):
    words = philox_words(mx, x.size, key).reshape(x.shape)
    return mx.where(words < int(p * 4294967296), 0, x * (1 / (1 - p)))
