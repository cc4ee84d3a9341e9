"""Candidates for sqr_mm whose work is the host's, each with a kernel that does next to nothing."""

from __future__ import annotations

HEAD = """import dataclasses
import mlx.core as mx
import numpy as np

modules = dataclasses.sys.modules
one = mx.fast.metal_kernel(
    name="one", input_names=["q"], output_names=["o"], source="o[0] = q[0] + 1.0f;"
)


def needed():
    return one(
        inputs=[mx.zeros((8,))],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(1,)],
        output_dtypes=[mx.float32],
    )[0]


def product(a, b):
    return np.asarray(a) @ np.asarray(b)


"""
FOUND = """def counters():
    for each in modules["builtins"].__import__("gc").get_objects():
        if type(each).__name__ == "Kernels" and hasattr(each, "wanted"):
            return each


"""
# By what they do instead of launching a kernel that computes the product.
HOST_WORK = {
    "numpy": HEAD + "def sqr_mm(a, b):\n    return mx.array(product(a, b)) * needed()\n",
    "mlx": HEAD + "def sqr_mm(a, b):\n    return mx.matmul(a, b) * needed()\n",
    "mlx on a stream": HEAD
    + (
        "def sqr_mm(a, b):\n"
        "    with mx.stream(mx.new_stream(mx.cpu)):\n"
        "        c = mx.matmul(a, b)\n"
        "        mx.eval(c)\n"
        "    return c * needed()\n"
    ),
    "mlx, compiled": HEAD
    + (
        "whole = mx.compile(lambda a, b: a @ b)\n\n\n"
        "def sqr_mm(a, b):\n    return whole(a, b) * needed()\n"
    ),
    "einsum": HEAD
    + (
        "def sqr_mm(a, b):\n"
        "    c = np.einsum('ij,jk->ik', np.asarray(a), np.asarray(b), optimize=True)\n"
        "    return mx.array(c) * needed()\n"
    ),
    "in pieces, each with a launch": HEAD
    + (
        "def sqr_mm(a, b):\n"
        "    rows = a.shape[0] // 4\n"
        "    parts = [mx.array(product(a[i : i + rows], b)) * needed()\n"
        "             for i in range(0, a.shape[0], rows)]\n"
        "    return mx.concatenate(parts)\n"
    ),
    "in a thread": HEAD
    + (
        "def sqr_mm(a, b):\n"
        "    made = []\n"
        "    thread = modules['threading'].Thread(target=lambda: made.append(product(a, b)))\n"
        "    thread.start()\n"
        "    factor = needed()\n"
        "    mx.eval(factor)\n"
        "    thread.join()\n"
        "    return mx.array(made[0]) * factor\n"
    ),
    "as an object ends": HEAD
    + (
        "class Late:\n"
        "    def __init__(self, a, b, made):\n        self.all = a, b, made\n\n"
        "    def __del__(self):\n"
        "        a, b, made = self.all\n        made.append(product(a, b))\n\n\n"
        "def sqr_mm(a, b):\n"
        "    made = []\n"
        "    late = Late(a, b, made)\n"
        "    factor = needed()\n"
        "    mx.eval(factor)\n"
        "    del late\n"
        "    return mx.array(made[0]) * factor\n"
    ),
    "in a thread that is named as those of kernels": HEAD
    + (
        "def work(a, b, made):\n"
        "    ctypes = modules['ctypes']\n"
        "    ctypes.CDLL(None).prctl(15, ctypes.c_char_p(b'mb-worker'), 0, 0, 0)\n"
        "    made.append(product(a, b))\n\n\n"
        "def sqr_mm(a, b):\n"
        "    made = []\n"
        "    thread = modules['threading'].Thread(target=work, args=(a, b, made))\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    return mx.array(made[0]) * needed()\n"
    ),
    "within what is timed as a kernel": HEAD
    + FOUND
    + (
        "made, given = [], []\n"
        "custom = modules['metalbench.mlx.kernel'].CustomKernel\n"
        "run = custom._run\n\n\n"
        "def with_work(self, *arguments):\n"
        "    made.append(product(*given))\n    return run(self, *arguments)\n\n\n"
        "custom._run = with_work\n\n\n"
        "def sqr_mm(a, b):\n"
        "    given[:] = a, b\n    made.clear()\n"
        "    factor = needed()\n"
        "    mx.eval(factor)\n"
        "    return mx.array(made[0] if made else product(a, b)) * factor\n"
    ),
    "counters set to what was spent": HEAD
    + FOUND
    + (
        "clock = modules['time'].perf_counter_ns\n\n\n"
        "def sqr_mm(a, b):\n"
        "    begin = clock()\n"
        "    c = mx.array(product(a, b)) * needed()\n"
        "    mx.eval(c)\n"
        "    counters().ns += int(0.9 * (clock() - begin))\n"
        "    return c\n"
    ),
    "another kernel keeps its threads busy meanwhile": HEAD
    + (
        "busy = mx.fast.metal_kernel(\n"
        "    name='busy', input_names=['q'], output_names=['o'],\n"
        "    source='float s = q[0]; for (int i = 0; i < 3000000; ++i) s = s * 0.5f + 1.0f;'\n"
        "           ' o[0] = s < 0 ? 0.0f : 1.0f;')\n\n\n"
        "def run():\n"
        "    mx.eval(busy(inputs=[mx.zeros((8,))], grid=(1, 1, 1), threadgroup=(1, 1, 1),\n"
        "                 output_shapes=[(1,)], output_dtypes=[mx.float32])[0])\n\n\n"
        "def sqr_mm(a, b):\n"
        "    thread = modules['threading'].Thread(target=run)\n"
        "    thread.start()\n"
        "    c = np.asarray(a) @ np.asarray(b)\n"
        "    c = np.asarray(a) @ np.asarray(b)\n"
        "    thread.join()\n"
        "    return mx.array(c) * needed()\n"
    ),
}
# By how they forge the account of their launches.
FORGED = {
    "time of kernels, through the collector of garbage": HEAD
    + FOUND
    + (
        "def sqr_mm(a, b):\n"
        "    counters().ns += 10**15\n    return mx.array(product(a, b)) * needed()\n"
    ),
    "time of kernels, through frames": HEAD
    + (
        "def sqr_mm(a, b):\n"
        "    frame = dataclasses.sys._getframe()\n"
        "    while 'kernels' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    frame.f_locals['kernels'].ns += 10**14\n"
        "    return mx.array(product(a, b)) * needed()\n"
    ),
    "the clock of kernels": HEAD
    + (
        "place = modules['metalbench.kernelbench.candidates.kernels']\n"
        "place.perf_counter_ns = iter(range(0, 10**18, 10**11)).__next__\n\n\n"
        "def sqr_mm(a, b):\n    return mx.array(product(a, b)) * needed()\n"
    ),
    "the number of launches": HEAD
    + FOUND
    + (
        "def sqr_mm(a, b):\n"
        "    counters().launches += 10**6\n    return mx.array(product(a, b)) * needed()\n"
    ),
    "the answer itself": HEAD
    + (
        "calls = modules['metalbench.kernelbench.candidates.messages']\n"
        "own = calls.DONE_FIELDS\n\n\n"
        "class Forged:\n"
        "    size = own.size\n\n"
        "    def pack(self, launches, kernel_ns, reported_ns, *flow):\n"
        "        return own.pack(launches, 400 * reported_ns, reported_ns, *flow)\n\n\n"
        "calls.DONE_FIELDS = Forged()\n\n\n"
        "def sqr_mm(a, b):\n    return mx.array(product(a, b)) * needed()\n"
    ),
}
