"""A loop that never ends: a time limit ends it, with the operation and its iterations."""

import numpy as np

from metalbench.errors import TimeLimitExceeded
from metalbench.hlo.runtime.compilation import compile_program

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%v = %x) : tensor<4xf32>
    cond { %p = stablehlo.constant dense<true> : tensor<i1>
           stablehlo.return %p : tensor<i1> }
    do { %a = stablehlo.add %v, %x : tensor<4xf32>
         stablehlo.return %a : tensor<4xf32> }
  return %r : tensor<4xf32>
}"""
try:
    compile_program(TEXT, device="cpu", run_limit=0.2)(np.ones(4, "f"))
except TimeLimitExceeded as error:
    print(error)
