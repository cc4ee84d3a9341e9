"""Small kernels of a task, and proposers with scripted replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import pytest
from work_in_vain import Simulated, folder_with

from agent_steel.attempt import Attempt
from agent_steel.device_lock import DeviceLock
from agent_steel.history import History
from agent_steel.loop import Loop, LoopResult
from agent_steel.loop.profiler import Profiler
from agent_steel.loop.search import Tools
from agent_steel.loop.settings import SearchSubject, Settings, Unheard
from agent_steel.loop.verifier import Verifier
from agent_steel.proposal import Brief, Proposal, ProposerError, Usage
from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.measure.analysis import Target
from metalbench.measure.measurement import Plan
from metalbench.run.trial import device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.store import Store
from metalbench.workers.pool import Workers

QUICK = Plan(seconds=0.1, warmup_ns=0, min_pairs=12, first_analysis=32, batch_pairs=8)

# What is sure even if other programs keep the machine busy.
LONGER = Plan(seconds=2.0, warmup_ns=0, min_pairs=12, first_analysis=32, batch_pairs=8)

Script = Callable[[Brief, int], "Proposal | ProposerError | None"]


def proposal(source: str, technique: str = "an idea", **tunables: int) -> Proposal:
    usage = Usage(tokens_in=100, tokens_out=10, cost=0.01, requests=1)
    return Proposal(source, f"Summary of {technique}.", technique, tunables, usage)


class Scripted:
    """Answers its n-th question as a script says."""

    name = "scripted"
    model = "a script"

    def __init__(self, script: Script | Sequence[Proposal | ProposerError | None]) -> None:
        self._script = script
        self._lock = Lock()
        self.asked = 0
        self.usage = Usage()
        self.briefs: list[Brief] = []

    def propose(self, brief: Brief, say: Callable[[str], None]) -> Proposal | None:
        with self._lock:
            number, self.asked = self.asked, self.asked + 1
            self.briefs.append(brief)
        if callable(self._script):
            answer = self._script(brief, number)
        else:
            answer = self._script[number] if number < len(self._script) else None
        if isinstance(answer, ProposerError):
            raise answer
        if answer is not None:
            with self._lock:
                self.usage += answer.usage
        return answer


class Heard(Unheard):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.judged_attempts: list[Attempt] = []
        self.reasons: list[str] = []
        self.texts: list[str] = []

    def on_judgement(self, subject: SearchSubject, attempt: Attempt) -> None:
        self.judged_attempts.append(attempt)

    def on_end(self, subject: SearchSubject, reason: str) -> None:
        self.reasons.append(reason)

    def on_message(self, subject: SearchSubject, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One task, `twice`, with its kernel."""
    return folder_with(tmp_path / "kernels")


@pytest.fixture
def subject(folder: Path) -> SearchSubject:
    return subject_of(folder, "twice")


def subject_of(folder: Path, name: str, **parts: Any) -> SearchSubject:
    entry = Library([folder]).entry(name)
    device = _core.open("cpu")
    made = SearchSubject(entry, entry.kernel(), "float32", "seed", device_facts(device))
    return replace(made, **parts)


class Session:
    """Runs loops over one store, on simulated workers unless they are to be `real`."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.history = History(self.store)
        self.heard = Heard()
        self.workers = Simulated()

    def __call__(
        self,
        subjects: Sequence[SearchSubject],
        proposer: Any,
        *,
        real: Limits | None = None,
        profiled: bool = False,
        session: int | None = None,
        plan: Plan = QUICK,
        clock: Callable[[], float] = monotonic,
        **settings: Any,
    ) -> LoopResult:
        number = self.history.begin({}) if session is None else session
        with Workers("cpu", real) if real else nullcontext(self.workers) as workers:
            tools = Tools(
                self.history,
                Verifier(
                    workers,
                    plan=plan,
                    confirmation=plan,
                    target=settings.get("target", Target.SPEED),
                ),
                Profiler(workers if profiled else self.workers, plan=QUICK, roofs=False),
                DeviceLock(self.history.folder, "cpu"),
                proposer,
                Settings(**settings),
                self.heard,
            )
            return Loop(number, subjects, tools, clock).run()

    def fates(self, subject: SearchSubject) -> list[str]:
        return [each.status.value for each in self.history.attempts(subject.place)]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(tmp_path / "store" / "results.db")
    with made.store:
        yield made
