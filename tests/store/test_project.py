"""Projects: which one a folder belongs to, and what of the store it sees."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from example_results import CPU, correct
from older_stores import downgrade

from metalbench.cli import main
from metalbench.store.environment import environment
from metalbench.store.project import VARIABLE, describe_revision, find_project
from metalbench.store.store import Store


@pytest.fixture
def repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two repositories, of which the second is a worktree."""
    monkeypatch.delenv(VARIABLE, raising=False)
    first, second = tmp_path / "first", tmp_path / "second"
    (first / ".git").mkdir(parents=True)
    (first / "kernels").mkdir()
    second.mkdir()
    (second / ".git").write_text("gitdir: elsewhere\n")
    return first, second


def add_run(path: Path, task: str, **options: str) -> int:
    with Store(path) as store:
        run = store.begin_run(options, CPU, environment())
        store.record(run, correct(task))
        store.finish_run(run, "finished")
    return run


def test_a_project_is_the_root_of_the_repository(
    repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = repositories
    assert find_project(first / "kernels") == str(first.resolve())
    assert find_project(second) == str(second.resolve())
    assert find_project(tmp_path) == ""
    monkeypatch.setenv(VARIABLE, "named")
    assert find_project(first) == "named"


def test_projects_have_separate_histories_and_baselines(
    repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = repositories
    path = tmp_path / "results.db"
    monkeypatch.chdir(first / "kernels")
    of_first = add_run(path, "softmax", save="main")
    monkeypatch.chdir(second)
    of_second = add_run(path, "relu", save="main")
    with Store(path) as store:
        assert store.tasks() == ["relu"]
        assert store.history("softmax") == []
        assert [each.run for each in store.history("relu")] == [of_second]
        assert (store.runs(), store.baselines()) == ([of_second], {"main": of_second})
        # A run is known by its number in every project.
        assert [each.task for each in store.results(of_first)] == ["softmax"]
    monkeypatch.chdir(first)
    with Store(path) as store:
        assert (store.tasks(), store.baselines()) == (["softmax"], {"main": of_first})
    with Store(path, all_projects=True) as store:
        assert store.tasks() == ["relu", "softmax"]
        assert store.runs() == [of_second, of_first]


def test_runs_of_earlier_versions_belong_to_every_project(
    repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.db"
    run = add_run(path, "softmax")
    downgrade(path, 8)
    for folder in repositories:
        monkeypatch.chdir(folder)
        with Store(path) as store:
            assert store.runs() == [run]


def test_history_says_that_other_projects_may_have_results(
    repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.db"
    first, second = repositories
    monkeypatch.chdir(first)
    add_run(path, "softmax")
    monkeypatch.chdir(second)
    command = ["history", "--db", str(path)]
    assert "(--all-projects has others)" in CliRunner().invoke(main, command).output
    shown = CliRunner().invoke(main, [*command, "--all-projects"]).output
    assert "softmax" in shown


def test_a_run_has_the_commit_of_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    root, path = tmp_path / "kernels", tmp_path / "results.db"
    root.mkdir()

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    monkeypatch.chdir(root)
    commit = git("rev-parse", "HEAD")
    run = add_run(path, "softmax")
    monkeypatch.chdir(tmp_path)
    outside = add_run(path, "softmax")
    with Store(path, all_projects=True) as store:
        (entry,) = store.results(run)
        assert (entry.project_revision, entry.commit) == (commit, commit)
        (entry,) = store.results(outside)
        assert (entry.project_revision, entry.commit) == (None, entry.revision)
    # Changes that are not committed are marked.
    describe_revision.cache_clear()
    (root / "kernel.metal").write_text("")
    git("add", "kernel.metal")
    assert describe_revision(root) == f"{commit}-dirty"


def test_a_saved_run_of_another_project_is_named(
    repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = repositories
    path = tmp_path / "results.db"
    monkeypatch.chdir(first)
    add_run(path, "softmax", save="before")
    monkeypatch.chdir(second)
    add_run(path, "relu")
    said = CliRunner().invoke(main, ["compare", "before", "--db", str(path)])
    assert said.exit_code == 2
    assert "before: it is the name of a run of another project" in said.output
