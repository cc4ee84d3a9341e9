"""Write code that checks the arguments of an exported kernel: in Python, C++ and Swift.

A check is a limit of a `// limits:` line, or the range of a whole number that the kernel takes.
Intermediate results that 64 bits do not hold, and divisions by zero, fail the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metalbench.errors import Unsupported
from metalbench.expression import Expression, Node
from metalbench.kernel.header import Kernel, Limit

# The largest size of 64 bits with a sign, as Swift's `Int` is.
MOST_SIZE = 2**63 - 1
# Functions of the generated code that evaluate the operators and functions of `SIZES`.
_FUNCTIONS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "remainder",
    "ceil_div": "divide_up",
    "min": "smaller",
    "max": "larger",
}
# Functions that others call.
_CALLED = {"remainder": ("divide",), "divide_up": ("divide", "subtract")}


@dataclass(frozen=True)
class Range:
    """The whole numbers that an argument of a kernel can be."""

    name: str
    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least} <= {self.name} <= {self.most}"

    def intersect(self, other: Range) -> Range:
        """Return the numbers of both ranges, which are of one name."""
        return Range(self.name, max(self.least, other.least), min(self.most, other.most))


def make_range(name: str, element: str) -> Range | None:
    """Return the range of a scalar argument of NumPy's type `element`; None for a float or bool."""
    kind = np.dtype(element)
    if kind.kind not in "iu":
        return None
    limits = np.iinfo(kind)
    return Range(name, int(limits.min), int(limits.max))


# Of an expression with the named sizes written out. Each named size may contain others twice.
_MOST_CHARACTERS = 4096


def write_out_limits(kernel: Kernel) -> tuple[Limit, ...]:
    """Return the limits of a kernel with the expressions of its named sizes in place of the names.

    Raise Unsupported for a limit that would be very long.
    """
    known: dict[str, Expression] = {}
    for each in kernel.named_sizes:
        known[each.name] = _write_out(each.value, known, kernel, each.line)
    return tuple(
        replace(
            each,
            left=_write_out(each.left, known, kernel, each.line),
            right=_write_out(each.right, known, kernel, each.line),
        )
        for each in kernel.limits
    )


def _write_out(
    expression: Expression, known: Mapping[str, Expression], kernel: Kernel, line: int
) -> Expression:
    names = [name for name in expression.root.names() if name in known]
    if not names:
        return expression
    if sum(len(known[name].text) for name in names) > _MOST_CHARACTERS:
        raise Unsupported(
            f"[{kernel.name}] {kernel.path.name}:{line}: with its named sizes written out, "
            f"{expression} has more than {_MOST_CHARACTERS} characters; use fewer of them"
        )

    def replace_names(node: Node) -> Node:
        if node.operands:
            return replace(node, operands=tuple(replace_names(each) for each in node.operands))
        return known[node.name].root if node.name in known else node

    text = re.sub(
        r"[A-Za-z_]\w*",
        lambda word: f"({known[word[0]].text.strip()})" if word[0] in known else word[0],
        expression.text,
    )
    return replace(expression, text=text, root=replace_names(expression.root))


def _names(limit: Limit) -> list[str]:
    """Return the names in a limit, in their order."""
    return list(dict.fromkeys([*limit.left.root.names(), *limit.right.root.names()]))


def _functions(limits: Sequence[Limit], written: Mapping[str, str]) -> str:
    """Return those definitions of `written` that the limits use, in its order."""
    used: set[str] = set()

    def visit(node: Node) -> None:
        if node.operands:
            name = _FUNCTIONS[node.name]
            used.update((name, *_CALLED.get(name, ())))
        for each in node.operands:
            visit(each)

    for limit in limits:
        visit(limit.left.root)
        visit(limit.right.root)
    return "".join(text for name, text in written.items() if name in used)


def write_python_checks(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the function `check_arguments`; empty if nothing is to be checked."""
    if not ranges and not limits:
        return ""
    names = _all_names(ranges, limits)
    checks = [(str(each), str(each), [each.name]) for each in ranges]
    checks += [
        (
            str(limit),
            f"{_python(limit.left)} {limit.relation} {_python(limit.right)}",
            _names(limit),
        )
        for limit in limits
    ]
    lines = "".join(
        f'    check("{expected}", lambda: {condition}, '
        f"{', '.join(f'{name}={name}' for name in used)})\n"
        for expected, condition, used in checks
    )
    return f'''\
def check_arguments({", ".join(names)}):
    """Raise ValueError for values that the kernel is not made for."""

    def check(expected, holds, /, **values):
        try:
            if holds():
                return
        except ZeroDivisionError:
            pass
        got = ", ".join(f"{{name}} = {{value}}" for name, value in values.items())
        raise ValueError(f"[{task}] {{', '.join(values)}}: expected {{expected}}, got {{got}}")

{lines}'''


def write_python_call(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the statement that calls `check_arguments`; empty if there is none."""
    names = _all_names(ranges, limits)
    return f"    check_arguments({', '.join(names)})\n" if names else ""


def _all_names(ranges: Sequence[Range], limits: Sequence[Limit]) -> list[str]:
    """Return the names that checks need: those of ranges, then the others of limits."""
    return list(
        dict.fromkeys(
            [*(each.name for each in ranges), *(n for each in limits for n in _names(each))]
        )
    )


def _python(expression: Expression) -> str:
    return expression.text.strip().replace("/", "//")


# C++: a number is a std::optional<int64_t>, which is empty where it has no value.

_CPP_BUILTIN = """\
  auto {name} = [](Number a, Number b) -> Number {{
    int64_t result = 0;
    if (!a || !b || __builtin_{builtin}_overflow(*a, *b, &result)) return std::nullopt;
    return result;
  }};
"""
_CPP_FUNCTIONS = {
    "add": _CPP_BUILTIN.format(name="add", builtin="add"),
    "subtract": _CPP_BUILTIN.format(name="subtract", builtin="sub"),
    "multiply": _CPP_BUILTIN.format(name="multiply", builtin="mul"),
    "divide": """\
  auto divide = [](Number a, Number b) -> Number {  // rounds down
    if (!a || !b || *b == 0 || (*a == INT64_MIN && *b == -1)) return std::nullopt;
    return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0));
  };
""",
    "remainder": """\
  auto remainder = [&](Number a, Number b) -> Number {  // of the quotient that is rounded down
    const Number quotient = divide(a, b);
    if (!quotient) return std::nullopt;
    return *a - *quotient * *b;
  };
""",
    "divide_up": """\
  auto divide_up = [&](Number a, Number b) -> Number {
    return subtract(0, divide(subtract(0, a), b));
  };
""",
    "smaller": """\
  auto smaller = [](Number a, Number b) -> Number {
    if (!a || !b) return std::nullopt;
    return std::min(*a, *b);
  };
""",
    "larger": """\
  auto larger = [](Number a, Number b) -> Number {
    if (!a || !b) return std::nullopt;
    return std::max(*a, *b);
  };
""",
}


def _calls(node: Node, number: str) -> str:
    """Return the calls that evaluate `node`; `number` formats a name as a number of the code."""
    if not node.operands:
        return number.format(node.name) if node.name else str(node.value)
    first, second = (_calls(each, number) for each in node.operands)
    return f"{_FUNCTIONS[node.name]}({first}, {second})"


def _upper_limits(ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges that can exclude an unsigned number."""
    return [each for each in ranges if each.most < MOST_SIZE]


def write_cpp_checks(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the function `check_TASK` of unsigned numbers; empty if nothing is to be checked.

    It returns the message of the first check that fails, or an empty string.
    """
    ranges = _upper_limits(ranges)
    names = _all_names(ranges, limits)
    if not names:
        return ""
    lines = [
        f"  if ({each.name} > {each.most}u) {{\n"
        f"    return {_cpp_message(task, str(each), [each.name])};\n  }}\n"
        for each in ranges
    ]
    for limit in limits:
        left = _calls(limit.left.root, "size({})")
        right = _calls(limit.right.root, "size({})")
        lines.append(
            f'  if (!holds({left}, "{limit.relation}", {right})) {{\n'
            f"    return {_cpp_message(task, str(limit), _names(limit))};\n  }}\n"
        )
    helpers = ""
    if limits:
        helpers = (
            """\
  // Empty where 64 bits do not hold the number, and after a division by zero.
  using Number = std::optional<int64_t>;
  auto size = [](NSUInteger n) -> Number {
    if (n > NSUInteger(INT64_MAX)) return std::nullopt;
    return int64_t(n);
  };
"""
            + _functions(limits, _CPP_FUNCTIONS)
            + """\
  auto holds = [](Number a, std::string_view relation, Number b) {
    return a && b && (*a == *b || (relation == "<=" && *a < *b));
  };
"""
        )
    parameters = ", ".join(f"NSUInteger {name}" for name in names)
    return f"""\
// Returns what is wrong with values that the kernel is not made for; an empty text for others.
inline std::string check_{task}({parameters}) {{
{helpers}{"".join(lines)}  return {{}};
}}
"""


def _cpp_message(task: str, expected: str, names: Iterable[str]) -> str:
    names = list(names)
    got = ' + ", '.join(f'{name} = " + std::to_string({name})' for name in names)
    return f'"[{task}] {", ".join(names)}: expected {expected}, got {got}'


def write_cpp_call(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the statements that call `check_TASK` and return its message as an NSError."""
    names = _all_names(_upper_limits(ranges), limits)
    if not names:
        return ""
    return f"""\
  const std::string fault = check_{task}({", ".join(names)});
  if (!fault.empty()) {{
    NSDictionary* about = @{{NSLocalizedDescriptionKey : @(fault.c_str())}};
    if (error != nullptr) *error = [NSError errorWithDomain:@"{task}" code:1 userInfo:about];
    return false;
  }}
"""


# Swift: a number is an Int?, which is nil where it has no value.

_SWIFT_CHECKED = """\
    func {name}(_ a: Int?, _ b: Int?) -> Int? {{
      guard let a = a, let b = b else {{ return nil }}
      let (result, overflows) = a.{call}
      return overflows ? nil : result
    }}
"""
_SWIFT_FUNCTIONS = {
    "add": _SWIFT_CHECKED.format(name="add", call="addingReportingOverflow(b)"),
    "subtract": _SWIFT_CHECKED.format(name="subtract", call="subtractingReportingOverflow(b)"),
    "multiply": _SWIFT_CHECKED.format(name="multiply", call="multipliedReportingOverflow(by: b)"),
    # The quotient is rounded down.
    "divide": """\
    func divide(_ a: Int?, _ b: Int?) -> Int? {
      guard let a = a, let b = b, b != 0, a != Int.min || b != -1 else { return nil }
      return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0)
    }
""",
    "remainder": """\
    func remainder(_ a: Int?, _ b: Int?) -> Int? {
      guard let a = a, let b = b, let quotient = divide(a, b) else { return nil }
      return a - quotient * b
    }
""",
    "divide_up": """\
    func divide_up(_ a: Int?, _ b: Int?) -> Int? { subtract(0, divide(subtract(0, a), b)) }
""",
    "smaller": """\
    func smaller(_ a: Int?, _ b: Int?) -> Int? {
      guard let a = a, let b = b else { return nil }
      return min(a, b)
    }
""",
    "larger": """\
    func larger(_ a: Int?, _ b: Int?) -> Int? {
      guard let a = a, let b = b else { return nil }
      return max(a, b)
    }
""",
}


def write_swift_checks(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the type `ArgumentError` and the function `check`; empty if nothing is to be checked.

    `check` throws an ArgumentError with the message of the first check that fails.
    """
    names = _all_names(ranges, limits)
    if not names:
        return ""
    lines = []
    for each in ranges:
        most = "Int.max" if each.most >= MOST_SIZE else each.most
        message = _swift_message(task, str(each), [each.name])
        lines.append(
            f"    guard {each.least} <= {each.name}, {each.name} <= {most} else {{\n"
            f"      throw ArgumentError({message})\n    }}\n"
        )
    for limit in limits:
        left, right = (_calls(side.root, "{}") for side in (limit.left, limit.right))
        message = _swift_message(task, str(limit), _names(limit))
        lines.append(
            f'    guard holds({left}, "{limit.relation}", {right}) else {{\n'
            f"      throw ArgumentError({message})\n    }}\n"
        )
    helpers = ""
    if limits:
        helpers = (
            "    // nil where 64 bits do not hold the number, and after a division by zero.\n"
            + _functions(limits, _SWIFT_FUNCTIONS)
            + """\
    func holds(_ a: Int?, _ relation: String, _ b: Int?) -> Bool {
      guard let a = a, let b = b else { return false }
      return a == b || (relation == "<=" && a < b)
    }
"""
        )
    parameters = ", ".join(f"{name}: Int" for name in names)
    return f"""\

  /// Says which values the kernel is not made for.
  struct ArgumentError: Error, CustomStringConvertible {{
    let description: String
    init(_ description: String) {{ self.description = description }}
  }}

  /// Throws an ArgumentError for values that the kernel is not made for.
  private static func check({parameters}) throws {{
{helpers}{"".join(lines)}  }}
"""


def _swift_message(task: str, expected: str, names: Iterable[str]) -> str:
    names = list(names)
    got = ", ".join(f"{name} = \\({name})" for name in names)
    return f'"[{task}] {", ".join(names)}: expected {expected}, got {got}"'


def write_swift_call(task: str, ranges: Sequence[Range], limits: Sequence[Limit]) -> str:
    """Return the statement that calls `check`; empty if there is none."""
    names = _all_names(ranges, limits)
    return (
        f"    try Self.check({', '.join(f'{name}: {name}' for name in names)})\n" if names else ""
    )
