"""What a model is asked for: one request a sample, and its key in the cache of answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent_steel.models import prompt as told
from agent_steel.models.prompts import Prompts
from agent_steel.models.providers.api import Ending
from agent_steel.models.providers.model import Model
from agent_steel.proposal import ProposerError, RefusedError, SpentError, Usage
from metalbench import build_cache
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry, Library
from metalbench.kernelbench.answers import extract_code
from metalbench.kernelbench.folder import (
    FILE,
    SamplePlan,
    get_sample_path,
    read_plan,
    write,
    write_plan,
)

# The kernels of the library that each kind of prompt shows.
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
        return build_cache.digest(
            "generation", self.system, self.text, json.dumps(how, sort_keys=True)
        )


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


# Asks for samples, several at a time; every answer is a file before the next is asked for.

_ENDINGS = {Ending.WHOLE: "whole", Ending.CUT: "cut", Ending.REFUSED: "refused"}


@dataclass(frozen=True)
class WrittenSample:
    """A finished sample. `cached`: no request was needed. `error`: the request failed."""

    request: Request
    usage: Usage
    cached: bool = False
    error: str = ""


def begin_folder(
    root: Path, problems: dict[str, list[int]], samples: int, asking: SampleRequest
) -> SamplePlan:
    """Write the plan of the folder, merged with its existing plan.

    Raise DeclarationError for a folder whose samples were requested with other options.
    """
    asked = asdict(asking)
    plan = SamplePlan(problems, samples, asked=asked)
    if (root / FILE).is_file():
        known = read_plan(root)
        before = {"language": "metal", **known.asked} if known.asked else {}
        if before != asked:
            was = ", ".join(f"{k} {v}" for k, v in before.items() if asked.get(k) != v)
            raise DeclarationError(
                f"--out {root}: its samples were requested with other options ({was or 'none'}); "
                "name another folder"
            )
        levels = dict.fromkeys([*known.problems, *problems])
        merged = {
            each: sorted({*known.problems.get(each, ()), *problems.get(each, ())})
            for each in levels
        }
        plan = SamplePlan(merged, max(samples, known.samples), known.id, asked)
    write_plan(root, plan)
    return plan


def remaining(root: Path, requests: Sequence[Request]) -> list[Request]:
    """Return the requests whose samples are not there yet."""
    return [each for each in requests if not _path(root, each, ".json").is_file()]


def generate(
    root: Path,
    requests: Sequence[Request],
    model: Model,
    asking: SampleRequest,
    said: Callable[[WrittenSample], None],
    *,
    parallel: int = 1,
) -> None:
    """Ask for all samples that are requested, `parallel` at a time.

    `said` is called for each result as it arrives, also for a failed request, which does not end
    the run. Answers are written even if the run is interrupted. Raise SpentError at the cost limit,
    MachineError if a file cannot be written, and ProposerError if the model cannot be asked at all:
    no server, or a provider that refuses every request.
    """
    if any(build_cache.load(each.key(asking)) is None for each in requests):
        model.check()

    def one(request: Request) -> None:
        said(_sample(root, request, model, asking))

    pool = ThreadPoolExecutor(parallel, thread_name_prefix="generate")
    try:
        jobs = [pool.submit(one, each) for each in requests]
        done, _ = wait(jobs, return_when=FIRST_EXCEPTION)
        for each in done:
            each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _sample(root: Path, request: Request, model: Model, asking: SampleRequest) -> WrittenSample:
    key = request.key(asking)
    record = build_cache.load(key)
    usage, cached = Usage(), record is not None
    if record is None:
        try:
            answer, usage = model.answer(
                request.system, request.text, lambda _: None, temperature=asking.temperature
            )
        except (SpentError, RefusedError):
            raise
        except ProposerError as error:
            return WrittenSample(request, error.usage or Usage(), error=str(error))
        record = {"answer": answer.text, "ending": _ENDINGS[answer.ending], **asdict(usage)}
        build_cache.store(key, record)
    _write(root, request, asking, dict(record), cached=cached)
    return WrittenSample(request, usage, cached)


def _write(
    root: Path, request: Request, asking: SampleRequest, record: dict[str, Any], *, cached: bool
) -> None:
    """Write the sample first: by its provenance it is known to be whole."""
    write(_path(root, request, SUFFIXES[asking.language]), extract_code(record["answer"]), root)
    provenance = {
        "task": request.task,
        **record,
        "cached": cached,
        "asked": asdict(asking),
        "system": request.system,
        "prompt": request.text,
    }
    # An answer may hold lone surrogates, which are replaced as in the sample's own file.
    text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
    write(_path(root, request, ".json"), text, root)


def _path(root: Path, request: Request, suffix: str) -> Path:
    return get_sample_path(root, request.level, request.problem, request.sample).with_suffix(suffix)
