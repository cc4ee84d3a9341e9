"""The forms of the test suite: samples of each test's cases, and a report of those left out.

A plain `pytest`, the short form, runs a share of each test's cases, and at least one. The seed of
the sample is the day in UTC. Each day runs the cases that follow those of the day before, so that
every case runs within some days. `METALBENCH_TEST_SAMPLE` sets the seed, which repeats the sample
of another day.

`pytest -m "slow or not slow"`, the long form, also runs the tests that are marked slow, and one
case in `TURNS` of each test. All cases that name one kernel run on one day, as they share its
builds. A path, `-k` or `--part` selects from all cases: `--part 1/1` runs every case.

In the short form a few hundred tests take most of the time. `costs.txt` lists them, and each runs
on one day of `TURNS`. `pytest --record-costs FILE` records their times, of which
`python tools/list_costs.py FILE` makes the list.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import cycle
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import pytest

VARIABLE = "METALBENCH_TEST_SAMPLE"
LONG_EXPRESSION = "slow or not slow"
LONG_FORM = f'pytest -m "{LONG_EXPRESSION}"'
# The number of days in which the long form runs every case, and the short form each costly test.
TURNS = 7
# pytest-xdist's workers send their counts to the process that prints the report under this name.
_OUTPUT = "metalbench_short_form"


def sample_seed() -> str:
    """Return the seed of the sample: the day in UTC, or what the variable has.

    The first call fixes the seed in the environment. Worker processes thus draw the same sample,
    also if they start after midnight.
    """
    if not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = datetime.now(timezone.utc).date().isoformat()
    return os.environ[VARIABLE]


def draw_index(name: str, count: int) -> int:
    """Return an index below `count` that depends on the seed and on the case's name alone."""
    digest = hashlib.sha256(f"{sample_seed()}\n{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % count


def is_in_sample(name: str, one_in: int) -> bool:
    """Return whether the sample has this case. It has each case with probability 1 / `one_in`."""
    return draw_index(name, one_in) == 0


def count_days() -> int:
    """Return the number of the day that the seed names; of another seed, a number drawn by it."""
    try:
        return date.fromisoformat(sample_seed()).toordinal()
    except ValueError:
        return draw_index("day", 1 << 32)


def draw_cases(names: Sequence[str], count: int, day: int) -> set[str]:
    """Return the `count` cases of one test that run on a day.

    The cases are shuffled, the same way each day. Each day takes those that follow the cases of the
    day before, around the end: N cases of which K run have all run after N / K days.
    """
    shuffled = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    # A phase of each test: those with equally many cases do not all begin on one day.
    start = day * count + crc32(shuffled[0].encode())
    return {shuffled[(start + offset) % len(shuffled)] for offset in range(count)}


def draw_long_cases(names: Sequence[str], day: int) -> set[str]:
    """Return the cases of one test that the long form runs on a day: 1 / `TURNS` of them.

    The first word of a case's id is taken for a kernel's name if a test has many such words.
    """
    subjects = {name: name.partition("[")[2].rstrip("]").partition("-")[0] for name in names}
    if sum(map(str.isidentifier, set(subjects.values()))) < 4 * TURNS:
        return draw_cases(names, -(-len(names) // TURNS), day) if names else set()
    turn = day % TURNS
    return {name for name in names if crc32(subjects[name].encode()) % TURNS == turn}


def read_part(text: str) -> tuple[int, int]:
    """Return K and N of the text `K/N`. Raise UsageError unless 1 <= K <= N."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= count:
        raise pytest.UsageError(f"--part: expected K/N with 1 <= K <= N, such as 2/8, got {text}")
    return part, count


def is_in_part(item: pytest.Item, part: int, count: int) -> bool:
    """Return whether a case is in a part. Each part has about as many cases as any other."""
    # Parts of one run may start on two days: they must not depend on the seed.
    return crc32(item.nodeid.encode()) % count == part - 1


def _find_form(config: pytest.Config, root: Path) -> Literal["short", "long"] | None:
    """Return the form of which the sample is drawn; None if all that is selected runs.

    With other options, cases outside of the sample run, or do not count.
    """
    expression = config.getoption("markexpr")
    if config.getoption("keyword") or config.getoption("--part", None) is not None:
        return None
    if expression == "not slow":
        return None if any("[" in each for each in config.args) else "short"
    folders = {(config.invocation_params.dir / each).resolve() for each in config.args}
    is_whole = folders <= {root, root.parent}
    return "long" if expression == LONG_EXPRESSION and is_whole else None


class ShortForm:
    """A pytest plugin that marks the cases outside of the sample as slow, and counts them.

    `one_in` has, for a folder of `root`, the reciprocal of the share of cases that run. An entry of
    a subfolder, such as "kernelbench/problems", takes precedence over those of its parents. At
    least one case of every test runs, and every case of a test that is marked `whole`. A test in
    `costly` runs on one day of `TURNS` unless it is marked `whole` or its file is asked for. The
    order of `costly` is that of falling cost, so that the days take equally long.
    """

    def __init__(self, root: Path, one_in: Mapping[str, int], costly: Sequence[str] = ()) -> None:
        self._root = root
        self._one_in = one_in
        # Every second round goes through the days backwards, so that the first is not the longest.
        days = cycle((*range(TURNS), *reversed(range(TURNS))))
        self._turns = dict(zip(costly, days, strict=False))
        self._not_run = 0
        self._cases = 0
        # Tests whose cases were drawn before pytest made items of them.
        self._drawn: set[tuple[Path, type | None, str]] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Iterator[None]:
        """Remove the cases of a test that the sample leaves out, and count them.

        Each worker process thus makes no items of them: one case in seven runs.
        """
        yield
        definition = metafunc.definition
        # Private to pytest: without it, items are marked below, and the long form runs all cases.
        cases = getattr(metafunc, "_calls", [])
        is_whole = definition.get_closest_marker("whole") is not None
        form = _find_form(metafunc.config, self._root)
        if not cases or form is None or (is_whole and form == "short"):
            return
        is_slow = definition.get_closest_marker("slow") is not None
        marks = [{mark.name for mark in case.marks} for case in cases]
        names = [f"{definition.nodeid}[{case.id}]" for case in cases]
        quick = [not (is_slow or "slow" in own) for own in marks]
        # Slow cases of whole tests are in the sample of the long form.
        always = [
            is_quick and (is_whole or "whole" in own)
            for is_quick, own in zip(quick, marks, strict=True)
        ]
        drawn_from = [
            name
            for name, is_quick, is_always in zip(names, quick, always, strict=True)
            if not is_always and (is_quick or form == "long")
        ]
        day = self._find_day(definition.nodeid, metafunc.config)
        sample: set[str] = set()
        if form == "long":
            sample = draw_long_cases(drawn_from, count_days())
        elif drawn_from and day is not None:
            sample = draw_cases(drawn_from, self._count_drawn(drawn_from, definition.path), day)
        chosen = [
            case
            for case, name, is_always in zip(cases, names, always, strict=True)
            if is_always or name in sample
        ]
        # Without any case, pytest would make an item without parameters. It is marked slow below.
        chosen = chosen or cases[:1]
        self._not_run += len(cases) - len(chosen)
        self._drawn.add((definition.path, metafunc.cls, definition.originalname))
        cases[:] = chosen

    def pytest_report_header(self) -> str:
        """Return the line that names the seed."""
        return f"sample of the slow cases: {VARIABLE}={sample_seed()} (the day in UTC if not set)"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Mark each case as slow that the sample leaves out, and count the cases."""
        cases = defaultdict(list)
        for item in items:
            if not item.get_closest_marker("whole") and not item.get_closest_marker("slow"):
                function = getattr(item, "originalname", item.name)
                test = (item.path, getattr(item, "cls", None), function)
                if test not in self._drawn:
                    cases[test].append(item)
        for (path, _, _), group in cases.items():
            day = self._find_day(_name_test(group[0]), config)
            names = [item.nodeid for item in group]
            sample = draw_cases(names, self._count_drawn(names, path), 0 if day is None else day)
            for item in group:
                if item.nodeid not in sample:
                    item.add_marker(pytest.mark.slow)
        for item in items:
            is_whole = item.get_closest_marker("whole") is not None
            if not is_whole and self._find_day(_name_test(item), config) is None:
                item.add_marker(pytest.mark.slow)
        if (text := config.getoption("--part", None)) is not None:
            part = read_part(text)
            config.hook.pytest_deselected(items=[x for x in items if not is_in_part(x, *part)])
            items[:] = [each for each in items if is_in_part(each, *part)]
            self._not_run = 0
        yield
        # Here pytest has deselected cases by `-k` and `-m`.
        self._cases = len(items) + self._not_run

    def _find_day(self, test: str, config: pytest.Config) -> int | None:
        """Return the number of the day for a test, by its name; None if it is not its turn.

        The days of a costly test are counted in turns, so that all of its cases run in time.
        """
        day, turn = count_days(), self._turns.get(test)
        if turn is None or any(".py" in each for each in config.args):
            return day
        turns, rest = divmod(day + turn, TURNS)
        return None if rest else turns

    def _count_drawn(self, names: Sequence[str], path: Path) -> int:
        """Return how many cases of a test the short form draws, and at least one.

        The entry of the innermost folder that has one is the reciprocal of their share.
        """
        folders = [each.as_posix() for each in path.relative_to(self._root).parents]
        one_in = next((self._one_in[each] for each in folders if each in self._one_in), 1)
        return max(1, round(len(names) / one_in))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the cases that are deselected as slow. Those that `-k` deselects do not count."""
        if all(item.get_closest_marker("slow") for item in items):
            self._not_run += len(items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the counts of a worker process of pytest-xdist."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = (self._not_run, self._cases)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the counts of a worker process. All of them collect the same cases."""
        counts = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if counts is not None:
            self._not_run, self._cases = counts

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how many cases did not run, of how many, and the commands that run more."""
        if self._not_run:
            terminalreporter.write_line(
                f"{self._not_run} of {self._cases} cases were not run "
                f"(sample {VARIABLE}={sample_seed()}). "
                f"Long form: {LONG_FORM}; all cases: {LONG_FORM} --part 1/1"
            )


def _name_test(item: pytest.Item) -> str:
    """Return the name of the test of a case, with its path."""
    return item.nodeid.partition("[")[0]


class CostRecorder:
    """A pytest plugin that appends a line of JSON for each case: its name and its time in s.

    It is the time that has passed, as a test that waits holds up others too, or if it is longer the
    processor time of the test's process and of child processes that have ended.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record one case."""
        start, before = time.perf_counter(), self._read_processor_seconds()
        answer = yield
        used = self._read_processor_seconds() - before
        seconds = max(time.perf_counter() - start, used)
        line = json.dumps([item.nodeid, round(seconds, 3)])
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        return answer

    @staticmethod
    def _read_processor_seconds() -> float:
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(sum(resource.getrusage(who)[:2]) for who in both)
