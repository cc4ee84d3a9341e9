"""Classes and messages of a model's answers."""

from __future__ import annotations

import pytest
import samples

from metalbench.finding_kinds import Kind
from metalbench.kernelbench.answers import (
    GenerationOutcome,
    UnusableSample,
    decode_text,
    extract_code,
    find_code_blocks,
    parse_sample,
)
from metalbench.store.result import Failure


@pytest.mark.parametrize(
    "text",
    [
        samples.RIGHT,
        samples.FILE.format(samples.RIGHT),
        f"So:\n{samples.FILE.format(samples.RIGHT)}!",
    ],
)
def test_parse_sample_reads_kernels_with_and_without_fences(text: str) -> None:
    assert parse_sample(text, "twice01", "sample_0.metal").source.strip() == samples.RIGHT.strip()


@pytest.mark.parametrize(
    ("text", "outcome", "message"),
    [
        ("", GenerationOutcome.EMPTY, "got nothing"),
        (" \n\t\n", GenerationOutcome.EMPTY, "got nothing"),
        ("```metal\n```", GenerationOutcome.EMPTY, "empty code block"),
        (samples.PROSE, GenerationOutcome.PROSE, "I would rather tell"),
        (samples.SEVERAL, GenerationOutcome.SEVERAL_BLOCKS, "got 2"),
        (samples.PYTHON, GenerationOutcome.PYTHON, "import mlx.core"),
        (f"```python\n{samples.PYTHON}```", GenerationOutcome.PYTHON, "expected Metal, got Python"),
        ("def f(x):\n    return x\n", GenerationOutcome.PYTHON, "def f"),
        (samples.HEADLESS, GenerationOutcome.NO_HEADER, "no dispatch line"),
        (samples.READS, GenerationOutcome.FORBIDDEN, "/etc/passwd"),
        (samples.HOST, GenerationOutcome.FORBIDDEN, "asm"),
        ('#include "sample_1.metal"\n', GenerationOutcome.FORBIDDEN, "expected a header of Metal"),
    ],
)
def test_everything_else_has_a_class_and_a_message(
    text: str, outcome: GenerationOutcome, message: str
) -> None:
    with pytest.raises(UnusableSample, match=message) as raised:
        parse_sample(text, "twice01", "sample_0.metal")
    assert raised.value.outcome is outcome


@pytest.mark.parametrize(("ending", "outcome"), [("refused", "refused"), ("cut", "cut off")])
def test_the_end_of_an_answer_is_checked_before_its_text(ending: str, outcome: str) -> None:
    with pytest.raises(UnusableSample) as raised:
        parse_sample(samples.RIGHT, "twice01", "sample_0.metal", ending)
    assert raised.value.outcome.value == outcome


@pytest.mark.parametrize("data", [b"\xff\xfe", b"kernel\0", b"x" * 1_000_001])
def test_an_answer_that_is_not_text_is_reported(data: bytes) -> None:
    with pytest.raises(UnusableSample) as raised:
        decode_text(data)
    assert raised.value.outcome is GenerationOutcome.NO_TEXT


def test_an_unterminated_block_extends_to_the_end() -> None:
    assert find_code_blocks("a\n```\nb\n") == ["b\n"]
    assert extract_code("````\n```\nb\n```\n````\n") == "```\nb\n```\n"


def test_every_kind_of_finding_has_a_class() -> None:
    from metalbench.kernelbench.answers import classify_failure

    for kind in Kind:
        assert classify_failure(Failure("verify", str(kind), "")) is not GenerationOutcome.CORRECT


def test_features_that_metal_lacks_are_forbidden() -> None:
    from metalbench.kernelbench.answers import classify_failure
    from metalbench.msl.frontend.unsupported import make_host_code_error

    assert classify_failure(
        Failure("compile", "CompileError", str(make_host_code_error("a:1", "asm")))
    ) is (GenerationOutcome.FORBIDDEN)
