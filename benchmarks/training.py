"""Train a small transformer in MLX with the library's kernels, and with MLX's own operations.

python benchmarks/training.py [--steps 200] [--seed 0]

Both runs have the same initial parameters, batches and optimiser (AdamW), on the processor. Prints
the losses every tenth of the steps, the largest difference, and the time of a step of each run. The
task: predict the next token of sequences that count on by 1, 2 or 3.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
from mlx import nn
from mlx.optimizers import AdamW

from metalbench.mlx import functions as library

Array = Any


@dataclass(frozen=True)
class ModelSize:
    """Extents of the model and of a batch."""

    vocabulary: int = 48
    dims: int = 32
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 64
    layers: int = 1
    batch: int = 4
    tokens: int = 24


# The operations of the model, by MLX alone.
MLX_OPERATIONS = SimpleNamespace(
    attention=lambda q, k, v, causal: mx.fast.scaled_dot_product_attention(
        q, k, v, scale=q.shape[-1] ** -0.5, mask="causal" if causal else None
    ),
    rms_norm=lambda x, weight: mx.fast.rms_norm(x, weight, 1e-5),
    swiglu=lambda gate, up: nn.silu(gate) * up,
    rope=lambda x: mx.fast.rope(
        x, x.shape[-1], traditional=False, base=10000.0, scale=1.0, offset=0
    ),
    embedding=lambda token, table: table[token],
    linear_cross_entropy=lambda hidden, weight, target: nn.losses.cross_entropy(
        hidden @ weight.T, target
    ),
)


def create_parameters(size: ModelSize, seed: int) -> dict[str, Any]:
    """Return random parameters as a tree of MLX arrays."""
    mx.random.seed(seed)
    head = size.dims // size.heads

    def matrix(rows: int, cols: int) -> Array:
        return mx.random.normal((rows, cols)) * cols**-0.5

    blocks = [
        {
            "attention_norm": mx.ones(size.dims),
            "q": matrix(size.heads * head, size.dims),
            "k": matrix(size.kv_heads * head, size.dims),
            "v": matrix(size.kv_heads * head, size.dims),
            "out": matrix(size.dims, size.heads * head),
            "mlp_norm": mx.ones(size.dims),
            "gate": matrix(size.hidden, size.dims),
            "up": matrix(size.hidden, size.dims),
            "down": matrix(size.dims, size.hidden),
        }
        for _ in range(size.layers)
    ]
    return {
        "table": matrix(size.vocabulary, size.dims),
        "blocks": blocks,
        "norm": mx.ones(size.dims),
        "head": matrix(size.vocabulary, size.dims),
    }


def run_block(x: Array, block: Mapping[str, Array], heads: int, operations: Any) -> Array:
    """Return `x` (batch, tokens, dims) after attention and a gated layer, with residuals."""
    batch, tokens, dims = x.shape
    head = dims // heads
    y = operations.rms_norm(x, block["attention_norm"])
    q, k, v = (
        (y @ block[each].T).reshape(batch, tokens, -1, head).swapaxes(1, 2) for each in "qkv"
    )
    y = operations.attention(operations.rope(q), operations.rope(k), v, causal=True)
    x = x + y.swapaxes(1, 2).reshape(batch, tokens, dims) @ block["out"].T
    y = operations.rms_norm(x, block["mlp_norm"])
    gated = operations.swiglu(y @ block["gate"].T, y @ block["up"].T)
    return x + gated @ block["down"].T


def compute_loss(
    parameters: Mapping[str, Any], batch: Array, size: ModelSize, operations: Any
) -> Array:
    """Return the mean cross entropy of the next token of `batch` (batch, tokens + 1)."""
    x = operations.embedding(batch[:, :-1], parameters["table"])
    for block in parameters["blocks"]:
        x = run_block(x, block, size.heads, operations)
    x = operations.rms_norm(x, parameters["norm"])
    return operations.linear_cross_entropy(x, parameters["head"], batch[:, 1:]).mean()


def draw_batches(size: ModelSize, seed: int, steps: int) -> Iterator[Array]:
    """Yield batches (batch, tokens + 1): tokens count on by a step that each sequence has."""
    key = mx.random.key(seed)
    at = mx.arange(size.tokens + 1)
    for _ in range(steps):
        key, of_starts, of_steps = mx.random.split(key, 3)
        start = mx.random.randint(0, size.vocabulary, (size.batch, 1), key=of_starts)
        step = mx.random.randint(1, 4, (size.batch, 1), key=of_steps)
        yield (start + step * at) % size.vocabulary


def train(
    size: ModelSize, operations: Any, *, seed: int, steps: int, rate: float = 3e-3
) -> list[float]:
    """Return the loss of each step of AdamW."""
    parameters = create_parameters(size, seed)
    optimizer = AdamW(rate)
    losses = []
    for batch in draw_batches(size, seed, steps):
        loss, gradients = mx.value_and_grad(compute_loss)(parameters, batch, size, operations)
        parameters = optimizer.apply_gradients(gradients, parameters)
        mx.eval(loss, parameters, optimizer.state)
        losses.append(float(loss))
    return losses


def main() -> None:
    """Print both curves and the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mx.set_default_device(mx.cpu)
    curves, seconds = {}, {}
    for name, operations in (("MLX", MLX_OPERATIONS), ("library", library)):
        train(ModelSize(), operations, seed=options.seed, steps=1)  # builds the kernels
        start = time.perf_counter()
        curves[name] = train(ModelSize(), operations, seed=options.seed, steps=options.steps)
        seconds[name] = (time.perf_counter() - start) / options.steps
    print("step  " + "  ".join(f"{name:>9}" for name in curves))
    every = max(1, options.steps // 10)
    for step in sorted({*range(0, options.steps, every), options.steps - 1}):
        print(f"{step:4}  " + "  ".join(f"{curve[step]:9.6f}" for curve in curves.values()))
    pairs = zip(*curves.values(), strict=True)
    print(f"largest difference of losses: {max(abs(a - b) for a, b in pairs):.2g}")
    print("time of a step: " + ", ".join(f"{n} {1e3 * s:.1f} ms" for n, s in seconds.items()))


if __name__ == "__main__":
    main()
