"""``metalbench new``: what it writes runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench import _core
from metalbench.cli import main
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, small_sizes, verify


def new(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["new", *map(str, arguments)])


def verified(name: str, folder: Path) -> bool:
    entry = Library([folder]).entry(name)
    sizes = small_sizes(entry.task)
    return verify(
        Builds(_core.open("cpu"), entry.kernel(), entry.task), VerifyPlan(sizes=sizes, seeds=[0])
    ).passed


def test_new_writes_a_correct_kernel(tmp_path: Path) -> None:
    done = new("my_kernel", "--into", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    assert f"metalbench run my_kernel --kernels {tmp_path / 'mine'}" in done.output
    assert verified("my_kernel", tmp_path / "mine")


@pytest.mark.parametrize("like", ["relu", "softmax"])
def test_new_like_copies_a_kernel_of_the_library_into_a_set(tmp_path: Path, like: str) -> None:
    done = new("mine", "--into", tmp_path, "--set", "fused", "--like", like)
    assert done.exit_code == 0, done.output
    entry = Library([tmp_path]).entry("mine")
    assert entry.set == "fused"
    assert entry.task.baseline == Library().entry(like).task.baseline
    assert entry.kernel().source == Library().entry(like).kernel().source
    assert verified("mine", tmp_path)


@pytest.mark.parametrize("name", ["Mine", "2d", "class", "my-kernel", "../mine"])
def test_new_refuses_invalid_names(tmp_path: Path, name: str) -> None:
    done = new(name, "--into", tmp_path / "mine")
    assert (done.exit_code, (tmp_path / "mine").exists()) == (2, False)
    assert "expected a name of lower-case letters" in done.output


def test_new_overwrites_no_file_and_hides_no_task(tmp_path: Path) -> None:
    assert "the library has a task of that name" in new("relu", "--into", tmp_path).output
    (tmp_path / "mine.metal").write_text("precious")
    done = new("mine", "--into", tmp_path)
    assert done.exit_code == 2
    assert "is already there" in done.output
    assert not (tmp_path / "mine.py").exists()
    assert (tmp_path / "mine.metal").read_text() == "precious"


def test_new_suggests_a_similar_template(tmp_path: Path) -> None:
    done = new("mine", "--into", tmp_path, "--like", "softmx")
    assert done.exit_code == 2
    assert "did you mean 'softmax'" in done.output
