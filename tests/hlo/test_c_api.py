"""metalbench/hlo.h: programs in C, which start Python themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from metal_double.compiler import with_gcc, zig

from metalbench.hlo.plugin.flags import list_flags

pytest.importorskip("jaxlib", reason="pip install 'metalbench[hlo]'")

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs" / "how-to" / "stablehlo.md"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def build_program(source, target, *, language="c", standard="c99"):
    """Build a program in C or C++ with metalbench's compiler."""
    # Use the libraries of the machine: zig would first build its C library, which takes a minute.
    command = with_gcc() or (str(zig()), "cc" if language == "c" else "c++")
    options = ["-x", language, f"-std={standard}", *WARNINGS, str(source), "-o", str(target)]
    done = subprocess.run(
        [*command, *options, *list_flags()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def run_program(program, *arguments, folder, **environment):
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "METALBENCH_PYTHON": sys.executable, **environment},
    )


@pytest.mark.xdist_group("c_api")
def test_a_program_in_c_gets_results_and_errors(tmp_path):
    done = run_program(build_program(FOLDER / "calls_of_c.c", tmp_path / "calls"), folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.xdist_group("c_api")
def test_a_program_in_c_reads_levels_statistics_and_times(tmp_path):
    program = build_program(FOLDER / "properties_of_c.c", tmp_path / "properties")
    done = run_program(program, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_tests_call_each_function_of_the_header():
    header = (FOLDER.parents[1] / "include" / "metalbench" / "hlo.h").read_text()
    declared = set(re.findall(r"^METALBENCH_HLO_API [^;]*?(mb_hlo_\w+)\(", header, re.M))
    tests = "".join((FOLDER / each).read_text() for each in ("calls_of_c.c", "properties_of_c.c"))
    assert len(declared) == 29
    assert declared - set(re.findall(r"(mb_hlo_\w+)\(", tests)) == set()


@pytest.mark.xdist_group("c_api")
def test_the_example_of_the_docs_runs_from_c_and_from_cpp(tmp_path):
    (example,) = re.findall(r"```c\n(.*?)```", DOCS.read_text(), re.S)
    (tmp_path / "example.c").write_text(example)
    (tmp_path / "twice.mlir").write_text(
        "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {\n"
        "  %0 = stablehlo.add %a, %a : tensor<3xf32>\n  return %0 : tensor<3xf32>\n}"
    )
    for language, standard in (("c", "c99"), ("c++", "c++17")):
        program = build_program(
            tmp_path / "example.c", tmp_path / "example", language=language, standard=standard
        )
        done = run_program(program, "twice.mlir", folder=tmp_path)
        assert (done.returncode, done.stdout) == (0, "2 4 6\n"), done.stderr


@pytest.mark.xdist_group("c_api")
def test_a_missing_python_is_an_error(tmp_path):
    program = build_program(FOLDER / "calls_of_c.c", tmp_path / "calls")
    done = run_program(program, folder=tmp_path, METALBENCH_PYTHON=str(tmp_path / "no python"))
    assert done.returncode == 1
    assert "expected a Python with a shared library" in done.stderr
    assert "METALBENCH_PYTHON" in done.stderr
