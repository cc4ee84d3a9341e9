"""The scripts that fit the model of Apple's GPUs count and name the records that they drop."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from metalbench.profiling.gpu_work import DispatchWork

FOLDER = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="benchmarks are in a checkout only")
WORK = DispatchWork(threadgroups=64, simdgroups=4, slots=100, unique_read=1e6).record()
ROWS = """task,size,candidate,measured_us,function,times
t,n1,good,100,f,2
t,n1,good,100,g,1
t,n1,bare,100,f,1
t,n1,broken,100,f,1
t,n1,textures,100,f,1
t,n1,half,100,f,1
t,n1,half,100,g,1
"""
WORKS = {
    "good#n1": [{"function": "f", **WORK}, {"function": "g", **WORK}],
    "broken#n1": [{"function": "", "error": "does not compile: line 3: no x"}],
    "textures#n1": [{"function": "f", "error": "cannot be simulated: textures"}],
    "half#n1": [{"function": "f", **WORK}],
}


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_read_m1_pro_says_why_records_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records.csv").write_text(ROWS)
    (tmp_path / "works.json").write_text(json.dumps(WORKS))
    records = load("apple_model").read_m1_pro(tmp_path / "records.csv", tmp_path / "works.json")
    assert records.names == ["good#n1"]
    assert records.times.tolist() == [2.0, 1.0]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "M1 Pro: 1 of 5 records have their work"
    assert sorted(said[1:]) == [
        "  1 are dropped: a dispatch was not simulated",
        "  1 are dropped: cannot be simulated",
        "  1 are dropped: does not compile",
        "  1 are dropped: there is no simulated work",
    ]


def test_apple_works_notes_candidates_without_work(capsys: pytest.CaptureFixture[str]) -> None:
    works = load("apple_works")
    found = {key: value for key, value in WORKS.items() if key != "broken#n1"}
    works.set_error(found, "broken", [SimpleNamespace(label="n1")], "does not compile: no x")
    assert works.needs_work(None)
    assert works.needs_work(found["broken#n1"])
    assert not works.needs_work(found["textures#n1"])
    names = ("good", "broken", "textures", "bare")
    works.print_reasons(found, {("t", name): {"n1"} for name in names})
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "1 of 4 records: cannot be simulated",
        "1 of 4 records: does not compile",
        "1 of 4 records: its size is not one of the task",
        "1 of 4 records: simulated",
    ]


def test_contradictions_are_records_of_equal_work(capsys: pytest.CaptureFixture[str]) -> None:
    model = load("apple_model")
    times = np.array([9e-6, 20e-6, 10e-6])
    assert model.describe_times(times) == "2 of 9 to 10 us, 1 of 20 to 20 us"
    number = np.arange(4)
    records = model.Records(
        *(model.GPU_CHIPS["m2"], list("abcd"), np.array(list("abcd")), np.array(["x"] * 4)),
        np.array([1e-5, 1.1e-5, 3e-5, 9e-5]),
        *(number, np.ones(4)),
        [DispatchWork(unique_read=each) for each in (100.0, 100.0, 100.0, 200.0)],
    )
    model.print_equal_records(records, ("unique_read",), "title")
    assert capsys.readouterr().out.splitlines()[-1] == "  x: 2 of 10 to 11 us, 1 of 30 to 30 us"


def test_draw_writes_a_dot_for_each_record(tmp_path: Path) -> None:
    times = np.array([1e-5, 1e-4, 2e-4])
    path = tmp_path / "picture.svg"
    load("apple_model").draw(path, "Title", times, 2 * times, ["a", "b", "a"])
    text = path.read_text()
    assert "Title" in text
    # A dot for each record, and for each name in the legend.
    assert len(list(ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}circle"))) == 5
