"""Describe the device of a kernel in prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from agent_steel.attempt import OF_SCATTER, TARGET_DESCRIPTIONS, Attempt, Status
from agent_steel.models.feedback import describe_library, describe_outcomes, describe_records
from agent_steel.models.local_paths import remove_local_paths
from agent_steel.proposal import Brief
from metalbench.chips import CHIPS, MOST_THREADS, SIMD_WIDTH, THREADGROUP_BYTES, Chip
from metalbench.devices import find_kind
from metalbench.kernel.source_files import find_included_headers, library_folder
from metalbench.profiling.prediction import DECIDED
from metalbench.stats import Interval

if TYPE_CHECKING:
    from metalbench.store.result import DeviceFacts


def facts_of(device: DeviceFacts) -> str:
    """Say in a few lines what a kernel has to do with on `device`; a chip that is unknown as such.

    `device.chip` is a key of the table such as 'm4_max', and `device.cores` its number of cores.
    """
    if find_kind(device.kind).is_simulated:
        return (
            f"The kernel runs on MetalBench's `cpu` device: {device.name}, {device.cores} cores.\n"
            "It is a simulation. Times are those of the host's cores, on which SIMD-groups of "
            f"{SIMD_WIDTH} threads run as loops or vectors; little work per thread costs more "
            "than on a GPU."
        )
    chip = CHIPS.get(device.chip or "")
    if chip is None:
        return (
            f"The kernel runs on {device.name} ({device.kind}, {device.cores} cores), of which "
            "nothing is published here."
        )
    return "\n".join(_lines(chip, device.cores))


def _lines(chip: Chip, cores: int) -> list[str]:
    # Where the system does not tell the cores, all that is known is the most they can be.
    most = "" if cores in chip.bandwidths else "up to "
    if most:
        cores = chip.cores
    known = chip.bandwidths[cores]
    rate = "a float32 rate that is not published"
    if chip.tflops is not None:
        rate = f"{most}{chip.tflops * cores / chip.cores:.3g} TFLOP/s in float32"
    return [
        f"The kernel runs on {chip.name}: {most}{cores} GPU cores, {most}{known:g} GB/s of memory "
        f"bandwidth, {rate} ({chip.source}).",
        f"SIMD-groups have {SIMD_WIDTH} threads; a threadgroup has at most {MOST_THREADS} threads "
        f"and {THREADGROUP_BYTES >> 10} KiB of threadgroup memory.",
        "Memory is shared with the CPU; there is no copy to or from the GPU.",
    ]


# The parts of the optimizer's prompt.

MOST_ATTEMPTS = 40
MOST_OTHERS = 2
LONGEST_HEADERS = 40_000
LONGEST_ERROR = 400
LONGEST_SENTENCE = 200
PREDICTED_TIME = (
    "time, as a model of the GPU predicts it: nothing is timed. A version is kept if the model "
    f"says that it is faster with a probability of {DECIDED} or more, which takes a clear gain"
)


def prompt_values(brief: Brief) -> dict[str, str]:
    """Return the values of the optimizer's prompt by name."""
    return {
        "chip": facts_of(brief.device),
        "task": brief.task.name,
        "description": remove_local_paths(brief.task.description),
        "dtype": brief.dtype,
        "size": brief.size,
        "extents": ", ".join(f"{name} = {each}" for name, each in brief.extents.items()),
        "target": PREDICTED_TIME if brief.is_predicted else TARGET_DESCRIPTIONS[brief.target],
        "reference": brief.reference.strip(),
        "bound": brief.diagnosis.bound,
        "diagnosis": remove_local_paths(brief.diagnosis.text),
        "facts": remove_local_paths(
            "\n".join(f"* {each.name}: {each.value}" for each in brief.diagnosis.facts)
        ),
        "history": remove_local_paths(
            history(
                brief.attempts,
                scatter=brief.target in OF_SCATTER,
                is_predicted=brief.is_predicted,
            )
        ),
        "outcomes": describe_outcomes(brief),
        "library": describe_library(brief),
        "records": describe_records(brief.known, brief.kernel.source),
        "tunables": _tunables(brief.parent.tunables),
        "source": brief.kernel.source.strip(),
        "included": _format_headers(brief.kernel.source),
        "others": _others(brief.others),
    }


def history(
    attempts: Sequence[Attempt], *, scatter: bool = False, is_predicted: bool = False
) -> str:
    """Return the last attempts, oldest first: technique, what became of it, and why."""
    told = [each for each in attempts if each.status is not Status.PENDING]
    if not told:
        return "Nothing yet."
    lines = [
        _line(each, scatter=scatter, is_predicted=is_predicted) for each in told[-MOST_ATTEMPTS:]
    ]
    left_out = len(told) - len(lines)
    if left_out:
        lines.insert(0, f"* {left_out} earlier attempts are left out")
    return "\n".join(lines)


def _line(each: Attempt, *, scatter: bool, is_predicted: bool) -> str:
    of = "" if each.parent is None else f" of number {each.parent}"
    said = f"* number {each.number}{of}, {each.status.value}"
    if each.technique:
        said += f": {each.technique}"
    if each.ratio is not None and is_predicted:
        said += f"; predicted to be {each.ratio.value:.3g} times as fast as what it was made from"
    elif each.ratio is not None:
        said += f"; {_ratio(each.ratio)} times as fast as what it was made from"
    if each.objectives:
        ratios = (f"{name} {ratio.value:.3g}" for name, ratio in each.objectives.items())
        said += f" ({', '.join(ratios)})"
    if scatter and each.steadiness is not None:
        said += f"; {_ratio(each.steadiness)} times as steady"
    if each.tunables:
        said += f"; {_format_names(each.tunables)}"
    if each.summary:
        said += f". {_one_line(each.summary, LONGEST_ERROR)}"
    if each.error:
        failed = "So far it is" if each.status is Status.UNDECIDED else "It failed:"
        said += f" {failed} {_one_line(each.error, LONGEST_ERROR)}"
    return said


def _ratio(ratio: Interval) -> str:
    if not ratio.is_bounded:
        return f"{ratio.value:.3g}"
    return f"{ratio.value:.3g} ({ratio.low:.3g} to {ratio.high:.3g})"


def _tunables(values: Mapping[str, int]) -> str:
    if not values:
        return "It runs with the defaults of its `// tune:` lines."
    return f"It runs with {_format_names(values)}; make these the defaults if you keep them."


def _format_names(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {each}" for name, each in values.items())


def _format_headers(source: str) -> str:
    """Return the texts of the library's headers that `source` uses, as far as there is room."""
    told, left = [], LONGEST_HEADERS
    for path in find_included_headers(source):
        text = path.read_text(encoding="utf-8").strip()
        left -= len(text)
        if left < 0:
            break
        told.append(f'<header name="metalbench/{path.name}">\n{text}\n</header>')
    return "\n\n".join(["The headers that it includes:", *told]) if told else ""


def _others(others: Sequence[Attempt]) -> str:
    told = [
        f"# Another line of attempts\n\n{each.technique}: {_one_line(each.summary, 800)}\n\n"
        f"<source>\n{each.source.strip()}\n</source>"
        for each in others[:MOST_OTHERS]
    ]
    if told:
        told.append("Its ideas may be crossed with those of the best version.")
    return "\n\n".join(told)


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]}..."


@cache
def headers() -> str:
    """The headers of the library's include folder, each with the first sentence of its comment."""
    folder = library_folder() / "include" / "metalbench"
    lines = []
    for path in sorted(folder.glob("*.h")):
        comment = re.match(r"(?:\s*//[^\n]*\n)+", path.read_text(encoding="utf-8"))
        text = _one_line(re.sub(r"\s*//", " ", comment[0]) if comment else "", 10_000)
        sentence = re.split(r"(?<=\w\w[.)]) ", text, maxsplit=1)[0]
        lines.append(f"* `metalbench/{path.name}`: {_one_line(sentence, LONGEST_SENTENCE)}")
    return "\n".join(lines)
