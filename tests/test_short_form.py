"""The short form of the test suite: which cases it samples, and what it reports of the others."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from short_form import (
    TURNS,
    VARIABLE,
    count_days,
    draw_cases,
    draw_long_cases,
    is_in_sample,
    read_part,
)

CONFTEST = """
from pathlib import Path
from short_form import ShortForm

def pytest_addoption(parser):
    parser.addoption("--part")

COSTLY = [f"costly/test_costly.py::test_{name}" for name in ("first", "second", "cases", "whole")]

def pytest_configure(config):
    one_in = {"many": 4, "many/all": 1, "costly": 2}
    config.pluginmanager.register(ShortForm(Path(__file__).parent, one_in, COSTLY))
"""
SETTINGS = """
[pytest]
addopts = --strict-markers -m "not slow" -p no:cacheprovider
markers =
    slow: of the long form
    whole: never sampled
"""
MANY = """
import pytest

@pytest.mark.parametrize("case", range(40))
def test_sampled(case): pass

@pytest.mark.whole
@pytest.mark.parametrize("case", range(5))
def test_whole(case): pass

@pytest.mark.parametrize("case", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_few(case): pass

@pytest.mark.slow
def test_long(): pass
"""
FEW = """
import pytest

@pytest.mark.parametrize("case", range(6))
def test_of_another_folder(case): pass
"""
NESTED = """
import pytest

@pytest.mark.parametrize("case", range(6))
def test_of_a_subfolder(case): pass
"""
COSTLY = """
import pytest

def test_cheap(): pass
def test_first(): pass
def test_second(): pass
@pytest.mark.parametrize("case", range(8))
def test_cases(case): pass
@pytest.mark.whole
def test_whole(): pass
"""
CASES = 40 + 5 + 2 + 1 + 6 + 6
OF_COSTLY = 3 + 8 + 1


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    files = {
        "conftest.py": CONFTEST,
        "pytest.ini": SETTINGS,
        "many/test_many.py": MANY,
        "many/all/test_nested.py": NESTED,
        "few/test_few.py": FEW,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(suite: Path, *options: str, seed: str | None = "2026-01-02") -> tuple[set[str], str]:
    """Run the suite. Return the names of the cases that ran, and the output."""
    # Options for this suite are not for that one.
    foreign = {VARIABLE, "PYTEST_ADDOPTS"}
    environment = {name: of for name, of in os.environ.items() if name not in foreign}
    if seed is not None:
        environment[VARIABLE] = seed
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *options],
        cwd=suite,
        # Other plugins are not wanted here, and take seconds to import.
        env={
            **environment,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(Path(__file__).parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    # pytest-xdist prints the outcome before the name.
    lines = [line for line in answer.stdout.splitlines() if "PASSED" in line]
    return {re.search(r"::(\S+)", line)[1] for line in lines}, answer.stdout


def test_a_seed_repeats_its_sample_and_another_seed_draws_another(suite: Path) -> None:
    first, output = run(suite)
    assert run(suite)[0] == first
    assert run(suite, seed="2026-01-03")[0] != first
    assert f"sample of the slow cases: {VARIABLE}=2026-01-02" in output


def test_the_sample_has_a_share_of_each_test_whole_tests_and_folders_without_a_share(
    suite: Path,
) -> None:
    ran, _ = run(suite)
    always = {f"test_whole[{case}]" for case in range(5)}
    always |= {f"test_of_another_folder[{case}]" for case in range(6)}
    always |= {f"test_of_a_subfolder[{case}]" for case in range(6)}
    # Of its two cases, one is marked slow.
    always |= {"test_few[0]"}
    assert always < ran
    sampled = draw_cases_of("2026-01-02", [f"test_sampled[{case}]" for case in range(40)])
    assert len(sampled) == 10
    assert ran - always == sampled


def draw_cases_of(seed: str, names: list[str], one_in: int = 4) -> set[str]:
    """Return the names of the cases of `many/test_many.py` that the sample of `seed` has."""
    count = max(1, round(len(names) / one_in))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, seed)
        drawn = draw_cases([f"many/test_many.py::{name}" for name in names], count, count_days())
    return {name.split("::")[1] for name in drawn}


@pytest.mark.parametrize(("count", "days"), [(1, 1), (3, 3), (40, 4), (43, 4), (47, 4)])
def test_consecutive_days_run_every_case(count: int, days: int) -> None:
    names = [f"case {case}" for case in range(count)]
    samples = [draw_cases_of(f"2026-02-{27 + day}", names) for day in (0, 1)]
    samples += [draw_cases_of(f"2026-03-0{1 + day}", names) for day in range(days - 2)]
    assert all(samples)
    assert set.union(*samples[:days]) == set(names)


def test_the_order_of_cases_does_not_change_the_sample() -> None:
    names = [f"case {case}" for case in range(40)]
    assert draw_cases_of("2026-01-02", names) == draw_cases_of("2026-01-02", names[::-1])


def test_any_text_is_a_seed() -> None:
    names = [f"case {case}" for case in range(1000)]
    samples = [draw_cases_of(seed, names, 7) for seed in ("a", "b", "2026-02-31")]
    assert all(len(sample) == 143 for sample in samples)
    assert samples[0] != samples[1]


def is_in_sample_of(seed: str, name: str) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, seed)
        return is_in_sample(name, 4)


@pytest.mark.parametrize("options", [(), ("-p", "xdist.plugin", "-n", "2")], ids=["one", "workers"])
def test_the_report_counts_the_cases_that_were_not_run(
    suite: Path, options: tuple[str, ...]
) -> None:
    ran, output = run(suite, *options)
    not_run = CASES - len(ran)
    assert 0 < not_run < CASES
    assert (
        f"{not_run} of {CASES} cases were not run (sample {VARIABLE}=2026-01-02). "
        'Long form: pytest -m "slow or not slow"; '
        'all cases: pytest -m "slow or not slow" --part 1/1\n'
    ) in output


def test_the_report_counts_of_the_cases_that_a_keyword_selects(suite: Path) -> None:
    ran, output = run(suite, "-k", "test_sampled")
    assert f"{40 - len(ran)} of 40 cases were not run" in output


def test_the_second_command_of_the_report_runs_all_cases(suite: Path) -> None:
    ran, output = run(suite, "-m", "slow or not slow", "--part", "1/1")
    assert len(ran) == CASES
    assert "were not run" not in output


@pytest.mark.parametrize("options", [(), ("-p", "xdist.plugin", "-n", "2")], ids=["one", "workers"])
def test_the_long_form_runs_a_share_of_each_test(suite: Path, options: tuple[str, ...]) -> None:
    ran, output = run(suite, "-m", "slow or not slow", *options)
    assert {"test_long", *(f"test_whole[{case}]" for case in range(5))} <= ran
    tests = ("test_sampled", "test_few", "test_of_another_folder", "test_of_a_subfolder")
    counts = [sum(name.startswith(f"{test}[") for name in ran) for test in tests]
    assert counts == [6, 1, 1, 1]
    assert f"{CASES - len(ran)} of {CASES} cases were not run" in output


def test_the_long_forms_of_consecutive_days_run_every_case(suite: Path) -> None:
    seeds = [f"2026-01-0{day}" for day in range(1, TURNS + 1)]
    days = [run(suite, "-m", "slow or not slow", seed=seed)[0] for seed in seeds]
    assert len(set.union(*days)) == CASES


@pytest.mark.parametrize("path", ["many", "many/test_many.py"])
def test_a_path_selects_from_all_cases(suite: Path, path: str) -> None:
    ran, _ = run(suite, "-m", "slow or not slow", path)
    assert {f"test_sampled[{case}]" for case in range(40)} < ran


def test_the_long_form_has_all_cases_of_a_kernel_on_one_day() -> None:
    kernels = [f"kernel_{count}" for count in range(100)]
    results = [f"a.py::test_results[{kernel}-{kind}]" for kernel in kernels for kind in "abc"]
    builds = [f"b.py::test_builds[{kernel}]" for kernel in kernels]
    days = []
    for day in range(TURNS):
        drawn = [draw_long_cases(names, day) for names in (results, builds)]
        found = [{re.search(r"\[(\w+)", name)[1] for name in names} for names in drawn]
        assert found[0] == found[1]
        assert len(drawn[0]) == 3 * len(drawn[1])
        days.append(found[0])
    assert sum(map(len, days)) == len(set.union(*days)) == 100


def test_the_parts_together_have_each_case_once(suite: Path) -> None:
    parts = [run(suite, "-m", "slow or not slow", "--part", f"{part}/3")[0] for part in (1, 2, 3)]
    assert sum(map(len, parts)) == CASES
    assert len(set.union(*parts)) == CASES


def test_the_long_run_of_ci_has_every_part() -> None:
    workflow = (Path(__file__).parents[1] / ".github/workflows/long.yml").read_text()
    (line,) = re.findall(r"part: \[(.*)\]", workflow)
    parts = [read_part(each.strip('"')) for each in line.split(", ")]
    assert parts == [(part, len(parts)) for part in range(1, len(parts) + 1)]


@pytest.fixture
def costly(suite: Path) -> Path:
    (suite / "costly").mkdir()
    (suite / "costly/test_costly.py").write_text(COSTLY)
    return suite


def test_a_costly_test_runs_on_one_day_of_each_turn(costly: Path) -> None:
    days = [run(costly, "costly", seed=f"2026-01-{day:02}") for day in range(1, 1 + 4 * TURNS)]
    for ran, output in days:
        assert {"test_cheap", "test_whole"} <= ran
        assert len({"test_first", "test_second"} & ran) <= 1
        assert f"{OF_COSTLY - len(ran)} of {OF_COSTLY} cases were not run" in output
    for name in ("test_first", "test_second"):
        places = [place for place, (ran, _) in enumerate(days) if name in ran]
        assert len(places) == 4
        assert {after - before for before, after in itertools.pairwise(places)} == {TURNS}
    # Half of the cases run each time: all of them have run after two turns.
    cases = [{name for name in ran if "test_cases" in name} for ran, _ in days]
    assert sorted(map(len, cases)) == [0] * (4 * TURNS - 4) + [4] * 4
    assert len(set.union(*cases[: 2 * TURNS])) == 8


def test_a_costly_test_runs_if_its_file_is_asked_for(costly: Path) -> None:
    ran, _ = run(costly, "costly/test_costly.py")
    assert {"test_first", "test_second"} <= ran


@pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b", "-1/3", ""])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"expected K/N .* got {text}"):
        read_part(text)


def test_the_seed_is_the_day_in_utc(suite: Path) -> None:
    days = [datetime.now(timezone.utc)]
    _, output = run(suite, seed=None)
    days.append(datetime.now(timezone.utc))
    (seed,) = re.findall(rf"slow cases: {VARIABLE}=(\S+)", output)
    assert seed in {f"{day:%Y-%m-%d}" for day in days}
    assert days[1] - days[0] < timedelta(days=1)


def test_each_case_has_the_same_chance() -> None:
    # 40 days of 100 cases, one in 4: 1000 expected, with a standard deviation of 27.4.
    days = [f"2026-01-{day:02}" for day in range(1, 41)]
    found = sum(is_in_sample_of(day, f"case {case}") for day in days for case in range(100))
    assert abs(found - 1000) < 5 * 27.4
