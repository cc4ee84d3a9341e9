"""Results of another machine with the paths of this one in what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metalbench.comparison.match import MatchOutcome
from metalbench.result import Failure, Result

Words = Callable[[str], str]


def translate_result(result: Result, words: Words) -> Result:
    """The result with `words` of every message."""
    failures = tuple(_failure(each, words) for each in result.failures)
    return replace(result, failures=failures, notes=tuple(map(words, result.notes)))


def translate_outcome(outcome: MatchOutcome, words: Words) -> MatchOutcome:
    """The outcome with `words` of every message."""
    failure = outcome.failure and _failure(outcome.failure, words)
    return replace(outcome, failure=failure, notes=tuple(map(words, outcome.notes)))


def _failure(failure: Failure, words: Words) -> Failure:
    return replace(failure, message=words(failure.message))
