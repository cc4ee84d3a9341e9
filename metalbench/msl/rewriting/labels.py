"""Functions that a source declares by the names that Metal's compiler has for them inside.

Such names say which address spaces the arguments are in. Here these are one, so declarations that
differ only by them must have the same label.
"""

from __future__ import annotations

from metalbench.msl.reading.host_code import ASSEMBLY, LABEL, is_asm_label
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits


def has_asm_labels(tokens: Tokens) -> bool:
    """Return whether a source declares tile copies (csrc/msl/mb/async_copy.h)."""
    return bool(_labels(tokens))


def rewrite_asm_labels(tokens: Tokens, edits: Edits) -> None:
    """Replace each such label by that of the engine's own function."""
    for index in _labels(tokens):
        label = LABEL.fullmatch(tokens.text[index + 2])
        assert label is not None
        text = f'asm("mb_{label[1] or label[2]}")'
        edits.replace(tokens.start[index], tokens.end(index + 3), text)


def _labels(tokens: Tokens) -> list[int]:
    """Return the tokens `asm` that begin a label."""
    indices = (index for word in ASSEMBLY for index in tokens.occurrences.get(word, ()))
    return [index for index in indices if is_asm_label(tokens, index)]
