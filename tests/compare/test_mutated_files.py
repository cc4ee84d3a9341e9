"""Result files of strangers: any change gives a comparison or one clear error, no traceback."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from example_results import GPU, correct, incorrect, on_gpu
from mutations import mutations

from metalbench.cli import main
from metalbench.report.export import to_json
from metalbench.store.environment import environment


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    both = [on_gpu(correct()), on_gpu(correct("gelu")), replace(incorrect("relu"), device=GPU)]
    path.write_text(to_json(both, GPU, environment(), {}))
    return path


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def check(done: Result, bad: Path, place: str) -> None:
    """No traceback; an error is one line that names the file."""
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        place,
        repr(done.exception),
    )
    assert done.exit_code in (0, 2), (place, done.output)
    assert "\x1b" not in done.output, place
    assert "\n::error" not in done.output, place
    if done.exit_code == 2:
        assert "Error: " in done.output, place
        assert str(bad) in done.output, (place, done.output)


def mutate(good: Path, tmp_path: Path, count: int, seed: int) -> None:
    document = json.loads(good.read_text())
    # What the comparison reads, so that few mutations are wasted.
    document = {name: document[name] for name in ("schema", "device", "environment", "results")}
    bad, codes = tmp_path / "bad.json", set()
    for number, (place, text) in enumerate(mutations(document, count, seed)):
        bad.write_text(text)
        files = (bad, good) if number % 2 else (good, bad)
        done = command("compare" if number % 3 else "summary", *files)
        check(done, bad, place)
        codes.add(done.exit_code)
    assert codes == {0, 2}


def test_compare_and_summary_read_any_mutation(good: Path, tmp_path: Path) -> None:
    mutate(good, tmp_path, 300, seed=1)


@pytest.mark.slow
def test_compare_and_summary_read_thousands_of_mutations(good: Path, tmp_path: Path) -> None:
    mutate(good, tmp_path, 5000, seed=2)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("environment",), None, "Expected `object`, got `null` - at `$.environment`"),
        (("device",), [], "Expected `object`, got `array` - at `$.device`"),
        (("device", "kind"), 1, "Expected `str`, got `int` - at `$.device.kind`"),
        (("results",), {}, "Expected `array`, got `object` - at `$.results`"),
        (("results", 0), 3, "Expected `object`, got `int` - at `$.results[0]`"),
        (("results", 0, "task"), [], "Expected `str`, got `array` - at `$.results[0].task`"),
        (("results", 0, "size"), None, "Expected `str`, got `null` - at `$.results[0].size`"),
        (("results", 0, "size"), "x" * 10_001, "length <= 10000 - at `$.results[0].size`"),
        (("results", 0, "sizes"), "x", "Expected `object`, got `str` - at `$.results[0].sizes`"),
        (("results", 0, "sizes", "n"), 1.5, "got `float` - at `$.results[0].sizes[...]`"),
        (("results", 0, "sizes", "n"), -1, "Expected `int` >= 0 - at `$.results[0].sizes[...]`"),
        (("results", 0, "gpu_ns", "value"), "x", "got `str` - at `$.results[0].gpu_ns.value`"),
        (("results", 0, "gpu_ns", "value"), 10**400, "within the range of float64"),
        (("results", 0, "gpu_ns", "value"), float("nan"), "JSON is malformed: invalid character"),
        (("results", 0, "gpu_ns", "value"), float("inf"), "JSON is malformed: invalid character"),
        (("results", 0, "gpu_ns", "value"), 0, ">= 1e-06 - at `$.results[0].gpu_ns.value`"),
        (("results", 0, "ratio", "value"), 0, ">= 1e-12 - at `$.results[0].ratio.value`"),
        (("results", 0, "ratio", "low"), 1e9, "low <= value <= high, got 1000000000.0, "),
        (("results", 0, "forms"), 5, "got `int` - at `$.results[0].forms`"),
        (("schema",), 9, "Invalid enum value 9 - at `$.schema`"),
    ],
)
def test_an_error_names_the_file_the_field_and_both_values(
    good: Path, tmp_path: Path, place: tuple[str | int, ...], value: object, says: str
) -> None:
    document = json.loads(good.read_text())
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    for files in ((bad, good), (good, bad)):
        done = command("compare", *files)
        assert done.exit_code == 2
        assert f"{bad}: expected results from `metalbench run --json FILE`; " in done.output
        assert says in done.output


def test_json_of_results_has_no_infinities(tmp_path: Path) -> None:
    wrong = incorrect("relu")
    checks = tuple(replace(each, worst=float("inf")) for each in wrong.checks)
    text = to_json([replace(wrong, checks=checks)], GPU, environment(), {"x": float("nan")})

    def refuse(word: str) -> float:
        raise AssertionError(word)

    read = json.loads(text, parse_constant=refuse)
    assert [each["worst"] for each in read["results"][0]["checks"]] == [None] * len(checks)
    assert read["options"]["x"] is None
