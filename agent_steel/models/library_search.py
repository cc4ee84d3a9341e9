"""Find kernels and headers of the library that are about what limits a kernel.

Texts are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009) over the words of their names and leading comments, with the usual constants.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from metalbench.kernel.library import NAMED, SETS, SUITES, Library
from metalbench.kernel.source_files import library_folder

SATURATION, LENGTH_WEIGHT = 1.2, 0.75
# A name says more than one word of a comment.
NAME_WEIGHT = 6
SUBJECT_WEIGHT = 3.0
# Words without a meaning of their field.
LEFT_OUT = frozenset((
    "all", "and", "any", "are", "axis", "before", "both", "but", "each", "every", "for", "from",
    "has", "have", "here", "its", "last", "more", "not", "one", "only", "other", "over", "than",
    "that", "the", "them", "then", "there", "these", "they", "this", "two", "what", "where",
    "which", "with",
))  # fmt: skip
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+")
_COMMENT = re.compile(r"(?:\s*//[^\n]*\n)+")
# Header lines such as `// dispatch: ...`.
_DECLARATION = re.compile(r"^[a-z]+: ")


@dataclass(frozen=True)
class LibraryText:
    """A kernel or a header of the library.

    `name` is that of the task, or `metalbench/x.h`. `comment` is the prose above its first line of
    code, in one line. `technique` is the tag of a kernel in the set `quick`, else empty.
    """

    name: str
    path: Path
    comment: str
    technique: str = ""

    @property
    def is_header(self) -> bool:
        """Whether it is a header."""
        return self.path.suffix == ".h"

    @property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8").strip()

    @cached_property
    def words(self) -> Counter[str]:
        """Its words with their weights."""
        found = Counter(split_words(f"{self.comment} {self.technique}"))
        for word in split_words(self.name):
            found[word] += NAME_WEIGHT
        return found


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without plural endings; names are split."""
    words = (each.lower() for each in _WORD.findall(text.replace("_", " ")))
    return [
        each[:-1] if each.endswith("s") and not each.endswith("ss") else each
        for each in words
        if len(each) > 2 and each not in LEFT_OUT
    ]


@cache
def list_texts() -> tuple[LibraryText, ...]:
    """Return the headers and kernels of the library, those of suites left out."""
    folder, library = library_folder(), Library()
    found = [
        LibraryText(f"metalbench/{path.name}", path, _read_comment(path))
        for path in sorted((folder / "include" / "metalbench").glob("*.h"))
    ]
    for set_name in (*SETS, *(each for each in NAMED if each not in SUITES)):
        for name in library.names(set_name):
            entry = library.entry(name)
            if entry.set == set_name and entry.kernel_paths:
                path = entry.kernel_path()
                technique = library.techniques.get(name, "")
                found.append(LibraryText(name, path, _read_comment(path), technique))
    return tuple(found)


def _read_comment(path: Path) -> str:
    """Return the prose above the first line of code, without the lines of a kernel's header."""
    match = _COMMENT.match(path.read_text(encoding="utf-8"))
    lines = [each.strip().lstrip("/").strip() for each in (match[0] if match else "").splitlines()]
    return " ".join(each for each in lines if each and not _DECLARATION.match(each))


@dataclass(frozen=True)
class _Index:
    """The texts with what BM25 needs of all of them."""

    texts: tuple[LibraryText, ...]

    @cached_property
    def lengths(self) -> list[int]:
        return [each.words.total() for each in self.texts]

    @cached_property
    def frequencies(self) -> Counter[str]:
        """In how many texts a word is."""
        return Counter(word for each in self.texts for word in each.words)

    def score(self, number: int, query: Mapping[str, float]) -> float:
        """Return the score of a text for the words of a query and their weights."""
        text, count = self.texts[number], len(self.texts)
        mean = sum(self.lengths) / count
        norm = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * self.lengths[number] / mean
        total = 0.0
        for word, weight in sorted(query.items()):
            here, everywhere = text.words[word], self.frequencies[word]
            if here:
                rarity = math.log(1 + (count - everywhere + 0.5) / (everywhere + 0.5))
                total += weight * rarity * here * (SATURATION + 1) / (here + SATURATION * norm)
        return total


@cache
def _make_index() -> _Index:
    return _Index(list_texts())


def rank_texts(subject: str, context: str = "") -> list[LibraryText]:
    """Return the texts with a word of the query, the best first.

    Words of `subject` count more than those of `context`.
    """
    index, words = _make_index(), dict.fromkeys(split_words(context), 1.0)
    words |= dict.fromkeys(split_words(subject), SUBJECT_WEIGHT)
    scores = {number: index.score(number, words) for number in range(len(index.texts))}
    ranked = sorted(scores, key=lambda number: (-scores[number], number))
    return [index.texts[number] for number in ranked if scores[number] > 0]
