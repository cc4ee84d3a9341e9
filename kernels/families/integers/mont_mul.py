"""Montgomery products modulo the prime of BN254's scalars, 254 bits in eight limbs."""

from metalbench.task.fields import BN254_SCALAR, montgomery_products

mont_mul = montgomery_products("mont_mul", BN254_SCALAR, limbs=8, flops=272, large=1048576)
