"""Cached plans run as new ones do, and are found only for the same program and settings."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from metalbench import build_cache, hlo
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime import compilation
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan, format_source

# Constants of all kinds, nested control flow, and an argument that is returned.
PROGRAM = """
func.func @main(%n: tensor<i32>, %x: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<2xbf16>, tensor<4xi4>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %odd = stablehlo.constant dense<[0.5, -2.0, 0x7FC00000]> : tensor<3xf32>
  %all = stablehlo.constant dense<3.0> : tensor<3xf32>
  %halves = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %few = stablehlo.constant dense<[1, -8, 7, 0]> : tensor<4xi4>
  %i, %y = stablehlo.while(%a = %zero, %b = %odd) : tensor<i32>, tensor<3xf32>
    cond { %p = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %c = "stablehlo.case"(%a) ({
           %d = stablehlo.add %b, %x : tensor<3xf32>
           stablehlo.return %d : tensor<3xf32>
         }, {
           %d = stablehlo.multiply %b, %all : tensor<3xf32>
           stablehlo.return %d : tensor<3xf32>
         }) : (tensor<i32>) -> tensor<3xf32>
         %e = stablehlo.add %a, %one : tensor<i32>
         stablehlo.return %e, %c : tensor<i32>, tensor<3xf32> }
  return %y, %x, %halves, %few : tensor<3xf32>, tensor<3xf32>, tensor<2xbf16>, tensor<4xi4>
}"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))


@pytest.mark.parametrize("level", [0, 2, 3])
def test_a_cached_plan_gives_the_same_results(level):
    made = build_plan(import_program(PROGRAM), level, device="cpu")
    compilation.store_plan("0123456789abcdef", made, {"name": "p"})
    found, facts = compilation.load_plan("0123456789abcdef")
    assert facts == {"name": "p"}
    assert (format_source(found), found.format_steps()) == (
        format_source(made),
        made.format_steps(),
    )
    given = np.int32(4), np.array([1, 2, 3], np.float32)
    expected, got = (Executable(each, device="cpu")(*given) for each in (made, found))
    for one, other in zip(expected, got, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.astype(np.float32), other.astype(np.float32))


def test_another_process_uses_the_cache_without_mlir(tmp_path):
    (tmp_path / "p.mlir").write_text(PROGRAM)
    script = (
        "import sys; from metalbench import hlo; import numpy as np;"
        "p = hlo.compile(open(sys.argv[1]).read(), device='cpu');"
        "print('jaxlib' in sys.modules, p(np.int32(1), np.ones(3, np.float32))[0])"
    )
    for expected in ("True [ 1.5 -1.   nan]", "False [ 1.5 -1.   nan]"):
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "p.mlir"],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
            cwd=tmp_path,
        )
        assert done.stdout.strip() == expected, done.stderr


def test_the_cache_key_depends_on_program_and_environment(monkeypatch):
    keys = [
        compilation.compute_key(PROGRAM, "-O 2", "cpu"),
        compilation.compute_key(PROGRAM, "-O 3", "cpu"),
        compilation.compute_key(PROGRAM, "-O 2", "metal"),
        compilation.compute_key(PROGRAM.replace("3.0", "4.0"), "-O 2", "cpu"),
    ]
    compilation._identify_versions.cache_clear()
    monkeypatch.setattr(compilation, "version", lambda _: "0.0.1")
    keys.append(compilation.compute_key(PROGRAM, "-O 2", "cpu"))
    compilation._identify_versions.cache_clear()
    monkeypatch.setattr(compilation, "digest_trees", lambda _: "other sources")
    keys.append(compilation.compute_key(PROGRAM, "-O 2", "cpu"))
    compilation._identify_versions.cache_clear()
    assert len(set(keys)) == len(keys)


def test_a_damaged_plan_is_compiled_again(tmp_path):
    given = np.int32(0), np.ones(3, np.float32)
    expected = hlo.compile(PROGRAM, device="cpu")(*given)
    files = [*tmp_path.glob("*/*.bin"), *tmp_path.glob("*/*.json")]
    assert files
    for each in files:
        each.write_bytes(each.read_bytes()[:-1] + b"?")
    for one, other in zip(expected, hlo.compile(PROGRAM, device="cpu")(*given), strict=True):
        np.testing.assert_array_equal(one.astype(np.float32), other.astype(np.float32))


def test_a_plan_with_large_constants_is_not_stored(monkeypatch):
    monkeypatch.setattr(compilation, "MAX_CONSTANT_BYTES", 8)
    made = build_plan(import_program(PROGRAM), 2, device="cpu")
    compilation.store_plan("0123456789abcdef", made, {})
    assert build_cache.load("0123456789abcdef") is None


def test_an_unwritable_cache_only_costs_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "file"))
    compilation.store_plan(
        "0123456789abcdef", build_plan(import_program(PROGRAM), 2, device="cpu"), {}
    )
    assert compilation.load_plan("0123456789abcdef") is None
