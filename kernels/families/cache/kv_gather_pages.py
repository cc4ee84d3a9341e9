"""The keys of a text, page by page of a cache as a table names them, side by side for each head."""

import numpy as np

from metalbench.task import integers, normal, output, task


def gathered(pages, table):
    """(heads, rows, dims) of pages (pages, heads, page, dims)."""
    rows = pages[table].swapaxes(0, 1)
    return rows.reshape(len(rows), -1, rows.shape[-1])


@task(
    sizes=dict(
        small=dict(pages=5, named=3, heads=2, dims=32),
        odd1=dict(pages=3, named=7, heads=3, dims=33),
        odd2=dict(pages=17, named=1, heads=1, dims=81),
        seed=dict(pages=128, named=64, heads=8, dims=128),
        large=dict(pages=2048, named=1024, heads=8, dims=128),
    ),
    gpu_headlines=("large",),
    inputs=dict(
        cache=normal("pages", "heads", "page", "dims"), table=integers("named", high="pages")
    ),
    outputs=dict(y=output("heads", "named * page", "dims")),
    constants=dict(page=16),
    oracle=lambda cache, table, page: gathered(cache, table.astype(np.int64)),
    dtypes=("float32", "float16", "bfloat16"),
    flops="0",
    bytes="2 * itemsize * heads * named * page * dims + 4 * named",
    baseline="cache[table].swapaxes(0, 1).reshape",
)
def kv_gather_pages(cache, table, page):
    return gathered(cache, table)
