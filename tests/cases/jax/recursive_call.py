"""Functions that call themselves or each other are refused, and never inlined for ever."""

from metalbench import hlo
from metalbench.errors import Unsupported

HEAD = (
    "(%a: tensor<4xf32>) -> tensor<4xf32> {{ %0 = call @{}(%a) : (tensor<4xf32>) -> tensor<4xf32>"
)
ONE = HEAD + " return %0 : tensor<4xf32> }}"


def function(name, callee):
    kind = "" if name == "main" else "private "
    return f"func.func {kind}@{name}" + ONE.format(callee)


for names in (["main"], ["main", "f"], ["main", "f", "g"]):
    text = "\n".join(map(function, names, [*names[1:], names[0]]))
    try:
        hlo.compile(text, device="cpu")
    except Unsupported as error:
        print(error)
