"""What a model is asked for: one request a sample, and its key in the cache of answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_steel.models import told
from agent_steel.models.prompts import Prompts
from metalbench.kernel.library import Entry, Library
from metalbench.msl.building import cache

# Of each kind of prompt the kernels of the library that it shows.
EXAMPLES = {
    "zero-shot": (),
    "one-shot": ("relu",),
    "few-shot": ("relu", "softmax", "transpose_2d"),
}
# By language the suffix of a sample's file.
SUFFIXES = {"metal": ".metal", "python": ".py"}
_IN_PYTHON = Path(__file__).parent / "in_python"


@dataclass(frozen=True)
class SampleRequest:
    """Options of all requests. `hardware` is the name of a chip in the prompt, or empty.

    `language` is the language of the answers, one of SUFFIXES.
    """

    provider: str
    model: str
    prompt: str
    max_tokens: int
    temperature: float | None = None
    hardware: str = ""
    base_url: str | None = None
    language: str = "metal"


@dataclass(frozen=True)
class Request:
    """One sample to be asked for: where it goes, and the words."""

    level: str
    problem: int
    sample: int
    task: str
    system: str
    text: str

    @property
    def tokens_at_most(self) -> int:
        """No fewer tokens than the question has."""
        return len((self.system + self.text).encode()) // 2 + 32

    def key(self, asking: SampleRequest) -> str:
        """The answer's key in the cache: of the words, the model, the parameters, the sample."""
        how = {
            "provider": asking.provider,
            "model": asking.model,
            "base_url": asking.base_url,
            "max_tokens": asking.max_tokens,
            "temperature": asking.temperature,
            "sample": self.sample,
        }
        return cache.digest("generation", self.system, self.text, json.dumps(how, sort_keys=True))


def requests_of(
    level: str,
    tasks: Sequence[tuple[int, Entry]],
    samples: int,
    asking: SampleRequest,
    prompts: Prompts,
) -> list[Request]:
    """Return the requests for some problems of a level, sample by sample.

    Raise ProposerError for a prompt that cannot be filled, TaskError for a task that is wrong.
    """
    named = "generation_system" if asking.language == "metal" else "generation_python_system"
    system = prompts.fill(named, headers=told.headers())
    found = []
    for problem, entry in tasks:
        text = prompts.fill(
            "generation",
            examples=_examples(asking, entry.name),
            hardware=f"# The hardware\n\n{asking.hardware}" if asking.hardware else "",
            task=entry.name,
            description=entry.description,
            file=_text(entry.task_path),
        )
        found += [Request(level, problem, i, entry.name, system, text) for i in range(samples)]
    return found


def _examples(asking: SampleRequest, task: str) -> str:
    """Return tasks of the library with a kernel for each; never the one that is asked for."""
    library = Library()
    shown = [library.entry(name) for name in EXAMPLES[asking.prompt] if name != task]
    texts = [
        f"# An example: `{each.name}`\n\n<task>\n{_text(each.task_path)}\n</task>\n\n"
        f"```{asking.language}\n{_text(_example(each, asking.language))}\n```"
        for each in shown
    ]
    return "\n\n".join(texts)


def _example(entry: Entry, language: str) -> Path:
    return entry.kernel_path() if language == "metal" else _IN_PYTHON / f"{entry.name}.py"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
