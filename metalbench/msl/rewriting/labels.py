"""Replace the asm labels of AIR intrinsics by labels of the engine's functions.

The labels of AIR intrinsics encode the address spaces of the arguments. The engine has one address
space, so declarations that differ only in address spaces must have the same label.
"""

from __future__ import annotations

from metalbench.msl.reading.host_code import ASSEMBLY, LABEL, is_asm_label
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.edits import Edits


def has_asm_labels(tokens: Tokens) -> bool:
    """Return whether a source declares tile copies (csrc/msl/mb/async_copy.h)."""
    return bool(_find_asm_labels(tokens))


def rewrite_asm_labels(tokens: Tokens, edits: Edits) -> None:
    """Replace each label of an AIR intrinsic by that of the engine's function."""
    for index in _find_asm_labels(tokens):
        label = LABEL.fullmatch(tokens.text[index + 2])
        assert label is not None
        text = f'asm("mb_{label[1] or label[2]}")'
        edits.replace(tokens.start[index], tokens.end(index + 3), text)


def _find_asm_labels(tokens: Tokens) -> list[int]:
    """Return the tokens `asm` that begin a label."""
    indices = (index for word in ASSEMBLY for index in tokens.occurrences.get(word, ()))
    return [index for index in indices if is_asm_label(tokens, index)]
