"""`metalbench run`, from the command line to the exit code."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metalbench import _core
from metalbench.cli import main
from metalbench.cli.options import QUICK_SECONDS, RunConfig, apply_quick
from metalbench.cli.run import ORDERS, run
from metalbench.cli.trials import list_trials
from metalbench.kernel.library import Library
from metalbench.measure.device_limits import MIB
from metalbench.report.results import ORDERS as REPORT_ORDERS
from metalbench.stats import LARGE_EFFECT_PAIRS
from metalbench.store.store import Store


def test_run_of_one_kernel_prints_the_full_report_and_stores_it(shell: Any) -> None:
    result = shell("run", "twice")
    assert result.exit_code == 0, result.output
    for part in ("twice  correct  speed", "Occupancy", "x + x", "simulation", str(shell.db)):
        assert part in result.stdout
    # The same roof as on the page.
    assert "(measured on this machine" in result.stdout
    with Store(shell.db) as store:
        (entry,) = store.history("twice")
        assert len(store.samples(entry.id)["kernel"]) >= LARGE_EFFECT_PAIRS
    assert entry.status == "correct"


def test_run_reports_wrong_kernels_and_continues(shell: Any) -> None:
    result = shell("run", "broken", "thrice", "twice")
    assert result.exit_code == 1
    words = [line.split()[:2] for line in result.stdout.splitlines()[1:4]]
    assert words == [
        ["twice", "correct"],
        ["broken", "failed"],
        ["thrice", "incorrect"],
    ]
    assert "broken.metal:6:" in result.stdout
    assert "undeclared identifier 'z'" in result.stdout
    assert "every element is 1.5 times what it should be" in result.stdout
    assert "1 of 3 correct" in result.stdout
    assert "[2/3] thrice: incorrect" in result.stderr
    with Store(shell.db) as store:
        assert [store.history(name)[0].status for name in ("broken", "thrice", "twice")] == [
            "failed",
            "incorrect",
            "correct",
        ]


def test_run_stores_results_of_wrong_headers_and_missing_kernels(shell: Any, kernels: Path) -> None:
    source = (kernels / "broken.metal").read_text()
    (kernels / "broken.metal").write_text(source.replace("// dispatch:", "// dispach:"))
    (kernels / "thrice.metal").unlink()
    result = shell("run", "broken", "thrice", "twice")
    assert result.exit_code == 1
    assert "broken.metal:2: unknown header line `// dispach:`" in result.stdout
    assert "no kernel; write thrice.metal" in result.stdout
    assert "1 of 3 correct" in result.stdout
    listed = shell("list").stdout
    assert "wrong header" in listed
    assert "no kernel yet" in listed


def test_a_wrong_result_is_explained_by_a_checked_build(shell: Any) -> None:
    result = shell("run", "beyond")
    assert result.exit_code == 1
    assert "incorrect at check bounds and races" in result.stdout
    assert "beyond.metal:6: read of 4 bytes past the end of `x`" in result.stdout


UNSOLVED = "kb4_001_gpt_neo_2p7b_bs32_seq256"


def test_run_of_a_suite_lists_tasks_without_a_kernel(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metalbench.kernel.library import find as find_all

    def find(names: Any, set_name: str | None, folders: Any) -> list[Any]:
        return [
            replace(each, kernel_paths=[]) if each.name == UNSOLVED else each
            for each in find_all(names, set_name, folders)
            if each.name in ("kb1_019_relu", UNSOLVED)
        ]

    monkeypatch.setattr("metalbench.kernel.library.find", find)
    result = shell("run", "--set", "kernelbench", "--size", "small")
    assert result.exit_code == 0, result.output
    assert "1 of 1 correct" in result.stdout
    assert f"No kernel yet for 1 of 2 tasks: {UNSOLVED}" in result.stdout
    result = shell("run", UNSOLVED)
    assert f"no kernel; write {UNSOLVED}.metal" in " ".join(result.stdout.split())


def test_a_suite_without_a_kernel_is_a_message(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from metalbench.kernel.library import find as find_all

    def find(names: Any, set_name: str | None, folders: Any) -> list[Any]:
        found = find_all(names, set_name, folders)
        return [replace(each, kernel_paths=[]) for each in found]

    monkeypatch.setattr("metalbench.kernel.library.find", find)
    result = shell("run", "--set", "kernelbench/level4")
    assert result.exit_code == 2
    assert "none of the 20 tasks of kernelbench/level4 has a kernel" in result.output


def test_fail_fast_stops_at_the_first(shell: Any) -> None:
    result = shell("run", "thrice", "twice", "--fail-fast")
    assert result.exit_code == 1
    assert "Stopped at the first failure" in result.stdout
    with Store(shell.db) as store:
        assert store.history("twice") == []


def test_run_json_on_standard_output_is_pure_json(shell: Any) -> None:
    result = shell("run", "twice", "--json", "-", "--seed", 3)
    document = json.loads(result.stdout)
    assert document["options"]["seed"] == 3
    assert document["results"][0]["status"] == "correct"
    assert "twice  correct" in result.stderr


def test_run_draws_a_seed_that_repeats_it(shell: Any) -> None:
    first, second = (json.loads(shell("run", "twice", "--json", "-").stdout) for _ in range(2))
    seed = first["options"]["seed"]
    assert seed != second["options"]["seed"]
    told = shell("run", "twice", "--seed", seed).stdout
    assert f"--seed {seed} draws the same inputs" in told
    again = json.loads(shell("run", "twice", "--json", "-", "--seed", seed).stdout)
    sizes, others = (
        {check["size"] for check in each["results"][0]["checks"]} for each in (first, second)
    )
    assert sizes == {check["size"] for check in again["results"][0]["checks"]}
    assert sizes != others


def test_csv_and_json_files(shell: Any, tmp_path: Path) -> None:
    result = shell("run", "twice", "--json", tmp_path / "r.json", "--csv", tmp_path / "r.csv")
    assert result.exit_code == 0, result.output
    (row,) = csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text()))
    (entry,) = json.loads((tmp_path / "r.json").read_text())["results"]
    assert float(row["kernel_ns"]) == entry["kernel_ns"]["value"]
    assert not list(tmp_path.glob("*.part"))


def test_size_target_and_set(shell: Any) -> None:
    result = shell("run", "twice", "--size", "large", "--target", "memory", "--set", "user")
    assert result.exit_code == 0, result.output
    assert "twice  correct  memory" in result.stdout
    assert "large (n 8192)" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["twise"], "unknown kernel 'twise'; did you mean 'twice'"),
        (["twice", "--size", "huge"], "--size: [twice] unknown size 'huge'; expected one of large"),
        (["twice", "--size", "rows=3"], "size rows=3: expected the names n, got rows"),
        (["twice", "--seed", str(2**63)], "is not in the range 0<=x<=9223372036854775807"),
        (["twice", "thrice", "--size", "huge"], "--size huge: expected one of small, odd1, seed"),
        (["twice", "--dtype", "float16"], "if it works add `// dtypes: float32, float16`"),
        (["--set", "commun"], "did you mean 'common'?"),
        (["twice", "--json", "/no/such/folder/r.json"], "/no/such/folder does not exist"),
        (["twice", "--dtype", "float8"], "float8"),
        (["twice", "--time", "0"], "--time"),
        (["twice", "--ab-control", "--cold"], "--ab-control: expected no --cold"),
        (["--set", "user", "--dtype", "bfloat16"], "no kernel is written for bfloat16"),
    ],
)
def test_wrong_usage_is_exit_code_2(shell: Any, arguments: list[str], message: str) -> None:
    result = shell("run", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not shell.db.exists()


def test_run_refuses_a_metal_device_without_a_gpu(shell: Any) -> None:
    from metalbench import _core

    if "metal" not in _core.devices():
        result = shell("run", "twice", "--device", "metal")
        assert result.exit_code == 2
        assert "needs a Mac" in result.stderr


def test_run_exits_with_2_for_an_unwritable_store(shell: Any, tmp_path: Path) -> None:
    shell.db.write_text("no database " * 100)
    result = shell("run", "twice")
    assert result.exit_code == 2
    assert "file is not a database" in result.stderr


def test_run_include_finds_headers_in_other_folders(
    shell: Any, kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "factor.h").write_text("constant float factor = 2;\n")
    source = (kernels / "twice.metal").read_text()
    source = source.replace("using namespace", '#include "factor.h"\nusing namespace')
    (kernels / "twice.metal").write_text(source.replace("2 * x[i]", "factor * x[i]"))
    assert shell("run", "twice").exit_code == 1
    result = shell("run", "twice", "--include", tmp_path / "shared")
    assert result.exit_code == 0, result.output


def test_cold_results_say_so_and_do_not_compare_with_warm_ones(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of so small inputs a large cache takes thousands of copies, which MLX makes one by one.
    monkeypatch.setattr("metalbench.run.timed.last_level_cache_bytes", lambda chip: MIB)
    cold, warm = tmp_path / "cold.json", tmp_path / "warm.json"
    assert shell("run", "twice", "--cold", "--json", cold).exit_code == 0
    assert shell("run", "twice", "--json", warm).exit_code == 0
    assert json.loads(cold.read_text())["results"][0]["mode"] == "cold"
    with Store(shell.db) as store:
        assert [entry.mode for entry in store.history("twice")] == ["warm", "cold"]
    result = shell("compare", cold, warm)
    assert result.exit_code == 2
    assert "expected the same mode in both, got cold in" in " ".join(result.stderr.split())


def test_run_counts_bytes_of_a_single_kernel_only(
    shell: Any, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the counted run would use a smaller size.
    monkeypatch.setattr("metalbench.run.single_pass.LONGEST_S", float("inf"))
    where = ["--kernels", str(kernels), "--db", str(tmp_path / "results.db"), "--time", "0.01"]
    alone = CliRunner().invoke(main, ["run", "twice", "--json", "-", *where])
    assert alone.exit_code == 0, alone.output
    assert "could not be counted" not in alone.stderr
    (result,) = json.loads(alone.stdout)["results"]
    # 4096 floats read and as many written: all that the task declares.
    assert result["counted"] == {
        "size": "seed",
        "timed": True,
        "read": 4 * 4096,
        "written": 4 * 4096,
        "unique_read": 4 * 4096,
        "unique_written": 4 * 4096,
        "declared": 8 * 4096,
    }
    assert "16.0 KiB read, 16.0 KiB written, 1.00 x declared" in alone.output
    several = shell("run", "twice", "thrice", "--json", "-")
    assert [each["counted"] for each in json.loads(several.stdout)["results"]] == [None, None]


def test_a_wrong_oracle_is_suspected_if_mlx_agrees_with_the_kernel(
    shell: Any, kernels: Path
) -> None:
    suspicion = "is the task's oracle wrong?"
    assert suspicion not in " ".join(shell("run", "thrice").stdout.split())
    task = kernels / "twice.py"
    task.write_text(task.read_text().replace("oracle=lambda x: 2 * x", "oracle=lambda x: 3 * x"))
    told = shell("run", "twice")
    assert told.exit_code == 1
    assert suspicion in " ".join(told.stdout.split())


def test_quick_takes_one_kernel_for_each_technique_and_short_times() -> None:
    def config(*arguments: str) -> RunConfig:
        ctx = run.make_context("run", list(arguments))
        return RunConfig.of(apply_quick(ctx, ctx.params))

    trials = config("--quick").trials
    assert (trials.set_name, trials.seconds) == ("quick", QUICK_SECONDS)
    named = config("--quick", "relu").trials
    assert (named.set_name, named.names, named.seconds) == (None, ("relu",), QUICK_SECONDS)
    assert config("--quick", "--time", "1").trials.seconds == 1.0
    assert config().trials.set_name is None
    library = Library()
    techniques = library.techniques
    assert library.names("quick") == list(techniques)
    assert len(set(techniques.values())) == len(techniques) >= 8
    assert all(library.entry(name).kernel_paths for name in techniques)


def test_recheck_reaches_every_trial() -> None:
    device = _core.open("cpu")
    for arguments, recheck in ((["relu", "softmax", "--recheck"], True), (["relu"], False)):
        ctx = run.make_context("run", list(arguments))
        trials = list_trials(RunConfig.of(ctx.params).trials, device)
        assert {trial.recheck for trial in trials} == {recheck}


def test_orders_of_the_command_are_those_of_the_report() -> None:
    assert ORDERS == REPORT_ORDERS
