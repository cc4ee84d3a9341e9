"""Matrix of 8-bit weights, groups of 32, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv8_g32 = matvec("qmv8_g32", affine(8, 32))
