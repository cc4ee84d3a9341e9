"""Find misspelt keywords of header lines.

Any comment may begin with a word and a colon: `// Shape: 64 by 4`. A header line begins with an
exact keyword. A word that resembles a keyword is an error only if the text after it has the syntax
of this keyword, so that prose is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ELEMENT = r"(?:float32|float16|bfloat16|u?int(?:8|16|32|64)|bool|DTYPE)"
_ARRAY = r"\s*\w+\s+\w+\s*\(.*\)"
_SYNTAX = {
    "dispatch": r"\s*\w+\s+(?:threadgroups|threads_in_grid|threads|threadgroup_bytes)\s*=",
    "scratch": _ARRAY,
    "buffer": rf"{_ARRAY}\s*[a-z]\w*",
    "texture": rf"{_ARRAY}\s*[a-z]\w*",
    "sampler": r"\s*\w+\s+\w+::\w+",
    "value": r"\s*[A-Za-z_]\w*\s*=\s*\S+\s*$",
    "tune": r"\s*\w+\s*=\s*[-\d]",
    "instance": r"\s*\w+\s+\w+\s*=\s*[-\d]",
    "defaults": r"\s*\w+\s+(?:\w+\s+)?\w+\s*=\s*[-\d]",
    "dtypes": rf"\s*{_ELEMENT}(?:\s*,\s*{_ELEMENT})*\s*$",
    "math": r"\s*(?:safe|fast)\s*$",
}
_PATTERNS = {keyword: re.compile(syntax) for keyword, syntax in _SYNTAX.items()}


def find_misspelt_keyword(word: str, rest: str, keywords: Iterable[str]) -> str | None:
    """Return the keyword that `word` of the comment `// word:rest` misspells, if any.

    A misspelling has a Damerau-Levenshtein distance of 1, or 2 for keywords of six letters or more.
    """
    word = word.lower()
    distances = {keyword: _distance(word, keyword) for keyword in keywords}
    near = [
        keyword
        for keyword, distance in sorted(distances.items(), key=lambda each: each[1])
        if distance <= (2 if len(keyword) > 5 else 1) and _PATTERNS[keyword].match(rest)
    ]
    return near[0] if near else None


def _distance(first: str, second: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two words."""
    before, last = list[int](), list(range(len(second) + 1))
    for i, one in enumerate(first, 1):
        row = [i]
        for j, other in enumerate(second, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one != other))
            if i > 1 and j > 1 and one == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
