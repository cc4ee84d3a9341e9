"""Cold and warm starts of JAX programs through metalbench's plugin, against XLA:CPU.

    python benchmarks/jax_cold_start.py [--rounds N] [--stages] [NAME ...]

Needs `pip install 'metalbench[jax]'`. Each start is a new process, which initialises a model of
Flax and takes one training step of Optax. A round has three starts in this order: metalbench with
an empty cache (`cold`), XLA:CPU, and metalbench with the cache of the first (`warm`). Processor
time is that of the process and its children, from the first use of a device to the loss of the
step; imports of JAX and Flax do not count. Printed are medians of the rounds and of their ratios.
`--stages` prints the medians of initialisation, optimiser and step apart.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

SEED = 0
COLD, XLA, WARM = "cold", "XLA:CPU", "warm"
STAGES = ("device", "init", "optimiser", "step")
Times = dict[str, dict[str, float]]


def define_models() -> dict[str, Callable[[], tuple[Any, Any, Any]]]:
    """Return functions by name; each returns a model, inputs and labels."""
    import flax.linen as nn
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(SEED)

    class Block(nn.Module):
        """Attention and a multilayer perceptron of a transformer."""

        @nn.compact
        def __call__(self, x: Any) -> Any:
            mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            hidden = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
            return x + nn.Dense(x.shape[-1])(hidden)

    class Gpt(nn.Module):
        """A transformer of two blocks that predicts the next token."""

        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            x = nn.Embed(128, 64)(tokens) + nn.Embed(32, 64)(jnp.arange(tokens.shape[1]))
            for _ in range(2):
                x = Block()(x)
            return nn.Dense(128)(nn.LayerNorm()(x))

    class ResidualBlock(nn.Module):
        """Two convolutions and a sum."""

        channels: int
        stride: int = 1

        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = nn.Conv(self.channels, (3, 3), self.stride, use_bias=False)(x)
            y = nn.relu(nn.GroupNorm(num_groups=4)(y))
            y = nn.GroupNorm(num_groups=4)(nn.Conv(self.channels, (3, 3), use_bias=False)(y))
            if x.shape != y.shape:
                x = nn.Conv(self.channels, (1, 1), self.stride)(x)
            return nn.relu(x + y)

    class ResNet(nn.Module):
        """The eight residual blocks of ResNet18, on small images."""

        @nn.compact
        def __call__(self, images: Any) -> Any:
            x = nn.max_pool(nn.relu(nn.Conv(8, (3, 3))(images)), (2, 2), (2, 2))
            for channels in (8, 16, 32, 64):
                x = ResidualBlock(channels, 1 if channels == 8 else 2)(x)
                x = ResidualBlock(channels)(x)
            return nn.Dense(10)(x.mean((1, 2)))

    def draw_tokens() -> tuple[Any, Any, Any]:
        tokens = random.integers(0, 128, (4, 33))
        return Gpt(), tokens[:, :-1], tokens[:, 1:]

    def draw_images() -> tuple[Any, Any, Any]:
        images = random.standard_normal((4, 32, 32, 3)).astype(np.float32)
        return ResNet(), images, random.integers(0, 10, 4)

    return {"gpt": draw_tokens, "resnet18": draw_images}


def start(name: str) -> None:
    """Initialise a model, take one training step, and print the times of the stages."""
    import jax
    import optax

    model, inputs, labels = define_models()[name]()
    times: Times = {}

    @contextmanager
    def measure(stage: str) -> Iterator[None]:
        begin, used = perf_counter(), _read_processor_s()
        yield
        times[stage] = {"wall": perf_counter() - begin, "CPU": _read_processor_s() - used}

    optimiser = optax.adam(1e-2)

    def compute_loss(weights: Any, inputs: Any, labels: Any) -> Any:
        logits = model.apply(weights, inputs)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    @jax.jit
    def step(weights: Any, state: Any, inputs: Any, labels: Any) -> Any:
        loss, gradient = jax.value_and_grad(compute_loss)(weights, inputs, labels)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(weights, updates), state, loss

    with measure("device"):
        jax.devices()
    with measure("init"):
        weights = jax.block_until_ready(model.init(jax.random.key(SEED), inputs))
    with measure("optimiser"):
        state = jax.block_until_ready(optimiser.init(weights))
    with measure("step"):
        loss = float(jax.block_until_ready(step(weights, state, inputs, labels))[2])
    print(json.dumps({"times": times, "loss": loss}), flush=True)


def _read_processor_s() -> float:
    """Return the processor time of this process and its ended children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def run_start(name: str, kind: str, cache: str) -> tuple[Times, float]:
    """Return the times of the stages and in all, and the loss, of a start in a new process."""
    environment = {**os.environ, "METALBENCH_CACHE": cache, "METALBENCH_JAX_DEVICE": "cpu"}
    environment["JAX_PLATFORMS"] = "cpu" if kind == XLA else "metalbench"
    # XLA compiles in each process, unless the user asks for a cache.
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, __file__, "--start", name],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{name}, {kind}: the process ended with {done.returncode}")
    found = json.loads(done.stdout.splitlines()[-1])
    times: Times = found["times"]
    times["all"] = {unit: sum(times[each][unit] for each in STAGES) for unit in ("CPU", "wall")}
    return times, found["loss"]


def compare(name: str, rounds: int, stages: tuple[str, ...]) -> None:
    """Print the lines of a model: each stage in seconds of processor time and wall time."""
    found: dict[str, list[Times]] = {COLD: [], XLA: [], WARM: []}
    for _ in range(rounds):
        losses = []
        with tempfile.TemporaryDirectory() as cache:
            for kind, times in found.items():
                measured, loss = run_start(name, kind, cache)
                times.append(measured)
                losses.append(loss)
        if max(losses) - min(losses) > 1e-3 * abs(max(losses)):
            raise SystemExit(f"{name}: expected equal losses, got {losses}")
    for stage in stages:
        for unit in ("CPU", "wall"):
            columns = {kind: [each[stage][unit] for each in times] for kind, times in found.items()}
            text = "".join(f"{statistics.median(each):10.2f}" for each in columns.values())
            for kind in (COLD, WARM):
                ratios = [a / b for a, b in zip(columns[kind], columns[XLA], strict=True)]
                text += f"{statistics.median(ratios):12.2f}"
            print(f"{name:10} {stage:10} {unit:5}{text}", flush=True)


def main() -> None:
    """Compare the chosen models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of three processes")
    parser.add_argument("--stages", action="store_true", help="print each stage apart")
    parser.add_argument("--start", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.start:
        start(options.start)
        return
    names = ("gpt", "resnet18")
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"NAME: expected some of {', '.join(names)}, got {', '.join(unknown)}")
    heads = "".join(f"{each:>10}" for each in (COLD, XLA, WARM))
    print(f"{'seconds':27}{heads}{'cold/XLA':>12}{'warm/XLA':>12}")
    for each in options.names or names:
        compare(each, options.rounds, (*STAGES, "all") if options.stages else ("all",))


if __name__ == "__main__":
    main()
