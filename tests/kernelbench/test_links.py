"""Samples that are links: those that lead out of the folder are not read, and nothing is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import samples
from candidates import answers
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernelbench.folder import find_samples, read_plan
from metalbench.store.store import Store

SECRET = "root:$6$do-not-show-this:19000:0:99999:7:::"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "shadow"
    path.write_text(f"{SECRET}\n")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "run" / samples.SET / "problem_1"
    place.mkdir(parents=True)
    return place


def evaluated(tmp_path: Path) -> str:
    """Return the output of the command, with all that it stores."""
    kernels = samples.tasks_in(tmp_path / "kernels")
    where = ["--kernels", kernels, "--db", tmp_path / "a.db", "--device", "cpu", "--time", "0.01"]
    done = CliRunner().invoke(main, ["evaluate", str(tmp_path / "run"), *map(str, where)])
    assert done.exit_code == 0, done.output
    return done.output + (tmp_path / "a.db").read_bytes().decode("latin-1")


@pytest.mark.parametrize("suffix", [".metal", ".py"])
@pytest.mark.parametrize("how", ["file", "relative", "twice", "folder", "socket", "circle"])
def test_links_out_of_the_folder_are_not_followed(
    tmp_path: Path, secret: Path, place: Path, suffix: str, how: str
) -> None:
    path = place / f"sample_0{suffix}"
    if how == "file":
        path.symlink_to(secret)
    elif how == "relative":
        path.symlink_to(os.path.relpath(secret, place))
    elif how == "twice":
        (place / "between").symlink_to(secret)
        path.symlink_to("between")
    elif how == "folder":
        other = tmp_path / "other"
        other.mkdir()
        (other / path.name).write_text(SECRET)
        place.rmdir()
        place.symlink_to(other)
    elif how == "socket":
        os.mkfifo(path)
    else:
        path.symlink_to(path.name)
    assert "do-not-show" not in evaluated(tmp_path)
    with Store(tmp_path / "a.db") as store:
        (found,) = store.evaluations(read_plan(tmp_path / "run").id)
    assert found.outcome == "forbidden"
    assert "leads out of it" in found.message


def test_a_link_within_the_folder_is_a_sample(tmp_path: Path, place: Path) -> None:
    (place / "text").write_text("kernel")
    (place / "sample_0.metal").symlink_to("text")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "run")
    (found,) = find_samples(link)
    assert not found.is_outside
    assert found.read() == b"kernel"


def test_provenance_linked_outside_is_not_read(tmp_path: Path, place: Path, secret: Path) -> None:
    secret.write_text('{"task": "do-not-show"}')
    (place / "sample_0.metal").write_text("kernel")
    (place / "sample_0.json").symlink_to(secret)
    (found,) = find_samples(tmp_path / "run")
    assert found.task == ""


def test_a_candidate_that_links_outside_is_not_read(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "relu.py").symlink_to(secret)
    command = ["run", str(folder / "relu.py"), "--db", str(tmp_path / "a.db"), "--device", "cpu"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "a link that leads out of its folder" in done.output
    assert "do-not-show" not in done.output


def test_a_candidate_linked_within_the_folder_is_read(tmp_path: Path) -> None:
    from metalbench.kernelbench.candidates.source import read

    (tmp_path / "text.py").write_text(answers.named(answers.FUNCTION, "relu"))
    (tmp_path / "relu.py").symlink_to("text.py")
    assert read(tmp_path / "relu.py", "relu").is_python
