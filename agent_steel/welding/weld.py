"""The figures of a new task, by the same trial that `metalbench run` makes of any kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.models import prompt
from agent_steel.models.local_paths import remove_local_paths
from agent_steel.models.prompt import facts_of
from agent_steel.models.providers.model import AnswerForm, Model
from agent_steel.proposal import Progress, ProposerError, Usage
from agent_steel.welding.confined import SECONDS, check_draft
from agent_steel.welding.contribution import (
    NO_REFERENCE,
    Account,
    Agree,
    Destination,
    Order,
    WelderError,
    account_of_draft,
    check_name,
    contribution,
)
from agent_steel.welding.draft import DRAFT_SCHEMA, Draft, read_draft, read_polished
from agent_steel.welding.messages import CheckResult, Job
from agent_steel.welding.sources import AuthoredTask, Source
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry, Library
from metalbench.run.trial import Silent, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.workers.pool import Workers

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.store.result import Result


def figures(
    device: Device, name: str, folder: Path, *, set_name: str, device_name: str, limits: Limits
) -> Result:
    """Try NAME.py and NAME.metal of `folder`, in a separate process.

    Raise MachineError if the machine is at fault.
    """
    path = folder / f"{name}.py"
    entry = Entry(name, set_name, path, [path.with_suffix(".metal")])
    kernel = entry.kernel()
    trial = Trial(entry, kernel, kernel.dtypes[0])
    with Workers(device_name, limits) as workers:
        return workers.attempt(device_facts(device), trial, (), Silent())


# Asking for drafts and checking them, until one is right.


@dataclass
class Bench:
    """Asks for drafts and checks them."""

    model: Model
    order: Order
    agree: Agree
    say: Progress
    device: Device
    device_name: str
    limits: Limits
    usage: Usage = field(default_factory=Usage)
    _agreed: set[str] = field(default_factory=set)

    def draft(self) -> tuple[Draft, CheckResult, int]:
        """Return the first draft that passes, with what was found and how many it took."""
        from metalbench.run.trial import device_facts

        common = self._common()
        text = self.model.prompts.fill("welder", chip=facts_of(device_facts(self.device)), **common)
        found, draft = CheckResult(), None
        for number in range(1, self.order.rounds + 1):
            self.say(f"draft {number} of at most {self.order.rounds}")
            draft = self._ask(text, self._form())
            found = self._check(draft)
            if not found.faults:
                return draft, found, number
            self.say(f"draft {number}: {found.faults[0]}")
            text = self.model.prompts.fill(
                "welder_repair",
                task=draft.task,
                kernel=draft.kernel,
                faults=remove_local_paths("\n\n".join(map(str, found.faults))),
                **common,
            )
        raise self._error(
            f"none of {self.order.rounds} drafts has passed; the last one: "
            f"{found.faults[0]}. Say more in --description, or allow more --rounds",
            draft,
        )

    def polish(self, draft: Draft) -> tuple[Draft | None, CheckResult | None]:
        """Return the polished draft if it passes; else none, for the draft is right as it is."""
        self.say("polishing")
        text = self.model.prompts.fill(
            "welder_polish", name=draft.name, task=draft.task, kernel=draft.kernel
        )
        form: AnswerForm[Draft] = AnswerForm(
            "draft", DRAFT_SCHEMA, lambda answer: read_polished(answer, draft)
        )
        # Comments are no other Python.
        try:
            polished = self._ask(text, form)
        except ProposerError as error:
            self.say(f"left as it was: {error}")
            return None, None
        self._agreed.add(polished.task)
        found = self._check(polished)
        if found.faults:
            self.say(f"left as it was; polished, {found.faults[0]}")
            return None, None
        return polished, found

    def figures(self, draft: Draft) -> Result:
        """Time a draft that has passed."""
        with tempfile.TemporaryDirectory(prefix="weld-") as folder:
            draft.write(Path(folder))
            return figures(
                self.device,
                draft.name,
                Path(folder),
                set_name=self.order.destination.set_name,
                device_name=self.device_name,
                limits=self.limits,
            )

    def _ask(self, text: str, form: AnswerForm[Draft]) -> Draft:
        system = self.model.prompts.fill("welder_system", headers=prompt.headers())
        try:
            draft, usage, _ = self.model.ask(system, text, form, self.say)
        except ProposerError as error:
            self.usage += error.usage or Usage()
            raise
        self.usage += usage
        return draft

    def _form(self) -> AnswerForm[Draft]:
        order = self.order
        taken = {*Library().names(), *order.destination.names()}
        return AnswerForm(
            "draft", DRAFT_SCHEMA, lambda answer: read_draft(answer, order.name, taken)
        )

    def _check(self, draft: Draft) -> CheckResult:
        self.order.destination.check(draft.name)
        if draft.task not in self._agreed:
            if not self.agree(f"{draft.name}.py", draft.task):
                raise self._error("the Python of the draft was not to be run", draft)
            self._agreed.add(draft.task)
        order = self.order
        with tempfile.TemporaryDirectory(prefix="weld-") as folder:
            draft.write(Path(folder))
            reference = order.reference.resolve() if order.reference else None
            job = Job(draft.name, Path(folder), reference, order.function, order.seed)
            return check_draft(job, self.device_name, self.limits, self.say)

    def _common(self) -> dict[str, str]:
        order = self.order
        name, reference = "Choose a name for it.", "There is no reference: the description counts."
        if order.name:
            name = f"The task is called `{order.name}`."
        if order.reference is not None:
            try:
                text = order.reference.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise DeclarationError(f"--reference {order.reference}: {error}") from None
            reference = (
                "This says what is right. The oracle has to agree with it in float64:\n\n"
                f"<reference>\n{text}\n</reference>"
            )
        return {"description": order.description.strip(), "name": name, "reference": reference}

    def _error(self, message: str, draft: Draft | None) -> WelderError:
        error = WelderError(f"[weld] {message}")
        error.draft = draft
        return error


# From a description to a checked task and kernel, written where they belong.
#
# Nothing of a draft is believed. Its Python runs in a confined process after the user has agreed,
# and files are written only when every check has passed.


@dataclass(frozen=True)
class WeldResult:
    """The accepted draft. `rounds` drafts were checked; `checks` were passed."""

    name: str
    paths: tuple[Path, ...]
    contribution: str
    rounds: int
    is_polished: bool
    checks: tuple[str, ...]
    usage: Usage
    result: Result | None = None


def weld(
    model: Model,
    order: Order,
    *,
    agree: Agree,
    say: Progress,
    device: str = "auto",
    limits: Limits | None = None,
    measure: bool = True,
    alone: AbstractContextManager[object] | None = None,
) -> WeldResult:
    """Have `model` write a task and its kernel, check them, and write them where they belong.

    `agree` confirms Python code of the model before it is run, each time the code changes. `say`
    receives progress messages. `device` is as for `_core.open`; `limits` are for checking one
    draft. With `measure` the kernel is timed at the end, within `alone`, where no other process
    measures.

    Raises
    ------
    WelderError
        If no draft has passed, or the user did not agree.
    ProposerError
        If the model cannot be asked or gives no answer that can be read.
    DeclarationError
        For a name that is taken or a file that is in the way, before anything is asked.
    """
    from metalbench import _core

    order.check()
    opened = _core.open(device)
    bench = Bench(model, order, agree, say, opened, device, limits or Limits(SECONDS))
    passed = _pass_checks(bench)
    result = None
    if measure:
        say("timing it")
        with alone or nullcontext():
            result = bench.figures(passed.draft)
    return _write(bench, passed, result)


@dataclass(frozen=True)
class _Passed:
    """A draft that has passed, after how many."""

    draft: Draft
    checks: tuple[str, ...]
    rounds: int
    is_polished: bool = False


def _pass_checks(bench: Bench) -> _Passed:
    try:
        draft, found, rounds = bench.draft()
        if bench.order.polish:
            polished, found_polished = bench.polish(draft)
            if polished is not None and found_polished is not None:
                return _Passed(polished, found_polished.checks, rounds, is_polished=True)
    except (WelderError, ProposerError) as error:
        error.usage = bench.usage
        raise
    return _Passed(draft, found.checks, rounds)


def _write(bench: Bench, passed: _Passed, result: Result | None) -> WeldResult:
    order, draft = bench.order, passed.draft
    author = f"{bench.model.name} ({bench.model.provider})"
    text = contribution(
        account_of_draft(draft, passed.checks, author),
        destination=order.destination,
        result=result,
        remarks=() if order.reference else (NO_REFERENCE,),
    )
    name = draft.name
    paths = order.destination.write(
        name, {f"{name}.py": draft.task, f"{name}.metal": draft.kernel, f"{name}.md": text}
    )
    return WeldResult(
        name=draft.name,
        paths=paths,
        contribution=text,
        rounds=passed.rounds,
        is_polished=passed.is_polished,
        checks=passed.checks,
        usage=bench.usage,
        result=result,
    )


# From a program of the user's to a checked task, without a model.


def weld_source(
    source: Source,
    destination: Destination,
    *,
    say: Progress,
    name: str = "",
    device: str = "auto",
    limits: Limits | None = None,
    seed: int = 0,
) -> WeldResult:
    """Write the task of a program, and the text that goes with it; the kernel is left to others.

    The program runs as the user in this process, where sizes and inputs are found by trial. The
    checks run in a confined one, as those of a model's drafts do. `name` is the task's ('' takes
    that of the program).

    Raises
    ------
    WelderError
        If the task has not passed the checks.
    DeclarationError
        For a program that cannot be made a task, a name that is taken, or a file in the way.
    """
    name = name or source.name
    check_name(name, destination)
    say("sizes and inputs are found by trial")
    with tempfile.TemporaryDirectory(prefix="weld-") as folder:
        try:
            authored = source.author(name, Path(folder))
        except DeclarationError as error:
            # The copy of the program has the name that the task's folder would have.
            raise WelderError(f"[weld] {str(error).replace(f'{folder}/', '')}") from error
        reference = Path(folder) / authored.reference if authored.reference else None
        job = Job(name, Path(folder), reference, "", seed, has_kernel=False)
        found = check_draft(job, device, limits or Limits(SECONDS), say)
    if found.faults:
        faults = "; ".join(remove_local_paths(str(each)) for each in found.faults)
        raise WelderError(
            f"[weld] {authored.title}: the task has not passed its checks: {faults}. Other example "
            "inputs may help, or a task written by hand (docs/reference/tasks.md)"
        )
    text = contribution(
        _account_of_source(authored, found.checks),
        destination=destination,
        result=None,
        remarks=[f"{each[0].upper()}{each[1:]}." for each in authored.remarks],
        figures=False,
    )
    paths = destination.write(name, {**authored.files, f"{name}.md": text})
    return WeldResult(name, paths, text, 0, False, found.checks, Usage())


def _account_of_source(authored: AuthoredTask, checks: Sequence[str]) -> Account:
    name = authored.name
    files = {
        file: "the task" if file == f"{name}.py" else "a copy of the program"
        for file in authored.files
    }
    summary = (
        f"The task of {authored.title}. The program is the reference; the oracle is "
        f"{authored.oracle}."
    )
    return Account(name, authored.title, summary, files, "the Welder, without a model", checks)
