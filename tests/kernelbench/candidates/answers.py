"""Python candidates for the task of tests/kernelbench/samples.py, each right or wrong."""

from __future__ import annotations

# The task is twice the input; NAME is the task's name.
HEAD = """import mlx.core as mx

SOURCE = "uint i = thread_position_in_grid.x; y[i] = FACTOR * x[i];"
kernel = mx.fast.metal_kernel(name="twice", input_names=["x"], output_names=["y"], source=SOURCE)


def by_kernel(x):
    return kernel(
        inputs=[x],
        grid=(x.size, 1, 1),
        threadgroup=(64, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )[0]


""".replace("FACTOR", "2")
FUNCTION = HEAD + "def NAME(x):\n    return by_kernel(x)\n"
MODEL = HEAD + (
    "class ModelNew:\n"
    "    def __init__(self, n):\n        self.n = n\n\n"
    "    def forward(self, anything):\n        assert anything.shape == (self.n,)\n"
    "        return by_kernel(anything)\n"
)
BY_SHAPE = HEAD + (
    "known = {}\n\n\n"
    "def NAME(x):\n"
    "    if x.shape not in known:\n        known[x.shape] = by_kernel(x)\n"
    "    return known[x.shape]\n"
)
MLX_ONLY = "import mlx.core as mx\n\n\ndef NAME(x):\n    return mx.add(x, x)\n"
# Its kernel runs, and for nothing.
FOR_SHOW = HEAD + "def NAME(x):\n    mx.eval(by_kernel(x))\n    return x + x\n"
WRONG = FUNCTION.replace("2 * x[i]", "3 * x[i]")
# Right, by what happens to lie behind its input.
BEYOND = FUNCTION.replace("2 * x[i]", "x[i + 1000] == 12345.0f ? 0.0f : 2 * x[i]")
BROKEN_KERNEL = FUNCTION.replace("2 * x[i]", "2 * z[i]")
NO_PYTHON = "def NAME(x:\n    return x + x\n"
PROSE = "One would launch a kernel here, I suppose.\n"
IMPORTS = "import subprocess\n\n\ndef NAME(x):\n    subprocess.run(['true'])\n    return x + x\n"
OPENS = "def NAME(x):\n    open('/etc/passwd')\n    return x + x\n"
NO_ENTRY = "def something(x):\n    return x + x\n"
OTHER_ARGUMENTS = "def NAME(x, w, b):\n    return x + x\n"
RAISES = "def NAME(x):\n    return x / nothing\n"
RAISES_AT_ONCE = "import math\n\nmath.sqrt(-1)\n\n\ndef NAME(x):\n    return x + x\n"
SHAPE = "def NAME(x):\n    return (x + x)[:-1]\n"
LOOPS = "def NAME(x):\n    while True:\n        pass\n"
ALLOCATES = (
    "import numpy as np\n\n\ndef NAME(x):\n    held = []\n"
    "    while True:\n        held.append(np.ones(1 << 22))\n"
)
# Gets at the system behind the list of what may be imported.
ESCAPES = (
    "def NAME(x):\n"
    "    found = [each for each in object.__subclasses__() if each.__name__ == '_wrap_close']\n"
    "    found[0].__init__.__globals__['system']('true')\n    return x + x\n"
)
READS = (
    "def NAME(x):\n"
    "    found = [each for each in object.__subclasses__() if each.__name__ == '_wrap_close']\n"
    "    found[0].__init__.__globals__['open']('/etc/hostname', 0)\n    return x + x\n"
)


def named(text: str, name: str) -> str:
    """The candidate for the task of this name."""
    return text.replace("NAME", name)
