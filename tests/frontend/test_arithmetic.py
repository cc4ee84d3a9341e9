import pytest

from metalbench.msl.reading.arithmetic import evaluate


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
def test_integer_expressions(expression, value):
    assert evaluate(expression, {"N": "M", "M": "4", "defined(x)": "1"}) == value


@pytest.mark.parametrize(
    "expression", ["", "f(2)", "x", "1 / 0", "1.5", "0h", "1 <<", "[1]", "loop"]
)
def test_what_is_no_integer_constant_is_none(expression):
    assert evaluate(expression, {"loop": "loop"}) is None
