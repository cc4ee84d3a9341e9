"""A failure's message has a bounded length, from any source."""

from dataclasses import replace

from metalbench.store.result import MOST_MESSAGE, Failure


def test_failure_cuts_a_long_message_in_the_middle() -> None:
    made = Failure("compile", "CRASH", f"begin{'x' * 10_000_000}end")
    assert len(made.message) < MOST_MESSAGE + 100
    assert made.message.startswith("beginxxx")
    assert made.message.endswith("xxxend")
    assert "9950008 characters left out" in made.message
    assert len(replace(made).message) <= len(made.message)


def test_failure_keeps_a_message_of_the_most_characters() -> None:
    assert Failure("compile", "CRASH", "x" * MOST_MESSAGE).message == "x" * MOST_MESSAGE
