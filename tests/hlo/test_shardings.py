"""Shardings have no effect on one device."""

import numpy as np

from metalbench import hlo

PROGRAM = """module {
  sdy.mesh @mesh = <["x"=1]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>,
                                            jax.buffer_donor = true})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %sum = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
        : tensor<4xf32>
    return %sum : tensor<4xf32>
  }
}"""


def test_meshes_and_their_uses_are_dropped():
    (found,) = hlo.compile(PROGRAM, device="cpu")(np.ones(4, np.float32))
    np.testing.assert_array_equal(found, np.full(4, 2))
