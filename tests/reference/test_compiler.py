"""Without MLX's compiler references continue uncompiled, and reports mention it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="MLX asks g++ on Linux")

NEWER = """#!/bin/sh
case "$*" in
  *-shared*) echo "tmp.cpp:6010:15: error: redeclaration of C++ built-in type '_Float32'"; exit 1;;
esac
"""
OTHER = """#!/bin/sh
case "$*" in *-shared*) echo "g++: fatal error: no space left"; exit 1;; esac
"""
ASK = """
import numpy as np
from metalbench.kernel.library import Library
from metalbench.reference import Reference, outputs
from metalbench.reference.evaluate import compiler_fault
from metalbench.run.reference_forms import choose_form
from metalbench.task.workload import workload

for name in {names}:
    work = workload(Library().entry(name).task, "small")
    (got,) = outputs(work).values()
    np.testing.assert_allclose(got, work.expected["y"], rtol=1e-4, atol=1e-5)
    settled = choose_form(Reference(work), seconds=0.2)
    print(name, *(each.fault or "timed" for each in settled.forms), sep="|")
    print(name, *settled.doubts, sep="|")
print("known:", compiler_fault())
"""


def said_by(folder, compiler, script):
    """Return the output of a process whose g++ is `compiler`, without compiled code before."""
    program = folder / "g++"
    program.write_text(compiler)
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def asked(folder, compiler, *names):
    return said_by(folder, compiler, ASK.format(names=names))


def test_a_newer_compiler_than_mlx_knows(tmp_path):
    eager, doubts, known = asked(tmp_path, NEWER, "gelu_tanh")
    said = known.removeprefix("known: ")
    assert said == (
        'MLX cannot compile here, and is measured without: g++ says "error: redeclaration of C++ '
        "built-in type '_Float32'\"; MLX knows g++ up to version 12: install that, and let `g++` "
        "be it"
    )
    assert eager == f"gelu_tanh|timed|{said}"
    assert doubts.split("|")[-1] == said


def test_a_missing_compiler_is_reported_for_the_compiled_form(tmp_path):
    forms, doubts, known = asked(tmp_path, OTHER, "layer_norm")
    said = known.removeprefix("known: ")
    assert said == (
        "MLX cannot compile here, and is measured without: g++ says 'error: no space left'"
    )
    assert forms == f"layer_norm|timed|{said}"
    assert doubts.split("|")[-1] == said


def test_doctor_tells(tmp_path):
    script = "from metalbench.cli.doctor import _mlx; print(_mlx().detail)"
    mlx, fault = said_by(tmp_path, NEWER, script)
    assert mlx.endswith(", the reference")
    assert fault.startswith("MLX cannot compile here, and is measured without: g++ says ")
