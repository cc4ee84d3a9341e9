"""The Welder with a scripted server: what passes, what is fixed, what is refused."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest
from steel.model_server import KEY, ModelServer, fails, refuses, says
from steel.welding import drafts
from steel.welding.drafts import GOOD, NAME, POLISHED, draft

from agent_steel.models.providers import Retries, create_model
from agent_steel.proposal import ProposerError, SpentError, Usage
from agent_steel.welding.contribution import Destination, Order, WelderError
from agent_steel.welding.weld import weld
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.sandbox.resources import Limits


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def order(tmp_path):
    return Order(
        "Twice every element, and one.",
        Destination(tmp_path / "kernels", "mine"),
        name=NAME,
        polish=False,
        rounds=3,
    )


class Welding:
    """A welder before a server with a script, and all that it asks and says."""

    def __init__(self, tmp_path):
        self.said = []
        self.agreed = []
        self.server = None
        self._prices = tmp_path / "prices.json"
        self._prices.write_text(json.dumps({"models": {"m": {"input": 2, "output": 10}}}))

    def __call__(self, script, order, *, yes=True, limits=None, **options):
        def agree(name, text):
            self.agreed.append((name, text))
            return yes

        more = {each: options.pop(each) for each in ("max_cost",) if each in options}
        with ModelServer(script) as self.server:
            model = create_model(
                "anthropic",
                model="m",
                base_url=self.server.url("anthropic"),
                prices=self._prices,
                max_tokens=5000,
                retries=Retries(sleep=lambda _: None),
                **more,
            )
            return weld(
                model,
                order,
                agree=agree,
                say=self.said.append,
                device="cpu",
                limits=limits or Limits(300.0),
                **{"measure": False, **options},
            )

    @property
    def last_asked(self):
        return self.server.asked[-1].turns[0][1]


@pytest.fixture
def welding(tmp_path):
    return Welding(tmp_path)


def files(order):
    path = order.destination.path
    return sorted(each.name for each in path.iterdir()) if path.exists() else []


def test_a_good_draft_is_checked_polished_timed_and_written(welding, order, tmp_path):
    reference = tmp_path / "mine.py"
    reference.write_text("def right(values):\n    return values + values + 1\n")
    alone = []

    @contextmanager
    def only_one():
        alone.append("began")
        yield
        alone.append("ended")

    welded = welding(
        [GOOD, POLISHED],
        replace(order, polish=True, reference=reference),
        measure=True,
        alone=only_one(),
    )
    assert files(order) == [f"{NAME}.md", f"{NAME}.metal", f"{NAME}.py"]
    assert welded.paths[0].read_text() == drafts.POLISHED_TASK
    assert welded.paths[1].read_text() == drafts.POLISHED_KERNEL
    assert welded.paths[2].read_text() == welded.contribution
    assert (welded.rounds, welded.is_polished) == (1, True)
    assert welded.usage == Usage(200, 100, pytest.approx(0.0014), 2)
    assert alone == ["began", "ended"]
    stages = [each.partition(":")[0] for each in welded.checks]
    assert stages == ["task", "reference", "MLX", "admit", "kernel in float32"]
    # Polishing changed no code, so that there was nothing to agree to.
    assert welding.agreed == [(f"{NAME}.py", drafts.TASK)]
    assert welded.result.status.value == "correct"
    for told in (
        "Twice every element, and one.",
        "agrees with mine.py",
        f"| {NAME} | seed |",
        "m (",
    ):
        assert told in welded.contribution
    entry = Library([order.destination.folder]).entry(NAME)
    assert entry.set == "mine"
    assert entry.task.description == "Twice every element, and one."


def test_a_wrong_kernel_is_fixed_in_the_second_round(welding, order):
    welded = welding([draft(kernel=drafts.WRONG_KERNEL), GOOD], order)
    assert welded.rounds == 2
    assert welded.usage.requests == 2
    assert "kernel in float32: WRONG_RESULT" in welding.last_asked
    assert drafts.WRONG_KERNEL.strip() in welding.last_asked
    assert (order.destination.path / f"{NAME}.metal").read_text() == drafts.KERNEL
    # The task was the same in both rounds: it is agreed to once.
    assert len(welding.agreed) == 1


def test_a_task_that_ignores_its_input_is_refused(welding, order):
    cheat = draft(drafts.BLIND, drafts.BLIND_KERNEL)
    with pytest.raises(WelderError, match="none of 3 drafts has passed") as caught:
        welding([cheat] * 3, order)
    assert "y is the same whatever the inputs are" in str(caught.value)
    assert "admit: " in welding.last_asked
    assert caught.value.usage == Usage(300, 150, pytest.approx(0.0021), 3)
    assert caught.value.draft.task == drafts.BLIND
    assert files(order) == []


def test_a_wrong_oracle_is_found_by_mlx(welding, order):
    welding([draft(drafts.WRONG_ORACLE), GOOD], order)
    assert "MLX: y at size small" in welding.last_asked
    assert "one of the two is wrong" in welding.last_asked


@pytest.mark.parametrize(
    "text",
    [
        "def right(x):\n    return 2 * x + 1.001\n",
        "import mlx.core as mx\n\ndef right(x):\n    return mx.add(2 * x, 1.001)\n",
    ],
    ids=["numpy", "mlx"],
)
def test_a_draft_that_disagrees_with_the_reference_is_refused(welding, order, tmp_path, text):
    reference = tmp_path / "mine.py"
    reference.write_text(text)
    with pytest.raises(WelderError, match=r"by the reference and .* by the oracle"):
        welding([GOOD], replace(order, reference=reference, rounds=1))
    assert text.strip() in welding.last_asked


@pytest.mark.parametrize(
    "text",
    [
        "import mlx.core as mx\n\ndef right(x):\n"
        "    assert x.dtype == mx.float64\n    return 2 * x + 1\n",
        drafts.TASK.replace("twice_and_one", "of_another_name"),
    ],
    ids=["mlx in float64", "a task file"],
)
def test_references_of_every_kind(welding, order, tmp_path, text):
    reference = tmp_path / "mine.py"
    reference.write_text(text)
    name = "of_another_name" if "of_another" in text else ""
    welded = welding([GOOD], replace(order, reference=reference, function=name))
    assert "the oracle agrees with mine.py at" in welded.checks[1]


@pytest.mark.parametrize("times", [1, 2])
def test_a_killed_process_is_started_again(welding, order, monkeypatch, times):
    kills = []

    def killed(number):
        if len(kills) < times and number not in kills:
            kills.append(number)
            os.kill(number, signal.SIGKILL)
        return 0

    monkeypatch.setattr("agent_steel.welding.confined.read_resident_bytes", killed)
    order = replace(order, rounds=1)
    if times == 1:
        assert welding([GOOD], order).usage.requests == 1
    else:
        with pytest.raises(WelderError, match="OUT_OF_MEMORY"):
            welding([GOOD], order)
    assert len(kills) == times
    assert sum("checked again" in each for each in welding.said) == 1


def test_hanging_python_is_ended(welding, order):
    with pytest.raises(WelderError, match="TIME_LIMIT: expected all checks to be through in 2 s"):
        welding([draft(drafts.ENDLESS)], replace(order, rounds=1), limits=Limits(2.0))
    assert files(order) == []


def test_python_beyond_the_memory_limit_is_ended(welding, order):
    hoards = drafts.TASK.replace("import itertools", "import itertools\n\nimport numpy as np")
    loop = "hoard = [np.ones(1 << 20) for _ in itertools.count()]\n\n\ndef exact"
    script = [draft(hoards.replace("def exact", loop))]
    with pytest.raises(WelderError, match=r"OUT_OF_MEMORY: expected at most 1 GiB of memory"):
        welding(script, replace(order, rounds=1), limits=Limits(300.0, 1 << 30))


def test_code_without_consent_does_not_run(welding, order, monkeypatch):
    monkeypatch.setattr("agent_steel.welding.weld.check_draft", lambda *_: pytest.fail("it ran"))
    with pytest.raises(WelderError, match="was not to be run"):
        welding([GOOD], order, yes=False)
    assert welding.agreed == [(f"{NAME}.py", drafts.TASK)]
    assert files(order) == []


def test_unsafe_python_is_returned_before_the_user_is_asked(welding, order):
    reads = drafts.TASK.replace("import itertools", "import os")
    welded = welding([draft(reads), GOOD], order)
    assert welded.usage.requests == 2
    assert "`import os`: expected one of" in welding.server.asked[-1].turns[2][1]
    assert [text for _, text in welding.agreed] == [drafts.TASK]


def test_a_wrong_polished_kernel_is_discarded(welding, order):
    bad = draft(drafts.TASK, drafts.WRONG_KERNEL)
    welded = welding([GOOD, bad], replace(order, polish=True))
    assert not welded.is_polished
    assert welded.paths[1].read_text() == drafts.KERNEL
    assert any("left as it was; polished, kernel in float32" in each for each in welding.said)


def test_polishing_may_not_change_the_task(welding, order):
    lenient = draft(drafts.TASK.replace('flops="2 * n"', 'flops="9 * n"'))
    welded = welding([GOOD, *[lenient] * 3], replace(order, polish=True))
    assert not welded.is_polished
    assert "only comments and docstrings may be different" in "\n".join(welding.said)


def test_a_refusal_ends_the_welding(welding, order):
    with pytest.raises(ProposerError, match=r"refused to answer: No\.") as caught:
        welding([refuses("No.")], order)
    assert caught.value.usage.requests == 1
    assert files(order) == []


def test_the_limit_of_costs_holds(welding, order):
    with pytest.raises(SpentError, match="--max-cost"):
        welding([GOOD], order, max_cost=0.001)
    assert welding.server.asked == []


def test_a_limit_reached_during_polishing_keeps_the_result(welding, order):
    dear = replace(GOOD, tokens_out=20_000)
    welded = welding([dear, POLISHED], replace(order, polish=True), max_cost=0.21)
    assert not welded.is_polished
    assert "left as it was: --max-cost 0.21" in "\n".join(welding.said)
    assert len(files(order)) == 3


def test_files_are_not_replaced(welding, order):
    order.destination.path.mkdir(parents=True)
    mine = order.destination.path / f"{NAME}.metal"
    mine.write_text("mine")
    with pytest.raises(DeclarationError, match="is already there"):
        welding([GOOD], order)
    assert welding.server.asked == []
    # One of a name that the model chooses is sent back.
    with pytest.raises(ProposerError, match=f"there is a task called '{NAME}' already"):
        welding([GOOD] * 3, replace(order, name=""))
    assert mine.read_text() == "mine"
    forced = replace(order, destination=replace(order.destination, force=True))
    welding([GOOD], forced)
    assert mine.read_text() == drafts.KERNEL


def test_all_files_or_none(tmp_path):
    there = Destination(tmp_path, "mine")
    with pytest.raises(UnicodeEncodeError):
        there.write("a", {".py": "x", ".metal": "\ud800"})
    assert list((tmp_path / "mine").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(name="relu"), "the library has a task called 'relu'"),
        (dict(name="No"), "--name: expected lower-case"),
        (dict(description=" "), "--description: expected"),
        (dict(rounds=0), "--rounds: expected 1 or more"),
        (dict(destination=Destination("x", "../up")), "--set: expected lower-case"),
    ],
)
def test_an_impossible_order_is_refused_before_a_request(welding, order, change, message):
    with pytest.raises(DeclarationError, match=message):
        welding([GOOD], replace(order, **change))
    assert welding.server.asked == []


def test_requests_are_retried_as_for_any_other_question(welding, order):
    welded = welding([fails(529), says("Sure!"), GOOD], order)
    assert welded.usage == Usage(200, 100, pytest.approx(0.0014), 3)
