"""Run JAX's tests of lax and jax.numpy through the plugin.

Usage: `JAX_CHECKOUT=FOLDER pytest -m slow tests/hlo/test_jax_suites.py`, where FOLDER is a checkout
of the installed version of JAX. With JAX_ENABLE_X64=1 the tests draw doubles, too. Each file runs
for METALBENCH_SUITE_SECONDS (default 1500). A whole file takes an hour or more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from suites_of_jax import run, summarize_record

TARGET = 0.9


@pytest.mark.slow
@pytest.mark.skipif("JAX_CHECKOUT" not in os.environ, reason="needs JAX_CHECKOUT=FOLDER")
@pytest.mark.parametrize("name", ["lax_test.py", "lax_numpy_test.py"])
def test_most_tests_with_supported_types_pass(name, tmp_path):
    record = tmp_path / "record.jsonl"
    seconds = float(os.environ.get("METALBENCH_SUITE_SECONDS", "1500"))
    run(Path(os.environ["JAX_CHECKOUT"]) / "tests" / name, record, seconds)
    found = summarize_record(record)
    print(name, found)
    assert found.passed
    assert found.share >= TARGET, str(found)


def test_outcomes_are_counted_by_cause(tmp_path):
    lines = [
        ("a", "begun", ""),
        ("a", "passed", ""),
        ("b", "failed", "E  JaxRuntimeError: UNIMPLEMENTED: [x] element type f6E2M3FN: no"),
        ("c", "failed", "E   AssertionError: \nE   Not equal to tolerance complex64"),
        ("d", "skipped", "why"),
        ("e", "begun", ""),
        ("f", "failed", "E  Error: MLIR translation rule for primitive 'eigh' not found for x"),
    ]
    record = tmp_path / "record.jsonl"
    record.write_text("".join(json.dumps(each) + "\n" for each in lines))
    found = summarize_record(record)
    assert (found.passed, found.skipped, found.share) == (1, 1, 1 / 4)
    assert found.unsupported == {"floats of six bits": 1}
    expected = {"AssertionError: ": 1, "e: the process ended": 1, "JAX has no rule for eigh": 1}
    assert found.failed == expected


def test_a_crash_in_a_file_of_tests_is_recorded(tmp_path):
    """These tests need no JAX; the mechanism is the same."""
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
    found = summarize_record(record)
    assert found.passed == 2
    assert found.failed == {"ValueError: no": 1, "test_end: the process ended": 1}
