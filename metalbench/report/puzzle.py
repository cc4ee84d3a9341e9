"""Text reports of puzzles: the list, a statement, and the result of an attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from metalbench.puzzle.attempt import compile_advice, finding_advice
from metalbench.puzzle.puzzle import SCORED
from metalbench.report.findings import findings_text
from metalbench.report.terminal import HEADING, QUIET, SafeConsole, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from metalbench.puzzle.attempt import Attempt, PuzzleProgress, PuzzleState, Score, Wrong
    from metalbench.puzzle.puzzle import Puzzle

Array = np.ndarray[Any, Any]
MOST_SHOWN = 4
# Size of a drawing: rows, and characters of a row.
ROWS, COLUMNS = 16, 64
RIGHT, BAD, MISSING = ".", "x", "-"


def puzzles_table(puzzles: Sequence[Puzzle], progress: PuzzleProgress, *, terminal: bool) -> Table:
    """Return every puzzle with the user's progress."""
    table = plain_table(terminal=terminal)
    table.add_column("", justify="right", no_wrap=True)
    for name in ("name", "puzzle", "state", "attempts", "hints"):
        table.add_column(name, no_wrap=True)
    for each in puzzles:
        step = progress.of(each.name)
        state = Text(_state(step), style="green" if step.at_target else "")
        hints = f"{step.hints} of {len(each.hints)}"
        attempts = str(step.attempts or "-")
        table.add_row(str(each.number), each.name, each.title, state, attempts, hints)
    return table


def _state(step: PuzzleState) -> str:
    if step.at_target:
        return "solved, at the target"
    return "solved" if step.solved else "tried" if step.attempts else "-"


def show_statement(puzzle: Puzzle, hints: int) -> Group:
    """Return the statement, the skeleton, and the first `hints` hints."""
    parts: list[RenderableType] = [
        Text(f"Puzzle {puzzle.number}: {puzzle.title}\n", style=HEADING),
        Markdown(puzzle.statement),
        Text(f"\n{puzzle.skeleton.source.rstrip()}", style=QUIET),
        Text(f"\nInputs: {_inputs(puzzle)}. Sizes: {'; '.join(puzzle.task.sizes)}."),
    ]
    for number, hint in enumerate(puzzle.hints[:hints], 1):
        parts += [Text(f"\nHint {number} of {len(puzzle.hints)}", style=HEADING), Markdown(hint)]
    return Group(*parts)


def _inputs(puzzle: Puzzle) -> str:
    return ", ".join(
        f"{name} ({', '.join(extent.text for extent in each.shape)}) {each.distribution}"
        for name, each in puzzle.task.inputs.items()
    )


def attempt_report(attempt: Attempt, *, terminal: bool = False) -> Group:
    """Return whether an attempt compiles, is correct and clean, its costs, and the next step."""
    puzzle = attempt.puzzle
    title = f"Puzzle {puzzle.number}, {puzzle.title}: {attempt.file}\n"
    if attempt.error:
        advice = compile_advice(attempt.error)
        told = f"It does not compile:\n\n{attempt.error}" + (f"\n\n{advice}" if advice else "")
        return Group(Text(title, style=HEADING), Text(told))
    parts: list[RenderableType] = [
        Text(title, style=HEADING),
        Text("compiles  yes"),
        Text("\n".join(_results(attempt))),
        Text("\n".join(_cleanness(attempt))),
    ]
    if attempt.score is not None:
        parts += [Text(), _score_table(attempt.score, terminal=terminal)]
    return Group(*parts, Text("\n" + "\n".join(_closing(attempt))))


def attempt_text(attempt: Attempt, *, width: int = 100) -> str:
    """Return the report as plain text, in lines of at most `width` characters."""
    text = StringIO()
    SafeConsole(file=text, width=width, highlight=False).print(attempt_report(attempt))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _results(attempt: Attempt) -> Iterator[str]:
    wrong = attempt.wrong
    if wrong is None:
        yield f"right     yes, at {len(attempt.puzzle.task.sizes)} sizes"
        return
    yield f"right     no, at size {wrong.size}"
    yield f"  {wrong.message}"
    if wrong.bad.size:
        yield from (f"  {line}" for line in _elements(wrong))
        yield ""
        yield from (f"  {line}" for line in drawing(wrong.bad, wrong.unwritten))


def _elements(wrong: Wrong) -> Iterator[str]:
    """Yield the first wrong elements: index, expected, got."""
    places = np.argwhere(wrong.bad)
    for place in places[:MOST_SHOWN]:
        index = tuple(place.tolist())
        got = "nothing" if wrong.unwritten[index] else f"{wrong.got[index]:.7g}"
        where = ", ".join(map(str, index))
        yield f"[{where}]: expected {wrong.expected[index]:.7g}, got {got}"
    if len(places) > MOST_SHOWN:
        yield f"... and {len(places) - MOST_SHOWN} more"


def drawing(bad: Array, unwritten: Array) -> list[str]:
    """Return the output as characters: right, wrong, or not written; at most `ROWS` lines.

    With more elements than characters, each character stands for several elements.
    """
    wrong, missing = _grid(bad), _grid(bad & unwritten)
    by = -(-wrong.shape[0] // ROWS), -(-wrong.shape[1] // COLUMNS)
    signs = np.where(_pool_flags(wrong, by), BAD, RIGHT)
    signs[_pool_flags(missing, by)] = MISSING
    each = "one element" if by == (1, 1) else f"{by[0]} x {by[1]} elements"
    legend = f"({RIGHT} right, {BAD} wrong, {MISSING} never written; a character is {each})"
    return [*map("".join, signs.tolist()), legend]


def _grid(flags: Array) -> Array:
    """Return flags in two dimensions; a long row is split."""
    if flags.ndim > 1:
        return flags.reshape(-1, flags.shape[-1])
    rows = -(-flags.size // COLUMNS)
    if rows == 1 or rows > ROWS:
        return flags.reshape(1, -1)
    padded = np.zeros(rows * COLUMNS, bool)
    padded[: flags.size] = flags
    return padded.reshape(rows, COLUMNS)


def _pool_flags(flags: Array, by: tuple[int, int]) -> Array:
    """Return whether any flag is set in each block of `by` rows and columns."""
    rows, columns = -(-flags.shape[0] // by[0]), -(-flags.shape[1] // by[1])
    padded = np.zeros((rows * by[0], columns * by[1]), bool)
    padded[: flags.shape[0], : flags.shape[1]] = flags
    return np.asarray(padded.reshape(rows, by[0], columns, by[1]).any(axis=(1, 3)))


def _cleanness(attempt: Attempt) -> Iterator[str]:
    if not attempt.findings:
        yield "clean     not checked, for nothing was launched"
        return
    last = attempt.findings[-1]
    warned = any(each.found for each in attempt.findings)
    if last.passed and not warned:
        yield "clean     yes: no access out of bounds, no race, nothing read that was not written"
        return
    shown = next(each for each in attempt.findings if each.found and (each is last or last.passed))
    yield f"clean     {'yes, with warnings' if last.passed else 'no'}, at size {shown.sizes[0]}"
    yield from (f"  {line}" for line in findings_text(shown).rstrip().splitlines())
    for kind in dict.fromkeys(each.kind for each in shown.found):
        advice = finding_advice(kind)
        if advice:
            yield f"  {advice}"


def _score_table(score: Score, *, terminal: bool) -> Table:
    table = plain_table(terminal=terminal)
    table.add_column(f"accesses of one thread, at most ({score.size})", no_wrap=True)
    for name in ("yours", "target", ""):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for name in SCORED:
        got, wanted = score.counts[name], score.target[name]
        verdict = "" if got == wanted else "too many" if got > wanted else "fewer than the target"
        table.add_row(name.replace("_", " "), str(got), str(wanted), verdict)
    return table


def _closing(attempt: Attempt) -> Iterator[str]:
    puzzle = attempt.puzzle
    if not attempt.solved:
        if attempt.wrong is None and attempt.findings:
            yield "The result is right by luck: on a GPU, or in another run, it need not be."
        yield f"Not solved yet. A hint: metalbench puzzles show {puzzle.number} --hint"
        return
    if attempt.at_target:
        yield "Solved, with no more accesses than are needed."
        yield f"Next: {puzzle.following}"
        return
    yield "Solved. It can be done with fewer accesses; the section Target says how many, and why."
    if attempt.file.suffix == ".metal":
        yield f"Which line makes them: metalbench profile {attempt.file} --lines"
    yield f"A hint: metalbench puzzles show {puzzle.number} --hint"


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as JSON values."""
    wrong = attempt.wrong
    return {
        "puzzle": attempt.puzzle.name,
        "file": str(attempt.file),
        "error": attempt.error or None,
        "wrong": {"size": wrong.size, "message": wrong.message} if wrong else None,
        "clean": attempt.clean,
        "findings": [
            {"size": each.size, "kind": each.kind, "message": each.message, "count": each.count}
            for of_size in attempt.findings
            for each in of_size.found
        ],
        "scores": [
            {"size": each.size, "counts": dict(each.counts), "target": dict(each.target)}
            for each in attempt.scores
        ],
        "solved": attempt.solved,
        "at_target": attempt.at_target,
    }
