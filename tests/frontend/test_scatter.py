"""Test that private arrays are not accessed by scatter instructions."""

from __future__ import annotations

import subprocess
from dataclasses import replace

from metalbench.msl.toolchain.clang import ELF, RELEASE_FLAGS, find_toolchain, list_flags

# The loop over threads of a kernel with a private array, as clang sees it.
THREADS = """
void threads(float *end, int count, int steps) {
  for (int i = 0; i < count; ++i) {
    float value[8][16];
    for (int c = 0; c < 8; ++c)
      for (int k = 0; k < 16; ++k) value[c][k] = float(i + c + k);
    for (int step = 0; step < steps; ++step)
      for (int c = 0; c < 8; ++c)
        for (int k = 0; k < 16; ++k) value[c][k] = value[c][k] * 0.999f + 0.5f;
    float sum = 0;
    for (int c = 0; c < 8; ++c)
      for (int k = 0; k < 16; ++k) sum += value[c][k];
    end[i] = sum;
  }
}
"""


def assembly(options):
    """Return clang's assembly of THREADS for a processor with scatter instructions."""
    tools = find_toolchain()
    target = ["--target=x86_64-unknown-linux-gnu", "-march=znver4"]
    kept = [each for each in options if not each.startswith("-march")]
    return subprocess.run(
        [*tools.clang, "-x", "c++", "-", "-S", "-o", "-", *kept, *target],
        input=THREADS,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_arrays_of_threads_are_not_scattered():
    goal = replace(ELF, triple="x86_64-unknown-linux-gnu")
    assert "vscatter" not in assembly(list_flags(checked=False, fast_math=True, goal=goal))


def test_arrays_of_threads_are_scattered_without_the_flag():
    """The test above can fail: clang does so if it is let."""
    assert "vscatter" in assembly(list_flags(checked=False, fast_math=True, passes=RELEASE_FLAGS))
