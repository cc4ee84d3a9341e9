from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metalbench import build_cache
from metalbench._core import CompileError, Error
from metalbench.msl import engine

TEXT = """#include <metal_stdlib>
using namespace metal;
#ifdef SCALE
constant float scale = SCALE;
#else
constant float scale = 1;
#endif
constant int n [[function_constant(0)]];
kernel void f(device float* a, uint i [[thread_position_in_grid]]) { a[i] = scale * n; }
"""


def build_kernel(text=TEXT, filename="k.metal", macros=None, n=1, **options):
    return engine.build(engine.parse(text, filename, macros), "f", {"n": n}, **options)


@pytest.fixture
def processes(monkeypatch):
    """Every process that is started from here on."""
    started = []
    start = subprocess.Popen

    def count_process(command, **options):
        started.append(command)
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", count_process)
    return started


def test_a_cached_build_starts_no_process(processes):
    first = build_kernel()
    assert len(processes) == 4
    assert build_kernel() == first
    assert len(processes) == 4


def test_parse_caches_programs(processes):
    assert engine.parse(TEXT).functions == ["f"]
    assert engine.parse(TEXT).functions == ["f"]
    assert len(processes) == 1


def test_build_has_one_object_for_each_set_of_options():
    objects = [
        build_kernel(),
        build_kernel(TEXT.replace("scale * n", "scale + n")),
        build_kernel(macros={"SCALE": "3"}),
        build_kernel(macros={"SCALE": "4"}),
        build_kernel(n=2),
        build_kernel(checked=True),
        build_kernel(fast_math=False),
    ]
    assert len({each.path for each in objects}) == len(objects)


def test_build_has_one_object_for_equal_values_of_a_constant():
    text = TEXT.replace("constant int n", "constant bool n")
    assert build_kernel(text, n=True).path == build_kernel(text, n=1).path
    assert build_kernel(n=0).path != build_kernel(n=1).path


def test_parse_detects_changes_of_included_files(tmp_path):
    part = tmp_path / "part.h"
    text = '#include "part.h"\nkernel void f(device float* a) { *a = VALUE; }'
    paths = []
    for value in (1, 2, 1):
        part.write_text(f"#define VALUE {value}\n")
        program = engine.parse(text, str(tmp_path / "k.metal"))
        paths.append(engine.build(program, "f").path)
    assert paths[0] != paths[1]
    assert paths[0] == paths[2]


def test_include_folders_count(tmp_path):
    text = '#include "part.h"\nkernel void f(device float* a) { *a = VALUE; }'
    paths = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.h").write_text(f"#define VALUE {len(paths)}\n")
        program = engine.parse(text, "k.metal", {}, [str(tmp_path / name)])
        paths.add(engine.build(program, "f").path)
    assert len(paths) == 2


@pytest.mark.parametrize("damage", [b"", b"\x7fELF damaged", None])
def test_a_damaged_object_is_rebuilt(damage):
    first = build_kernel()
    good = Path(first.path).read_bytes()
    if damage is None:
        Path(first.path).unlink()
    else:
        Path(first.path).write_bytes(damage)
    assert build_kernel() == first
    assert Path(first.path).read_bytes() == good


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"other": 1}', "\udcff"])
def test_damaged_records_are_rebuilt(damage):
    first = build_kernel()
    for record in build_cache.find_cache_folder().rglob("*.json"):
        record.write_text(damage, errors="surrogateescape")
    assert build_kernel() == first


def test_a_failed_build_leaves_no_object():
    with pytest.raises(CompileError):
        build_kernel(TEXT.replace("scale * n", "missing"))
    left = [path.suffix for path in build_cache.find_cache_folder().rglob("*") if path.is_file()]
    assert sorted(left) == [".h", ".json"]


def test_a_cached_build_has_its_lowered_text():
    build_kernel()
    assert "MB_KERNEL(" in build_kernel().lowered


def test_an_unwritable_cache_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(Error, match="set METALBENCH_CACHE to a folder that can"):
        build_kernel()


PROCESS = """
import json, sys
from metalbench.msl import engine
program = engine.parse(sys.argv[1], "k.metal")
paths = [engine.build(program, "f", {"n": n}).path for n in (1, 2)]
print(json.dumps([[path, open(path, "rb").read()[:4].decode("latin1")] for path in paths]))
"""


def test_many_processes_build_one_kernel_concurrently():
    def run(_):
        command = [sys.executable, "-c", PROCESS, TEXT]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        return json.loads(answer.stdout)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(run, range(4)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0][1] == "\x7fELF"
    assert not list(build_cache.find_cache_folder().rglob(".*"))
