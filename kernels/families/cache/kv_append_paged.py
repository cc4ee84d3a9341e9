"""New keys of all heads into their slots of a cache in pages of 16 rows."""

import mlx.core as mx
import numpy as np

from metalbench.task import distinct, normal, output, task


def appended(y, fresh, slot, page):
    """Slot s is row s % page of page s / page."""
    y[slot // page, :, slot % page] = fresh
    return y


@task(
    sizes=dict(
        small=dict(pages=3, heads=2, tokens=5, dims=32),
        odd1=dict(pages=5, heads=3, tokens=37, dims=33),
        odd2=dict(pages=7, heads=1, tokens=1, dims=81),
        seed=dict(pages=64, heads=8, tokens=64, dims=128),
        large=dict(pages=1024, heads=8, tokens=512, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        cache=normal("pages", "heads", "page", "dims"),
        fresh=normal("tokens", "heads", "dims"),
        slot=distinct("tokens", below="pages * page"),
    ),
    outputs=dict(y=output("pages", "heads", "page", "dims")),
    constants=dict(page=16),
    oracle=lambda cache, fresh, slot, page: appended(
        cache.copy(), fresh, slot.astype(np.int64), page
    ),
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="itemsize * heads * dims * (2 * pages * page + tokens) + 4 * tokens",
    inout=dict(cache="y"),
    inout_bytes="tokens * (2 * itemsize * heads * dims + 4)",
    baseline="cache[slot // page, :, slot % page] = fresh",
    draw=lambda random: dict(
        pages=int(random.integers(4, 65)),
        heads=int(random.integers(1, 9)),
        tokens=int(random.integers(1, 65)),
        dims=int(random.integers(8, 129)),
    ),
)
def kv_append_paged(cache, fresh, slot, page):
    return appended(mx.array(cache), fresh, slot, page)
