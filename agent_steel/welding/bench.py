"""Asking for drafts and checking them, until one is right."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.models import told
from agent_steel.models.chips import facts_of
from agent_steel.models.providers.model import Form, Model
from agent_steel.proposal import Progress, ProposerError, Usage
from agent_steel.welding.confined import check_draft
from agent_steel.welding.draft import DRAFT_SCHEMA, Draft, read_draft, read_polished
from agent_steel.welding.figures import figures
from agent_steel.welding.messages import Checked, Job
from agent_steel.welding.order import Agree, Order, WelderError
from metalbench.errors import DeclarationError
from metalbench.isolation import Limits
from metalbench.kernel.library import Library

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.result import Result


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

    def draft(self) -> tuple[Draft, Checked, int]:
        """Return the first draft that passes, with what was found and how many it took."""
        from metalbench.run.observed import device_facts

        common = self._common()
        text = self.model.prompts.fill("welder", chip=facts_of(device_facts(self.device)), **common)
        found, draft = Checked(), None
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
                faults="\n\n".join(map(str, found.faults)),
                **common,
            )
        raise self._error(
            f"none of {self.order.rounds} drafts has passed; the last one: "
            f"{found.faults[0]}. Say more in --description, or allow more --rounds",
            draft,
        )

    def polish(self, draft: Draft) -> tuple[Draft | None, Checked | None]:
        """Return the polished draft if it passes; else none, for the draft is right as it is."""
        self.say("polishing")
        text = self.model.prompts.fill(
            "welder_polish", name=draft.name, task=draft.task, kernel=draft.kernel
        )
        form: Form[Draft] = Form("draft", DRAFT_SCHEMA, lambda answer: read_polished(answer, draft))
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

    def _ask(self, text: str, form: Form[Draft]) -> Draft:
        system = self.model.prompts.fill("welder_system", headers=told.headers())
        try:
            draft, usage = self.model.ask(system, text, form, self.say)
        except ProposerError as error:
            self.usage += error.usage or Usage()
            raise
        self.usage += usage
        return draft

    def _form(self) -> Form[Draft]:
        order = self.order
        taken = {*Library().names(), *order.destination.names()}
        return Form("draft", DRAFT_SCHEMA, lambda answer: read_draft(answer, order.name, taken))

    def _check(self, draft: Draft) -> Checked:
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
