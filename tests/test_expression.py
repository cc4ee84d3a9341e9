from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalbench.errors import DeclarationError
from metalbench.expression import Expression, Parser, parse
from metalbench.sandbox.encoding import decode, encode

VALUES = {"rows": 37, "cols": 1023, "TG": 128}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("rows", 37),
        ("rows * cols + 1", 37 * 1023 + 1),
        ("2 + 3 * 4 - 10 / 4", 12),
        ("(2 + 3) * 4 % 7", 6),
        ("10 - 4 - 3", 3),
        ("-7 / 2", -4),
        ("-(rows - 40)", 3),
        ("ceil_div(cols, TG)", 8),
        ("ceil_div(min(rows, 5), max(2, 1))", 3),
        (" rows*( cols )", 37 * 1023),
    ],
)
def test_value(text, value):
    assert parse(text).evaluate(VALUES) == value


def operations(children):
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    return st.tuples(children, operators, children).map(lambda each: f"({' '.join(each)})")


leaves = st.sampled_from(["rows", "cols", "TG"]) | st.integers(0, 99).map(str)


@given(st.recursive(leaves, operations, max_leaves=12))
def test_evaluate_agrees_with_python(text):
    try:
        expected = eval(text, {}, VALUES)
    except ZeroDivisionError:
        expected = None
    expression = parse(text.replace("//", "/"))
    if expected is None:
        with pytest.raises(DeclarationError, match="division by zero"):
            expression.evaluate(VALUES)
    else:
        assert expression.evaluate(VALUES) == expected


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(text):
    try:
        assert parse(text).text == text.strip()
    except DeclarationError as error:
        message = str(error)
        assert "expected" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a number, a name or '\\(', got the end of the line"),
        ("rows +", "column 7: expected a number, a name or '\\(', got the end"),
        ("(rows", "column 6: expected an operator or '\\)', got the end"),
        ("rows cols", "column 6: expected an operator or the end, got 'cols'"),
        ("rows ** 2", "column 7: expected a number, a name or '\\(', got '\\*'"),
        ("pow(2, 3)", "column 1: expected one of the functions ceil_div, min, max, got 'pow'"),
        ("min(2)", "column 6: expected ',' \\(min takes two arguments\\)"),
        ("rows; import os", "column 5: expected an operator or the end, got ';'"),
        ("(" * 100 + "1" + ")" * 100, "at most 64 nested"),
        ("+".join(["1"] * 400), "at most 500 words"),
        ("-" * 100 + "1", "at most 64 nested"),
        ("(" * 5000, r"^'\({100}... \(5000 characters\)', column \d+: expected at most 500 words"),
        ("1" * 20_000, "at most 16384 characters"),
        ("7" * 5000, r"column 1: expected a whole number less than 2\^63, got '7{20}\.\.\. \(5000"),
        ("9223372036854775808", r"expected a whole number less than 2\^63"),
        ("0x10 * rows", "column 1: expected a whole number, got '0x10'"),
        ("rows << 2", "column 6: expected an operator or the end, got '<<'"),
    ],
)
def test_errors_name_the_column(text, message):
    with pytest.raises(DeclarationError, match=message):
        parse(text)


def test_unknown_names_are_reported_with_a_suggestion():
    with pytest.raises(DeclarationError, match=r"unknown name 'row'; did you mean 'rows'?"):
        parse("row * 2").evaluate(VALUES)


def test_division_by_zero_names_the_divisor():
    with pytest.raises(
        DeclarationError, match=r"'4 / \(rows - rows\)': division by zero \(rows = 37\)"
    ):
        parse("4 / (rows - rows)").evaluate(VALUES)


@pytest.mark.parametrize("text", ["4 / 0", "4 % 0", "ceil_div(4, 0)", "4 / (1 - 1)"])
def test_evaluate_refuses_division_by_zero(text):
    with pytest.raises(DeclarationError, match=r"^'[^']*': division by zero$"):
        parse(text).evaluate({})


def test_evaluate_limits_intermediate_results():
    text = " * ".join(["rows"] * 13)
    with pytest.raises(
        DeclarationError,
        match=r"expected every intermediate result to be less than 2\^63 \(rows = 37\)",
    ):
        parse(f"{text} / rows").evaluate(VALUES)
    assert parse("9223372036854775807 - 1").evaluate({}) == 2**63 - 2


def test_evaluate_shortens_a_long_expression_in_its_message():
    text = "row" + " + 0" * 200
    with pytest.raises(DeclarationError, match=r"^'.{100}\.\.\. \(803 characters\)': unknown name"):
        parse(text).evaluate(VALUES)


def test_parse_reads_leading_zeros():
    assert parse("0" * 5000 + "12").evaluate({}) == 12


def test_parse_returns_an_expression_that_can_be_encoded():
    expression = parse("ceil_div(rows, 4)")
    assert decode(encode(expression, Expression), Expression) == expression


def test_names_lists_the_dependencies_of_a_value():
    assert parse("ceil_div(rows, TG) + 4").names == {"rows", "TG"}


def test_a_parser_reads_lists_in_place():
    parser = Parser("(rows, cols / 2) rest", "relu.metal:3", 12)
    assert [str(each) for each in parser.expressions()] == ["rows", "cols / 2"]
    with pytest.raises(DeclarationError, match=r"^relu\.metal:3:30: expected '=', got 'rest'"):
        parser.expect("=")
