"""Programs of JAX through metalbench's plugin, against XLA in a second process of the same run.

    python benchmarks/jax_suite.py [--device cpu|cuda] [--rounds N] [--large] [--alone]
        [--groups] [NAME ...]

Needs `pip install 'metalbench[jax]'`; on `cuda` also JAX's own CUDA wheels, or `--alone`, which
times metalbench only. Each process compiles a program once. Then the two take turns: a turn is the
median of some calls whose arguments and results stay on the device. Printed are the medians of the
turns, the median of the turns' ratios (below 1: metalbench is faster), both times to compile, and
the largest difference of the results over the largest result. Loops are also given per iteration.
With `--groups` a further process of metalbench submits the iterations of loops one by one
(METALBENCH_HLO_LOOP_GROUPS=never): printed are its time, and that of groups over it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from time import perf_counter
from typing import Any

OURS, XLA, SINGLE = "metalbench", "xla", "metalbench without groups"
# Calls of a turn end after this time, and after this number.
TURN_SECONDS, TURN_CALLS = 0.25, 200
SEED = 0


def define_programs(large: bool) -> dict[str, tuple[Any, list[Any], int]]:
    """Return functions with arguments by name, and the number of iterations of a loop, or 1."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(SEED)

    def draw(*shape: int, scale: float = 1.0) -> Any:
        return jnp.asarray(scale * random.standard_normal(shape), jnp.float32)

    def draw_indices(count: int, most: int) -> Any:
        return jnp.asarray(random.integers(0, most, count), jnp.int32)

    def normalize(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)

    def convolve(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def train_mlp(weights: list[Any], x: Any, y: Any) -> Any:
        def loss(weights: list[Any]) -> Any:
            hidden = jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1])
            return ((hidden @ weights[2] - y) ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        return value, [w - 0.01 * g for w, g in zip(weights, gradient, strict=True)]

    def run_block(x: Any, weights: list[Any]) -> Any:
        batch, length, width = x.shape
        wq, wk, wv, wo, up, down = weights
        hidden = normalize(x)

        def split(w: Any) -> Any:
            return (hidden @ w).reshape(batch, length, 8, width // 8).transpose(0, 2, 1, 3)

        heads = attend(split(wq), split(wk), split(wv))
        x = x + heads.transpose(0, 2, 1, 3).reshape(batch, length, width) @ wo
        return x + jax.nn.gelu(normalize(x) @ up) @ down

    def train_block(x: Any, weights: list[Any]) -> Any:
        return jax.grad(lambda given: (run_block(x, given) ** 2).mean())(weights)

    def scan_rnn(x: Any, w: Any) -> Any:
        def turn(state: Any, token: Any) -> Any:
            state = jnp.tanh(state @ w + token)
            return state, state

        return jax.lax.scan(turn, jnp.zeros(x.shape[1:]), x)[1]

    def count_to_500(x: Any) -> Any:
        return jax.lax.while_loop(
            lambda state: state[0] < 500,
            lambda state: (state[0] + 1, state[1] * 0.999 + 1.0),
            (0, x),
        )[1]

    def multiply_500_times(x: Any, w: Any) -> Any:
        return jax.lax.while_loop(
            lambda state: state[0] < 500,
            lambda state: (state[0] + 1, jnp.tanh(state[1] @ w)),
            (0, x),
        )[1]

    def halve_until_small(x: Any) -> Any:
        return jax.lax.while_loop(lambda x: jnp.abs(x).max() > 1e-3, lambda x: x * 0.97, x)

    def update_cache(cache: Any, row: Any, place: Any) -> Any:
        return jax.lax.dynamic_update_slice(cache, row, (place, 0))

    n = 4 if large else 1
    width = 256 * (2 if large else 1)
    block = [draw(width, width, scale=0.04) for _ in range(4)]
    block += [draw(width, 4 * width, scale=0.04), draw(4 * width, width, scale=0.02)]
    mlp = [draw(512, 1024), draw(1024, 1024), draw(1024, 64)]
    heads = [draw(n, 8, 256 * n, 64) for _ in range(3)]
    tokens = draw(n, 128 * n, width)
    return {
        "tiny_add": (lambda x: x + 1, [draw(8)], 1),
        "softmax": (lambda x: jax.nn.softmax(x, -1), [draw(2048 * n, 1024 * n)], 1),
        "layernorm": (normalize, [draw(2048 * n, 1024 * n)], 1),
        "transpose": (lambda x: x.T.copy(), [draw(1024 * n, 1536 * n)], 1),
        "matmul": (lambda a, b: a @ b, [draw(1024 * n, 1024 * n) for _ in range(2)], 1),
        "matvec": (lambda a, x: a @ x, [draw(1024 * n, 1024 * n), draw(1024 * n)], 1),
        "gelu_mlp": (
            lambda x, a, b: jax.nn.gelu(x @ a) @ b,
            [draw(256 * n, 512), draw(512, 2048), draw(2048, 512)],
            1,
        ),
        "attention": (attend, heads, 1),
        "convolution": (convolve, [draw(2 * n, 32, 32, 64), draw(3, 3, 64, 64)], 1),
        "cumsum": (lambda x: jnp.cumsum(x, -1), [draw(256 * n, 1024 * n)], 1),
        "cumsum_of_one_row": (jnp.cumsum, [draw(1_000_000)], 1),
        "sort": (lambda x: jnp.sort(x, -1), [draw(64 * n, 1024 * n)], 1),
        "top_k": (lambda x: jax.lax.top_k(x, 8), [draw(64 * n, 8192)], 1),
        "fft": (lambda x: jnp.abs(jnp.fft.fft(x)), [draw(1 << 16)], 1),
        "mlp_train_step": (train_mlp, [mlp, draw(256 * n, 512), draw(256 * n, 64)], 1),
        "block": (run_block, [tokens, block], 1),
        "block_gradient": (train_block, [tokens, block], 1),
        "gather": (lambda e, i: e[i], [draw(50_000, 64 * n), draw_indices(8192, 50_000)], 1),
        "scatter_add": (
            lambda x, i, u: x.at[i].add(u),
            [draw(50_000, 64), draw_indices(8192, 50_000), draw(8192, 64)],
            1,
        ),
        "cache_update": (update_cache, [draw(4096, 128 * n), draw(1, 128 * n), jnp.int32(7)], 1),
        "scan": (scan_rnn, [draw(200, 16 * n, 64 * n), draw(64 * n, 64 * n, scale=0.05)], 200),
        "while_counted": (count_to_500, [draw(4096 * n)], 500),
        "while_products": (
            multiply_500_times,
            [draw(16 * n, 64 * n), draw(64 * n, 64 * n, scale=0.05)],
            500,
        ),
        "while": (halve_until_small, [draw(4096 * n)], 1),
        "solve": (jnp.linalg.solve, [draw(128, 128), draw(128, 4)], 1),
    }


def serve(large: bool) -> None:
    """Answer requests on standard input: a program's name, and what to do with it."""
    import jax
    import numpy as np

    programs = define_programs(large)
    print(json.dumps({"names": list(programs), "device": str(jax.devices()[0])}), flush=True)
    compiled: dict[str, Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        function, arguments, iterations = programs[request["name"]]
        answer: dict[str, Any] = {"iterations": iterations}
        try:
            if request["work"] == "compile":
                begin = perf_counter()
                compiled[request["name"]] = jax.jit(function)
                result = jax.block_until_ready(compiled[request["name"]](*arguments))
                answer["seconds"] = perf_counter() - begin
                leaves = [np.asarray(each, np.float64).ravel() for each in jax.tree.leaves(result)]
                np.save(request["file"], np.concatenate(leaves))
            else:
                times: list[float] = []
                end = perf_counter() + TURN_SECONDS
                while not times or (perf_counter() < end and len(times) < TURN_CALLS):
                    begin = perf_counter()
                    jax.block_until_ready(compiled[request["name"]](*arguments))
                    times.append(perf_counter() - begin)
                answer["microseconds"] = statistics.median(times) * 1e6
        except Exception as error:
            answer["error"] = str(error).splitlines()[0]
        print(json.dumps(answer), flush=True)


class Side:
    """A process with one of the two implementations."""

    def __init__(self, kind: str, device: str, large: bool) -> None:
        platform = {"cpu": "cpu", "cuda": "cuda"}[device] if kind == XLA else OURS
        environment = os.environ | {"JAX_PLATFORMS": platform, "METALBENCH_JAX_DEVICE": device}
        if kind == SINGLE:
            environment["METALBENCH_HLO_LOOP_GROUPS"] = "never"
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", *(["--large"] if large else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.greeting = self._read()

    def ask(self, **request: str) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise SystemExit("a process has ended; its errors are above")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def compare(sides: dict[str, Side], name: str, rounds: int) -> float | None:
    """Print a line for a program; return the ratio to XLA's time, or None without XLA."""
    import tempfile

    import numpy as np

    found, answers = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, side in sides.items():
            file = os.path.join(folder, f"{kind}.npy")
            answers[kind] = side.ask(work="compile", name=name, file=file)
            if "error" in answers[kind]:
                print(f"{name:18} {kind}: {answers[kind]['error']}", flush=True)
                return None
            found[kind] = np.load(file)
    turns: dict[str, list[float]] = {kind: [] for kind in sides}
    for _ in range(rounds):
        for kind, side in sides.items():
            turns[kind].append(side.ask(work="time", name=name)["microseconds"])
    ours = statistics.median(turns[OURS])
    text = f"{name:18} {ours:12.1f} us"
    iterations = answers[OURS]["iterations"]
    if iterations > 1:
        text += f" ({ours / iterations:.2f} each)"
    ratio = None
    if XLA in sides:
        ratio = statistics.median(a / b for a, b in zip(turns[OURS], turns[XLA], strict=True))
        most = np.nanmax(np.abs(found[XLA]), initial=0.0) or 1.0
        wrong = np.nanmax(np.abs(found[OURS] - found[XLA]), initial=0.0) / most
        text += f" {statistics.median(turns[XLA]):12.1f} us {ratio:8.2f}  error {wrong:.1e}"
    if SINGLE in sides:
        gain = statistics.median(a / b for a, b in zip(turns[OURS], turns[SINGLE], strict=True))
        text += f"  without groups {statistics.median(turns[SINGLE]):12.1f} us {gain:8.2f}"
    compiled = " / ".join(f"{answers[kind]['seconds']:.2f}" for kind in sides)
    print(f"{text}  compiled in {compiled} s", flush=True)
    return ratio


def main() -> None:
    """Compare the chosen programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; default: all")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each process")
    parser.add_argument("--large", action="store_true", help="sizes for a GPU")
    parser.add_argument("--alone", action="store_true", help="time metalbench only")
    parser.add_argument("--groups", action="store_true", help="also time iterations one by one")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.large)
        return
    kinds = [OURS, *([] if options.alone else [XLA]), *([SINGLE] if options.groups else [])]
    sides = {kind: Side(kind, options.device, options.large) for kind in kinds}
    try:
        names = sides[OURS].greeting["names"]
        unknown = sorted(set(options.names) - set(names))
        if unknown:
            parser.error(f"NAME: expected some of {', '.join(names)}, got {', '.join(unknown)}")
        print(" | ".join(str(each.greeting["device"]) for each in sides.values()))
        ratios = [compare(sides, each, options.rounds) for each in options.names or names]
        known = [each for each in ratios if each is not None]
        if known:
            mean = statistics.geometric_mean(known)
            print(f"geometric mean of {len(known)} ratios: {mean:.2f}; largest: {max(known):.2f}")
    finally:
        for side in sides.values():
            side.close()


if __name__ == "__main__":
    main()
