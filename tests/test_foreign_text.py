"""Foreign text is harmless in every medium, and still says what it said."""

from __future__ import annotations

import csv
import html
import io
from xml.etree import ElementTree

import pytest
from hostile_text import ATTACKS, FORMULAS, HOSTILE, assert_harmless

from metalbench import safe_text

EVERY = pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)


@EVERY
@pytest.mark.parametrize(
    "sanitised",
    [
        safe_text.terminal_text,
        safe_text.markdown_text,
        safe_text.markdown_cell,
        safe_text.markdown_code,
        safe_text.markdown_block,
        safe_text.xml_text,
        safe_text.html_text,
        safe_text.csv_cell,
    ],
)
def test_every_medium_is_harmless(sanitised, text):
    assert_harmless(sanitised(text))
    assert_harmless(sanitised(f"plain {text} plain"))


@EVERY
def test_terminal_text_does_not_change_twice(text):
    once = safe_text.terminal_text(text)
    assert safe_text.terminal_text(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "[softmax] y[3, 7]: expected 0.5, got nan",
        "a.metal:7:9: error: 'tid'\n  x[tid] = 1;\n\t^",
        "1.08x [1.05, 1.11] FASTER",
        "  x = ::metal::sin(y);",
        "naïve π ≤ 3 — 数 🙂",
    ],
)
def test_ordinary_text_stays(text):
    assert safe_text.terminal_text(text) == text
    assert html.unescape(safe_text.html_text(text)) == text


def test_terminal_text_escapes_control_characters_visibly():
    shown = safe_text.terminal_text("\x1b[31m\x9b\u202e\U000e0041")
    assert shown == "\\x1b[31m\\x9b\\u202e\\U000e0041"


def test_source_text_keeps_a_line_of_cpp_but_on_github(monkeypatch):
    line = "  ::metal::sin(x); // \x1b[31m"
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert safe_text.source_text(line) == "  ::metal::sin(x); // \\x1b[31m"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert_harmless(safe_text.source_text(line))


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_cell_never_begins_a_formula(text):
    shown = safe_text.csv_cell(text)
    assert isinstance(shown, str)
    assert shown[0] in "'\\"


@pytest.mark.parametrize("value", [None, 1, -2.5, "-1.5", "+2e-9", "relu", "a = b", ""])
def test_csv_cell_keeps_values_that_are_not_formulas(value):
    assert safe_text.csv_cell(value) == value


def test_csv_of_hostile_cells_has_as_many_rows_and_cells():
    from metalbench.report.export import write_csv

    rows = [{"a": text, "b": f"x{text}"} for text in (*FORMULAS, *ATTACKS.values(), HOSTILE)]
    written = write_csv(("a", "b"), rows)
    assert_harmless(written)
    read = list(csv.reader(io.StringIO(written)))
    assert len(read) == 1 + len(rows)
    assert {len(each) for each in read} == {2}
    assert not any(cell.lstrip()[:1] in "=+-@" for each in read for cell in each if cell.strip())


@EVERY
def test_markdown_cell_stays_within_its_cell_and_starts_no_markup(text):
    shown = safe_text.markdown_cell(text)
    assert "\n" not in shown
    unescaped = shown.replace("\\\\", "")
    for mark in ("|", "`", "*", "~", "$"):
        assert unescaped.count(mark) == unescaped.count(f"\\{mark}")
    assert "<" not in shown
    assert "](" not in shown
    assert "://" not in shown
    assert "@everyone" not in shown


@pytest.mark.parametrize(
    "text", ["# a", "> b", "- c", "+ d", "1. e", "  12) f", "=== g", "[x]: http://y"]
)
def test_markdown_text_begins_no_block(text):
    start = safe_text.markdown_text(text).lstrip()
    assert start[0] == "\\" or (start[0].isdigit() and "\\" in start[:4])


@pytest.mark.parametrize("text", ["a", "`", "a ``` b", "````\nevil\n````", "~~~", ""])
def test_markdown_block_cannot_be_ended_from_within(text):
    first, *inside, last = safe_text.markdown_block(text).split("\n")
    assert first == f"{last}text"
    assert not any(line.strip().startswith(last) for line in inside)


@EVERY
def test_github_text_is_one_line_and_does_not_decode_to_another_command(text):
    for escaped in (safe_text.github_message(text), safe_text.github_property(text)):
        assert "\n" not in escaped
        assert "\r" not in escaped
        decoded = escaped.replace("%0A", "\n").replace("%0D", "\r")
        decoded = decoded.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        assert decoded == safe_text.file_text(text)
    assert ":" not in safe_text.github_property(text)
    assert "," not in safe_text.github_property(text)


@EVERY
def test_xml_can_be_read_again(text):
    element = ElementTree.Element("e", {"a": safe_text.xml_text(text)})
    element.text = safe_text.xml_text(text)
    again = ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode"))
    assert again.text == safe_text.xml_text(text)


def test_sarif_text_has_no_link():
    assert safe_text.sarif_text("[x](http://evil.example) y[3]") == (
        "[x\\](http://evil.example) y[3]"
    )


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("expected three words", 30, "expected three words"),
        ("expected three words", 20, "expected three words"),
        ("expected three words", 19, "expected three ..."),
        ("expected three words", 18, "expected three ..."),
        ("expected three words", 17, "expected ..."),
        ("  a first line\nand more", 30, "a first line"),
        ("x" * 30, 10, "xxxxxx ..."),
    ],
)
def test_cut_line_cuts_between_words(text: str, most: int, expected: str) -> None:
    assert safe_text.cut_line(text, most) == expected
    assert len(safe_text.cut_line(text, most)) <= most
