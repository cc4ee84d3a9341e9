"""``metalbench run --against torch``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from metalbench.cli import main

KERNEL = "softmax"


def test_run_against_torch_times_the_form_of_pytorch(tmp_path) -> None:
    pytest.importorskip("torch")
    saved = tmp_path / "saved.json"
    arguments = ["--against", "torch", "--size", "small", "--time", "0.05", "--json", str(saved)]
    done = CliRunner().invoke(main, ["run", KERNEL, *arguments, "--db", str(tmp_path / "store.db")])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(saved.read_text())["results"]
    names = [each["name"].partition(" ")[0] for each in result["forms"]]
    assert names == ["mx.softmax", "mx.compile:", "torch"]
    # Of one that was timed in an earlier run this one says how slow it was.
    assert "differs" not in result["forms"][-1]["fault"]


def test_run_against_torch_without_pytorch_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metalbench.cli.trials.find_spec", lambda _: None)
    done = CliRunner().invoke(main, ["run", KERNEL, "--against", "torch"])
    assert done.exit_code == 2
    assert "PyTorch is not installed" in done.output
