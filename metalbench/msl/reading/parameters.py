"""Parse the parameters of functions and kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.msl.reading.arithmetic import evaluate_expression
from metalbench.msl.reading.attributes import Attribute, find_attributes, skip_attributes
from metalbench.msl.reading.tokens import Location, Tokens, is_name

ADDRESS_SPACES = frozenset({"device", "constant", "threadgroup", "thread"})
_PARAMETER_QUALIFIERS = ADDRESS_SPACES | {
    "const",
    "volatile",
    "restrict",
    "coherent",
    "typename",
    "struct",
}
THREAD_ATTRIBUTES = frozenset(
    [
        "thread_position_in_grid",
        "threads_per_grid",
        "thread_position_in_threadgroup",
        "threads_per_threadgroup",
        "threadgroup_position_in_grid",
        "threadgroups_per_grid",
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "thread_index_in_quadgroup",
        "simdgroup_index_in_threadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "quadgroups_per_threadgroup",
        "threads_per_simdgroup",
        "thread_execution_width",
        "dispatch_threads_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "dispatch_quadgroups_per_threadgroup",
        "grid_origin",
        "grid_size",
    ]
)
TEXTURE = re.compile(r"(?:texture|depth)(?:1d|2d|3d|cube|_buffer)\w*")
_LIST_SEPARATOR = re.compile(r"\s*([,<>])\s*")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function; `tokens` exclude attributes and the default argument."""

    position: int
    location: Location
    tokens: tuple[str, ...]
    name: str
    attributes: tuple[Attribute, ...]

    @property
    def address_space(self) -> str:
        """device, constant, threadgroup or thread; empty for a value."""
        return next((text for text in self.tokens if text in ADDRESS_SPACES), "")

    @property
    def is_pointer(self) -> bool:
        """Whether the parameter is a pointer, a reference or an array."""
        depth = 0
        for text in self.tokens:
            depth += (text == "<") - (text == ">")
            if depth == 0 and text in ("*", "&", "&&", "["):
                return True
        return False

    @property
    def pointee(self) -> tuple[str, ...]:
        """The tokens before the first * or & outside of template arguments."""
        depth = 0
        for index, text in enumerate(self.tokens):
            depth += (text == "<") - (text == ">")
            if depth == 0 and text in ("*", "&", "&&", "(", "["):
                return self.tokens[:index]
        return self.tokens[:-1] if self.name else self.tokens

    def spell_type(self, substitution: Mapping[str, str]) -> str:
        """Return the type of the pointee or value, template parameters substituted: `float4`."""
        words = [
            word for word in self.pointee if word not in _PARAMETER_QUALIFIERS and word != self.name
        ]
        words = [substitution.get(word, word) for word in words]
        text = " ".join(words).replace(" :: ", "::").replace(":: ", "::").removeprefix("metal::")
        return _LIST_SEPARATOR.sub(r"\1", text).replace(",", ", ")


def parse_parameters(tokens: Tokens, opening: int) -> list[Parameter]:
    """Return the parameters between the parenthesis at `opening` and its partner."""
    found: list[Parameter] = []
    for first, last in tokens.split(opening + 1, tokens.partner[opening]):
        kept = skip_attributes(tokens, first, last)
        words = tuple(tokens.text[index] for index in kept)
        if "=" in words:
            words = words[: words.index("=")]
        if words == ("void",):
            continue
        found.append(
            Parameter(
                len(found),
                tokens.locate_token(first),
                words,
                _find_parameter_name(words),
                tuple(find_attributes(tokens, first, last)),
            )
        )
    return found


def _find_parameter_name(words: tuple[str, ...]) -> str:
    """Return the declared name, empty if there is none."""
    end = len(words)
    while end and words[end - 1] == "]":
        end = end - 1 - words[:end][::-1].index("[")
    if end and words[end - 1] == ")":
        end -= 1
    if not end or not is_name(words[end - 1]) or words[end - 1] in _PARAMETER_QUALIFIERS:
        return ""
    before = [word for word in words[: end - 1] if word not in _PARAMETER_QUALIFIERS]
    return words[end - 1] if before and before[-1] != "::" else ""


def evaluate_attribute_index(
    tokens: Tokens, attribute: Attribute, names: Mapping[str, str]
) -> int | None:
    """Return n of [[buffer(n)]], None if it is not an integer constant."""
    return evaluate_expression(tokens.join(attribute.first, attribute.last), names)
