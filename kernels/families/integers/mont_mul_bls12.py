"""Montgomery products modulo the prime of BLS12-381's coordinates, 381 bits in twelve limbs."""

from metalbench.task.fields import BLS12_BASE, montgomery_products

mont_mul_bls12 = montgomery_products(
    "mont_mul_bls12", BLS12_BASE, limbs=12, flops=600, large=262144
)
