import pytest

from metalbench.msl.frontend.constants import evaluate_expression


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3", 3),
        ("012", 10),
        ("0x10u", 16),
        ("2 * (N + 1) / 2", 5),
        ("1 << 4", 16),
        ("7 % 4", 3),
        ("N == 4 && !(N < 2)", 1),
        ("N != 4 || 0", 0),
        ("defined(x) + 1", 2),
        ("uint(8) - static_cast<int>(3)", 5),
    ],
)
def test_evaluate_expression_of_integers(expression, value):
    assert evaluate_expression(expression, {"N": "M", "M": "4", "defined(x)": "1"}) == value


@pytest.mark.parametrize(
    "expression", ["", "f(2)", "x", "1 / 0", "1.5", "0h", "1 <<", "[1]", "loop"]
)
def test_evaluate_expression_returns_none_for_other_expressions(expression):
    assert evaluate_expression(expression, {"loop": "loop"}) is None


TOWER = {"c0": "9"} | {f"c{i}": f"c{i - 1} * c{i - 1}" for i in range(1, 31)}


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "1 << 1000000000",
        "1 << -1",
        "1 >> -1",
        "(1 << 64) << 64",
        "c30",
        "c30 - c30",
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "1",
        "!" * 5000 + "1",
        " + ".join(["1"] * 100_000),
        "5" * 5000,
        "18446744073709551615 * 18446744073709551615",
        "f" * 1_000_000,
    ],
)
def test_evaluate_expression_returns_none_for_endless_expressions(expression):
    assert evaluate_expression(expression, TOWER) is None


def test_evaluate_expression_limits_steps_of_nested_names():
    same = {"c0": "1"} | {f"c{i}": f"c{i - 1} + c{i - 1} - c{i - 1}" for i in range(1, 31)}
    assert evaluate_expression("c30", same) is None
    assert evaluate_expression("c5", same) == 1
