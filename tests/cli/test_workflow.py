"""The workflow of docs/how-to/testing.md, with scripted times in place of its two checkouts."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from example_results import measurement

from metalbench.cli import main
from metalbench.run.reference_forms import FormChoice

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "testing.md"


def read_steps() -> dict[str, tuple[str, list[str]]]:
    """Return the folder and the command of each step with a name."""
    (workflow,) = re.findall(r"```yaml\n(name: Kernels\n.*?)```", PAGE.read_text(), re.DOTALL)
    steps = {}
    for text in workflow.split("\n      - ")[1:]:
        name = re.match(r"name: (.+)", text)
        if name is None:
            continue
        folder = re.search(r"working-directory: (.+)", text)
        command = re.search(r"run: (?:>\n)?((?:.|\n)+?)(?=\n {8}\w|\n*\Z)", text)
        assert folder is not None
        assert command is not None
        steps[name[1]] = (folder[1], shlex.split(command[1]))
    return steps


@pytest.fixture
def step(tmp_path: Path, kernels: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a step by its name, with kernels that are `speed` times as fast as MLX."""
    for folder in ("base", "head"):
        target = tmp_path / folder / "kernels"
        target.mkdir(parents=True)
        for suffix in (".py", ".metal"):
            shutil.copy(kernels / f"twice{suffix}", target)
    monkeypatch.setenv("METALBENCH_PROJECT", "owner/name")
    monkeypatch.setenv("METALBENCH_HOME", str(tmp_path / "store"))
    summary = tmp_path / "summary.md"
    monkeypatch.setattr(
        "metalbench.run.reference_forms.choose_form", lambda *_, **__: FormChoice(())
    )

    def run(name: str, speed: float) -> Result:
        folder, (program, *arguments) = read_steps()[name]
        assert program == "metalbench"
        arguments = [each.replace("$GITHUB_STEP_SUMMARY", str(summary)) for each in arguments]
        if arguments[0] == "run":
            # Scripted times are in this process only.
            arguments += ["--in-process", "--time", "0.01"]
        monkeypatch.setattr(
            "metalbench.run.timed.measure",
            lambda *_, **__: measurement(kernel_ns=24_680.0 / speed, reference=speed),
        )
        monkeypatch.chdir(tmp_path / folder)
        return CliRunner().invoke(main, arguments)

    return run


def test_the_workflow_passes_kernels_that_are_as_fast(step: Any, tmp_path: Path) -> None:
    assert step("Time the base", 2.0).exit_code == 0
    told = step("Gate", 2.0)
    assert told.exit_code == 0, told.output
    assert "No regression of more than 5 % against base" in told.output
    assert step("Compare", 2.0).exit_code == 0
    assert "twice" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "kernels.html").exists()
    assert (tmp_path / "results.xml").exists()


def test_the_workflow_fails_for_kernels_that_became_slower(step: Any, tmp_path: Path) -> None:
    step("Time the base", 2.0)
    # Runs of the same source that differ so much would make every verdict inconclusive.
    kernel = tmp_path / "head" / "kernels" / "twice.metal"
    kernel.write_text(kernel.read_text().replace("2 * x[i]", "x[i] + x[i]"))
    told = step("Gate", 1.5)
    assert told.exit_code == 1, told.output
    assert "Regression: twice (seed)" in told.output
    assert step("Compare", 1.5).exit_code == 0
    assert "SLOWER" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("folder", ["missing", "empty"])
@pytest.mark.parametrize(("factor", "code"), [(2, 0), (3, 1)])
def test_the_workflow_checks_the_first_kernels_of_a_repository(
    step: Any, tmp_path: Path, folder: str, factor: int, code: int
) -> None:
    base = tmp_path / "base" / "kernels"
    shutil.rmtree(base)
    if folder == "empty":
        base.mkdir()
    first = step("Time the base", 2.0)
    assert first.exit_code == 0, first.output
    assert "There are no kernels: run:1 is empty" in first.output
    kernel = tmp_path / "head" / "kernels" / "twice.metal"
    kernel.write_text(kernel.read_text().replace("2 * x[i]", f"{factor} * x[i]"))
    told = step("Gate", 2.0)
    assert told.exit_code == code, told.output
    assert ("Nothing to compare with: base has none of these kernels" in told.output) is not code
    compared = step("Compare", 2.0)
    assert compared.exit_code == 0, compared.output


def test_the_workflow_passes_a_repaired_kernel(step: Any, tmp_path: Path) -> None:
    kernel = tmp_path / "base" / "kernels" / "twice.metal"
    kernel.write_text(kernel.read_text().replace("2 * x[i]", "3 * x[i]"))
    assert step("Time the base", 2.0).exit_code == 1
    told = step("Gate", 2.0)
    assert told.exit_code == 0, told.output
    assert "twice: correct now, incorrect in base: nothing to compare" in told.output
    assert step("Compare", 2.0).exit_code == 0
    assert "REPAIRED" in (tmp_path / "summary.md").read_text()


def test_the_workflow_fails_if_the_only_kernel_is_incorrect_now(step: Any, tmp_path: Path) -> None:
    assert step("Time the base", 2.0).exit_code == 0
    kernel = tmp_path / "head" / "kernels" / "twice.metal"
    kernel.write_text(kernel.read_text().replace("2 * x[i]", "3 * x[i]"))
    assert step("Gate", 2.0).exit_code == 1
    assert step("Compare", 2.0).exit_code == 0
    assert "BROKEN" in (tmp_path / "summary.md").read_text()


def test_an_empty_folder_of_kernels_is_named(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    command = ["run", "--set", "user", "--kernels", str(tmp_path / "kernels")]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 2
    assert f"--kernels {tmp_path / 'kernels'} has no kernels" in " ".join(told.output.split())
    told = CliRunner().invoke(main, ["run", "twice", "--allow-empty"])
    assert told.exit_code == 2
    assert "--allow-empty: expected --set user" in told.output


def test_an_empty_run_has_files_of_results(tmp_path: Path) -> None:
    written = {
        kind: tmp_path / f"empty.{kind}" for kind in ("json", "html", "markdown", "junitxml")
    }
    options = [each for kind, path in written.items() for each in (f"--{kind}", str(path))]
    options += ["--kernels", str(tmp_path / "none"), "--db", str(tmp_path / "results.db")]
    command = ["run", "--set", "user", "--allow-empty", "--in-process", *options]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    assert all(path.stat().st_size for path in written.values())


def test_the_workflow_fails_for_kernels_that_are_incorrect(step: Any, tmp_path: Path) -> None:
    step("Time the base", 2.0)
    folder = tmp_path / "head" / "kernels"
    for suffix in (".py", ".metal"):
        text = (folder / f"twice{suffix}").read_text()
        (folder / f"thrice{suffix}").write_text(text.replace("def twice", "def thrice"))
    wrong = folder / "thrice.metal"
    wrong.write_text(wrong.read_text().replace("2 * x[i]", "3 * x[i]"))
    told = step("Gate", 2.0)
    assert told.exit_code == 1, told.output
    assert "1 of 2 correct" in told.output
