"""JAX's own tests of lax and jax.numpy through the plugin.

`JAX_CHECKOUT=FOLDER pytest -m slow tests/hlo/test_jax_suites.py`, where FOLDER is a checkout of JAX
of the version that is installed. Each file runs for METALBENCH_SUITE_SECONDS, 1500 if it says
nothing; a file takes an hour or more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from suites_of_jax import judged, run

TARGET = 0.9


@pytest.mark.slow
@pytest.mark.skipif("JAX_CHECKOUT" not in os.environ, reason="needs JAX_CHECKOUT=FOLDER")
@pytest.mark.parametrize("name", ["lax_test.py", "lax_numpy_test.py"])
def test_most_of_what_has_supported_types_passes(name, tmp_path):
    record = tmp_path / "record.jsonl"
    seconds = float(os.environ.get("METALBENCH_SUITE_SECONDS", "1500"))
    run(Path(os.environ["JAX_CHECKOUT"]) / "tests" / name, record, seconds)
    found = judged(record)
    print(name, found)
    assert found.passed
    assert found.share >= TARGET, str(found)


def test_outcomes_are_counted_by_cause(tmp_path):
    lines = [
        ("a", "begun", ""),
        ("a", "passed", ""),
        ("b", "failed", "E  JaxRuntimeError: UNIMPLEMENTED: [x] element type complex<f64>: no"),
        ("c", "failed", "E   AssertionError: \nE   Not equal to tolerance complex64"),
        ("d", "skipped", "why"),
        ("e", "begun", ""),
        ("f", "failed", "E  Error: MLIR translation rule for primitive 'eigh' not found for x"),
    ]
    record = tmp_path / "record.jsonl"
    record.write_text("".join(json.dumps(each) + "\n" for each in lines))
    found = judged(record)
    assert (found.passed, found.skipped, found.share) == (1, 1, 1 / 4)
    assert found.unsupported == {"complex numbers": 1}
    expected = {"AssertionError: ": 1, "e: the process ended": 1, "JAX has no rule for eigh": 1}
    assert found.failed == expected


def test_a_file_is_run_and_what_ends_the_process_is_known(tmp_path):
    """Tests that need no JAX: the way to its tests is the same."""
    pytest.importorskip("jax")
    suite = tmp_path / "few_test.py"
    suite.write_text(
        "import os\n"
        "def test_good(): assert os.environ['JAX_PLATFORMS'] == 'metalbench,cpu'\n"
        "def test_bad(): raise ValueError('no')\n"
        "def test_end(): os._exit(3)\n"
        "def test_later(): pass\n"
    )
    record = tmp_path / "record.jsonl"
    run(suite, record, 60)
    found = judged(record)
    assert found.passed == 2
    assert found.failed == {"ValueError: no": 1, "test_end: the process ended": 1}
