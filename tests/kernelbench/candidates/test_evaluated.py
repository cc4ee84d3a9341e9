"""Python candidates as samples of a folder: their classes, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import samples
from candidates import answers
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernelbench.candidates.source import NOT_NEEDED
from metalbench.kernelbench.folder import read_plan
from metalbench.store.history import Evaluation
from metalbench.store.store import Store


def evaluated(
    folder: Path, texts: Sequence[str], *options: object, name: str = "twice01"
) -> list[Evaluation]:
    """Return the outcomes of samples of one problem."""
    kernels = samples.tasks_in(folder / "kernels")
    place = folder / "run" / samples.SET / "problem_1"
    place.mkdir(parents=True)
    for number, text in enumerate(texts):
        (place / f"sample_{number}.py").write_text(answers.named(text, name))
    where = ["--kernels", kernels, "--db", folder / "a.db", "--device", "cpu", "--time", 0.05]
    command = ["evaluate", folder / "run", *where, *options]
    done = CliRunner().invoke(main, list(map(str, command)))
    assert done.exit_code == 0, done.output
    with Store(folder / "a.db") as store:
        return store.evaluations(read_plan(folder / "run").id)


def classes(found: Sequence[Evaluation]) -> Mapping[int, str]:
    return {each.place.sample: each.outcome for each in found}


def test_evaluate_times_correct_python_and_reports_the_rest(tmp_path: Path) -> None:
    found = evaluated(tmp_path, [answers.FUNCTION, answers.IMPORTS, answers.NO_ENTRY])
    assert list(classes(found).values()) == ["correct", "forbidden", "does not bind"]
    right, imports, entry = found
    assert right.ratio is not None
    assert right.message == ""
    assert "sample_0.py:1: imports subprocess" not in right.message
    assert "sample_1.py:1: imports subprocess; a candidate gets" in imports.message
    assert "expected `class ModelNew` or a function `twice01`, got something" in entry.message
    with Store(tmp_path / "a.db") as store, store.reading() as connection:
        (notes,) = connection.execute(
            "SELECT notes FROM results WHERE id = ?", (right.result,)
        ).fetchone()
    assert any("its own kernels did" in each for each in json.loads(notes))


def test_a_result_of_an_earlier_call_is_named(tmp_path: Path) -> None:
    (found,) = evaluated(tmp_path, [answers.BY_SHAPE], "--no-timing")
    assert found.outcome == "wrong result"
    assert "; the result is that of an earlier call, with the inputs of seed " in found.message


@pytest.mark.slow
def test_every_class_of_bad_python(tmp_path: Path) -> None:
    texts = {
        answers.MODEL: ("correct", ""),
        answers.MLX_ONLY: ("not by its own kernels", "no kernel of its own ran"),
        answers.FOR_SHOW: (
            "not by its own kernels",
            NOT_NEEDED,
        ),
        answers.WRONG: ("wrong result", "expected"),
        answers.BEYOND: ("race or bounds", "past the end of"),
        answers.BROKEN_KERNEL: ("does not compile", "undeclared identifier 'z'"),
        answers.NO_PYTHON: ("does not compile", "sample_6.py:1:"),
        answers.PROSE: ("prose", "got prose"),
        "": ("empty", "got nothing"),
        answers.OPENS: ("forbidden", "`open`"),
        answers.OTHER_ARGUMENTS: ("does not bind", "expected parameters for (x)"),
        answers.RAISES: ("crash", "sample_11.py:2: NameError"),
        answers.RAISES_AT_ONCE: ("does not compile", "sample_12.py:3: ValueError"),
        answers.SHAPE: ("wrong result", "expected float32 (100,), got float32 (99,)"),
        answers.LOOPS: ("time limit", "within 10 s"),
        answers.ALLOCATES: ("out of memory", "of memory"),
        answers.ESCAPES: ("crash", "was ended by SIGSYS"),
        answers.READS: ("crash", "Operation not permitted"),
    }
    found = evaluated(tmp_path, list(texts), "--memory-limit", "1G", "--kernel-timeout", 120)
    told = [(each.outcome, each.message) for each in found]
    expected = list(texts.values())
    assert [outcome for outcome, _ in told] == [outcome for outcome, _ in expected], told
    for (_, message), (_, words) in zip(told, expected, strict=True):
        assert words in message
        assert bool(words) == bool(message)
