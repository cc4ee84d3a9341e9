"""Exit codes of `metalbench run`, and its output for other programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from example_results import incorrect, measurement

from metalbench.cli import main
from metalbench.report.ci import annotation_lines
from metalbench.run.reference_forms import FormChoice
from metalbench.store.result import Failure
from metalbench.store.store import Store


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets how many times as fast as MLX every kernel is; samples are scripted.

    Several values are those of one measurement after the other, and the last one stays. MLX takes
    `mlx_ns`, whatever the kernel does.
    """
    ratios = [2.0]
    mlx = {"ns": 24_680.0}

    def measured(*_: object, **__: object) -> Any:
        ratio = ratios.pop(0) if len(ratios) > 1 else ratios[0]
        return measurement(kernel_ns=mlx["ns"] / ratio, reference=ratio)

    def faster(*values: float, mlx_ns: float = 24_680.0) -> None:
        ratios[:] = values
        mlx["ns"] = mlx_ns

    monkeypatch.setattr("metalbench.run.timed.measure", measured)
    # Which form of the reference is fastest is chance here; ratios to others do not compare.
    monkeypatch.setattr(
        "metalbench.run.reference_forms.choose_form", lambda *_, **__: FormChoice(())
    )
    return faster


def compare(shell: Any, *arguments: object) -> Any:
    command = ["compare", *map(str, arguments), "--db", str(shell.db)]
    return CliRunner().invoke(main, command)


def test_run_fails_for_kernels_slower_than_mlx_on_request(shell: Any, speed: Any) -> None:
    speed(0.5)
    assert shell("run", "twice").exit_code == 0
    assert shell("run", "twice", "--fail-on", "slower").exit_code == 1
    speed(2.0)
    assert shell("run", "twice", "--fail-on", "slower").exit_code == 0
    assert shell("run", "thrice", "--fail-on", "incorrect").exit_code == 1


def test_a_regression_against_its_own_past(shell: Any, speed: Any) -> None:
    assert "No regression" not in shell("run", "twice").stdout
    passed = shell("run", "twice", "--max-regression", "2.5%")
    assert passed.exit_code == 0
    assert "No regression of more than 2.5 % against its own past" in passed.stdout
    speed(1.8)
    result = shell("run", "twice", "--fail-on", "regression")
    assert result.exit_code == 1
    assert "Regression: twice (seed): 0.9" in result.stdout
    assert "x [0." in result.stdout
    assert "against the result before, its own time 0.9" in result.stdout
    assert "source unchanged; measured twice" in result.stdout
    assert "No regression" not in result.stdout


@pytest.mark.parametrize(("most", "code"), [("5%", 1), ("5", 1), ("20%", 0), ("0%", 1)])
def test_run_accepts_regressions_below_the_limit(
    shell: Any, speed: Any, most: str, code: int
) -> None:
    shell("run", "twice", "--save", "main")
    speed(1.8)
    result = shell("run", "twice", "--baseline", "main", "--max-regression", most)
    assert result.exit_code == code, result.output
    assert ("Regression: twice" in result.stdout) is bool(code)


def test_gate_does_not_count_a_faster_reference_as_a_regression(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    speed(0.28, mlx_ns=3_440.0)
    result = shell("run", "twice", "--baseline", "main", "--max-regression", "5%")
    assert result.exit_code == 0, result.output
    assert "No regression of more than 5 % against main" in result.stdout


def test_a_suspected_regression_is_measured_again(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    speed(1.5, 2.0)
    result = shell("run", "twice", "--baseline", "main", "--max-regression", "5%")
    assert result.exit_code == 0, result.output
    assert "Measuring 1 again" in result.stderr
    assert "Not confirmed: twice (seed): 0.7" in result.stdout


def test_a_confirmed_regression_fails(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    speed(1.5, 1.6)
    result = shell("run", "twice", "--baseline", "main", "--max-regression", "5%")
    assert result.exit_code == 1
    assert "Regression: twice (seed): 0.8" in result.stdout
    assert "measured twice" in result.stdout


def test_the_past_excludes_the_suspected_result(shell: Any, speed: Any) -> None:
    shell("run", "twice")
    speed(1.5)
    assert shell("run", "twice", "--fail-on", "regression").exit_code == 1


def test_gate_counts_inconclusive_results_and_fails_on_request(
    shell: Any, speed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("run", "twice", "--save", "main")

    def noisy(*_: object, **__: object) -> Any:
        found = measurement(kernel_ns=13_000.0, reference=1.9)
        assert found.ratio is not None
        wide = replace(found.ratio, low=0.8, high=4.4)
        times = replace(found.candidate_ns, low=6_000.0, high=30_000.0)
        return replace(found, ratio=wide, candidate_ns=times)

    monkeypatch.setattr("metalbench.run.timed.measure", noisy)
    arguments = ("run", "twice", "--baseline", "main", "--max-regression", "5%")
    result = shell(*arguments)
    assert result.exit_code == 0, result.output
    assert "Inconclusive: twice (seed): " in result.stdout
    assert "inconclusive for 1 kernel of 1" in result.stdout
    assert shell(*arguments, "--fail-on", "inconclusive").exit_code == 1


GATE = ("--baseline", "main", "--max-regression", "5%", "--fail-on", "inconclusive")


def edit(kernels: Path, name: str, old: str, new: str) -> None:
    path = kernels / f"{name}.metal"
    path.write_text(path.read_text().replace(old, new))


def test_the_gate_fails_where_no_kernel_of_the_baseline_is_correct_any_more(
    shell: Any, speed: Any, kernels: Path
) -> None:
    shell("run", "twice", "--save", "main")
    edit(kernels, "twice", "2 * x[i]", "3 * x[i]")
    result = shell("run", "twice", *GATE)
    assert result.exit_code == 1, result.output
    line = "Broken: twice: incorrect now, correct in main: nothing to compare"
    assert line in result.stdout
    assert "no kernel in common" not in result.output
    assert line in shell("run", "twice", *GATE, "--quiet").stdout
    shown = compare(shell, "main")
    assert shown.exit_code == 0, shown.output
    assert "BROKEN" in shown.stdout
    assert compare(shell, "main", "--fail-on", "slower").exit_code == 1
    for options, code in (((), 0), (("--fail-on", "inconclusive"), 1)):
        command = ["summary", "main", "--db", str(shell.db), *options]
        brief = CliRunner().invoke(main, command)
        assert brief.exit_code == code, brief.output
        assert "twice: incorrect now, correct in main" in brief.stdout


@pytest.mark.parametrize("more", [(), ("doubled",)])
def test_the_gate_passes_a_kernel_that_was_repaired(
    shell: Any, speed: Any, kernels: Path, more: tuple[str, ...]
) -> None:
    for suffix in (".py", ".metal"):
        text = (kernels / f"twice{suffix}").read_text()
        (kernels / f"doubled{suffix}").write_text(text.replace("def twice", "def doubled"))
    names = ("thrice", *more)
    assert shell("run", *names, "--save", "main").exit_code == 1
    edit(kernels, "thrice", "3 * x[i]", "2 * x[i]")
    result = shell("run", *names, *GATE)
    assert result.exit_code == 0, result.output
    assert "thrice: correct now, incorrect in main: nothing to compare" in result.stdout
    assert compare(shell, "main", "--fail-on", "slower").exit_code == 0


def test_the_latest_run_is_the_whole_run_after_a_repeated_measurement(
    shell: Any, speed: Any, kernels: Path
) -> None:
    for suffix in (".py", ".metal"):
        text = (kernels / f"twice{suffix}").read_text()
        (kernels / f"doubled{suffix}").write_text(text.replace("def twice", "def doubled"))
    shell("run", "twice", "doubled", "--save", "main")
    speed(1.0, 2.0)
    result = shell("run", "twice", "doubled", "--baseline", "main", "--max-regression", "5%")
    assert "Measuring 1 again" in result.stderr
    with Store(shell.db) as store:
        assert store.runs() == [2, 1]
        assert [len(store.results(run)) for run in (1, 2, 3)] == [2, 2, 1]
    told = compare(shell, "main").stdout
    assert "run:2 against main" in told
    assert "left out" not in told


def test_the_gate_has_nothing_to_compare_new_kernels_with(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    result = shell("run", "thrice", *GATE)
    assert result.exit_code == 1
    assert "Broken: thrice: incorrect now, not in main: nothing to compare" in result.stdout
    shell("run", "thrice", "--save", "main")
    result = shell("run", "twice", *GATE)
    assert result.exit_code == 0, result.output
    assert "twice: not in main: nothing to compare" in result.stdout
    assert "Nothing to compare with: main has none of these kernels" in result.stdout


def test_a_baseline_without_a_limit_reports_and_does_not_fail(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    speed(1.0)
    result = shell("run", "twice", "--baseline", "main")
    assert result.exit_code == 0
    assert "against main" in result.stdout


def test_saved_names_are_runs_to_compare_with(shell: Any, speed: Any) -> None:
    shell("run", "twice", "--save", "main")
    speed(4.0)
    shell("run", "twice", "--save", "v2.0")
    result = compare(shell, "main", "v2.0")
    assert result.exit_code == 0, result.output
    assert "v2.0 against main: 1 FASTER" in result.stdout
    assert "run:2 against v2.0: " in compare(shell, "v2.0").stdout
    shell("run", "twice", "--save", "main")
    assert "v2.0 against main: 1 FASTER" not in compare(shell, "main", "v2.0").stdout
    unknown = compare(shell, "mian")
    assert unknown.exit_code == 2
    assert "one of the saved names main, v2.0" in " ".join(unknown.stderr.split())


def test_a_baseline_may_be_a_file(shell: Any, speed: Any, tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    shell("run", "twice", "--json", path)
    speed(1.0)
    result = shell("run", "twice", "--baseline", path, "--max-regression", "10%")
    assert result.exit_code == 1
    document = json.loads(path.read_text())
    document["device"]["name"] = "another"
    path.write_text(json.dumps(document))
    result = shell("run", "twice", "--baseline", path)
    assert result.exit_code == 2
    assert "those of cpu (another); such times do not compare" in " ".join(result.stderr.split())


def test_gate_keeps_the_files_of_results_that_do_not_compare(
    shell: Any, speed: Any, tmp_path: Path
) -> None:
    shell("run", "twice", "--save", "main")
    written = tmp_path / "r.json"
    arguments = ("--baseline", "main", "--json", written, "--size", "large")
    result = shell("run", "twice", *arguments)
    assert result.exit_code == 2
    assert "no kernel in common" in result.stderr
    assert json.loads(written.read_text())["results"][0]["status"] == "correct"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--save", "latest~1"], "expected a name of letters"),
        (["--save", "latest"], "expected a name of letters"),
        (["--save", "run:3"], "expected a name of letters"),
        (["--max-regression", "some"], "expected a share such as 5%, got some"),
        (["--baseline", "main"], "main: there are no runs yet (no store"),
        (["--ab-control", "--fail-on", "slower"], "--ab-control: expected no --fail-on"),
        (["--junitxml", "/no/such/r.xml"], "/no/such does not exist"),
    ],
)
def test_gate_reports_wrong_usage_before_a_run(
    shell: Any, arguments: list[str], message: str
) -> None:
    result = shell("run", "twice", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_name_is_of_finished_runs_only(shell: Any, speed: Any) -> None:
    shell("run", "thrice", "twice", "--save", "main", "--fail-fast")
    with Store(shell.db) as store:
        assert store.baselines() == {}
    shell("run", "twice", "--save", "main")
    with Store(shell.db) as store:
        assert store.baselines() == {"main": 2}


def test_several_sizes_are_rows_of_their_own(shell: Any, speed: Any) -> None:
    result = shell("run", "twice", "--size", "seed", "--size", "large")
    assert result.exit_code == 0, result.output
    rows = [line.split()[:4] for line in result.stdout.splitlines()[:3]]
    assert rows == [
        ["task", "size", "kernel", "MLX"],
        ["twice", "seed", "12.35", "us"],
        ["twice", "large", "12.35", "us"],
    ]
    shell("run", "twice", "--size", "large", "--size", "seed")
    compared = compare(shell, "latest~1")
    words = [line.split()[:4] for line in compared.stdout.splitlines()[1:3]]
    assert words == [["twice", "float32", size, "same"] for size in ("seed", "large")]


def test_junit_has_a_case_for_each_kernel(shell: Any, speed: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    shell("run", "twice", "--save", "main")
    speed(1.0)
    arguments = ("--junitxml", path, "--baseline", "main")
    shell("run", "broken", "thrice", "twice", *arguments)
    root = ElementTree.parse(path).getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["3", "2", "1"]
    broken, thrice, twice = root.iter("testcase")
    assert (twice.get("classname"), twice.get("name")) == ("metalbench.user", "twice[float32-seed]")
    error, failure, slower = broken.find("error"), thrice.find("failure"), twice.find("failure")
    assert error is not None
    assert "broken.metal:6:" in (error.get("message") or "")
    assert "undeclared identifier 'z'" in (error.text or "")
    assert failure is not None
    assert failure.get("type") == "WRONG_RESULT"
    assert slower is not None
    assert slower.get("type") == "REGRESSION"
    assert "kernel 24" in (twice.findtext("system-out") or "")


def test_run_prints_a_markdown_table_and_failures(shell: Any, speed: Any, tmp_path: Path) -> None:
    result = shell("run", "thrice", "twice", "--markdown", "-")
    lines = result.stdout.splitlines()
    assert lines[0] == "## MetalBench"
    rows = [line.split(" | ") for line in lines if line.startswith("| t")]
    assert [row[:4] for row in rows] == [
        ["| task", "size", "dtype", "correct"],
        ["| twice", "seed", "float32", "correct"],
        ["| thrice", "seed", "float32", "**incorrect**"],
    ]
    assert {len(row) for row in rows} == {8}
    assert "**thrice: incorrect at verify**" in lines
    assert "every element is 1.5 times what it should be" in result.stdout
    assert "twice  " in result.stderr  # where the report went


def test_run_prints_json_with_the_place_of_a_failure(shell: Any) -> None:
    results = json.loads(shell("run", "beyond", "broken", "--json", "-").stdout)["results"]
    places = {each["task"]: each["failures"][-1]["place"] for each in results}
    assert places["beyond"]["line"] == 6
    assert places["beyond"]["buffer"] == "x"
    assert places["beyond"]["byte"] == 400
    assert places["beyond"]["thread"] == [99, 0, 0]
    assert places["beyond"]["threadgroup"] == [0, 0, 0]
    assert (places["broken"]["line"], places["broken"]["column"]) == (6, 14)


def test_github_gets_annotations_at_the_line(
    shell: Any, speed: Any, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(kernels.parent))
    shell("run", "twice", "--save", "main")
    speed(1.0)
    result = shell("run", "broken", "thrice", "twice", "--baseline", "main")
    broken, thrice, twice = [
        line for line in result.stdout.splitlines() if line.startswith("::error ")
    ]
    place = "file=kernels/broken.metal,line=6,col=14,title=broken%3A CompileError"
    assert broken.startswith(f"::error {place}::")
    assert "%0A" in broken
    assert thrice.startswith("::error file=kernels/thrice.metal,title=thrice%3A WRONG_RESULT::")
    assert twice.startswith("::error file=kernels/twice.metal,title=twice (seed)%3A slower::")
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "::error" not in shell("run", "broken").output


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("[twice] OUT/shared.h:3: read past the end of `x`", {}),
        ("OUT/shared.h:3:4: error: no y\ntwice.metal:6:14: note: requested here", {"line": "6"}),
        ("OUT/shared.h:3:4: error: no y\nothertwice.metal:6:14: note: here", {}),
        ("[twice] own.h:2: read past the end of `x`", {"file": "kernels/own.h", "line": "2"}),
    ],
)
def test_a_fault_in_a_header_outside_of_the_repository_is_annotated_at_the_kernel(
    tmp_path: Path, message: str, where: dict[str, str]
) -> None:
    root, outside = tmp_path / "repository", tmp_path / "outside"
    (root / "kernels").mkdir(parents=True)
    outside.mkdir()
    (outside / "shared.h").touch()
    (root / "kernels" / "own.h").touch()
    text = message.replace("OUT", str(outside))
    failed = replace(incorrect("twice"), failures=(Failure("check", "OUT_OF_BOUNDS", text),))
    (line,) = annotation_lines([failed], [], {"twice": root / "kernels" / "twice.metal"}, root)
    properties = dict(
        each.split("=") for each in line.split("::")[1].removeprefix("error ").split(",")
    )
    del properties["title"]
    assert properties == {"file": "kernels/twice.metal", **where}
    assert "shared.h:3" in line or "own.h:2" in line


def test_run_quiet_prints_failures_and_the_summary(shell: Any, speed: Any) -> None:
    result = shell("run", "thrice", "twice", "--quiet")
    assert result.stderr == ""
    assert "every element is 1.5 times" in result.stdout
    assert "1 of 2 correct" in result.stdout
    assert "MLX / kernel" not in result.stdout
    assert "Kept in" not in result.stdout


def test_warnings_are_one_line_each_unless_asked_for(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalbench.report.warnings.STEADY", 2.0)
    monkeypatch.setattr("metalbench.run.timed.measure", lambda *_, **__: measurement())
    folder = ("twice", "thrice")
    brief = shell("run", *folder).stdout.splitlines()
    assert "Times of 1 kernel vary; their ratios, which are of pairs, hold: twice." in brief
    assert "Figures, causes and remedies: -v, or NAME alone." in brief
    assert not any("central 90 %" in line for line in brief)
    full = shell("run", *folder, "-v").stdout
    assert "Unsteady times: twice (the central 90 % spread by" in full
    assert "-v" not in full
    assert "close other programs and run again" in full
    alone = shell("run", "twice").stdout
    assert "close other programs and run again" in " ".join(alone.split())
