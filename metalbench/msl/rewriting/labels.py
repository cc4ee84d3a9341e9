"""Functions that a source declares by the names that Metal's compiler has for them inside.

Such names say which address spaces the arguments are in. Here these are one, so declarations that
differ only by them must have the same label.
"""

from __future__ import annotations

from metalbench.msl.reading.host_code import LABEL
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits


def has_labels(tokens: Tokens) -> bool:
    """Whether a source declares tile copies (csrc/msl/mb/async_copy.h)."""
    return any(text.startswith('"') and LABEL.fullmatch(text) for text in tokens.places)


def rewrite_labels(tokens: Tokens, edits: Edits) -> None:
    """Point each such declaration at the function that stands for it."""
    for index, text in enumerate(tokens.text):
        label = LABEL.fullmatch(text) if text.startswith('"') else None
        if label:
            name = f'"mb_{label[1] or label[2]}"'
            edits.replace(tokens.start[index], tokens.end(index), name)
