"""Mathematical functions and functions of matrices become opaque calls of values."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.module import Module
from metalbench.msl.transforms.opaque_functions import make_functions_opaque, name_function

SIN = "_ZN5metal7precise3sinIffJEEET0_T_DpN2mb4noneIT1_E4typeE"
SINCOS = "_ZN5metal4fast6sincosIffEET0_T_RN2mb4sameIS1_E4typeE"
IR = f"""\
define linkonce_odr float @{SIN}(float noundef %a) {{
  %1 = fmul float %a, %a
  %2 = fadd float %1, %a
  ret float %2
}}

define linkonce_odr float @{SINCOS}(float noundef %a, ptr noundef %c) {{
  store float %a, ptr %c, align 4
  ret float %a
}}
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (SIN, "sin"),
        ("_ZN5metal3expIffJEEET0_T_DpN2mb4noneIT1_E4typeE", "exp"),
        ("_ZN5metal4fast4exp2IffJEEET0_T_DpN2mb4noneIT1_E4typeE", "exp2"),
        (SINCOS, ""),
        ("_ZN5metal5clampIfEET_S1_S1_S1_", ""),
        ("_ZN4user3sinEf", ""),
    ],
)
def test_name_function_knows_mathematical_functions_of_metal(symbol: str, name: str) -> None:
    assert name_function(symbol) == name


def test_make_functions_opaque_replaces_bodies_of_values_only() -> None:
    module = Module(IR)
    make_functions_opaque(module)
    module = Module(str(module))
    call, end = (each for _, each in module.function(SIN).instructions)
    assert call.opcode == "call"
    assert call.operands[0].text == "%a"
    assert end.operands[0].text == call.result
    assert call.globals == [f"@mb_opaque_sin.{SIN}"]
    assert module.declares(f"mb_opaque_sin.{SIN}")
    assert [each.opcode for _, each in module.function(SINCOS).instructions] == ["store", "ret"]


def test_make_functions_opaque_replaces_products_of_tensors() -> None:
    symbol = "_ZN2mbL20matrix_lanes_productINS_1XEEEvPfPKf"
    module = Module(f"""
define internal void @{symbol}(ptr %0, ptr %1, i32 %2) {{
  %4 = load float, ptr %1, align 4
  store float %4, ptr %0, align 4
  ret void
}}
""")
    make_functions_opaque(module)
    module = Module(str(module))
    call, end = (each for _, each in module.function(symbol).instructions)
    assert call.globals == [f"@mb_opaque_tensor_product.{symbol}"]
    assert [each.text for each in call.operands] == ["%0", "%1", "%2"]
    assert end.opcode == "ret"
    assert module.declares(f"mb_opaque_tensor_product.{symbol}")
