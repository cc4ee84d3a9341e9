"""Matrix of 4-bit weights, groups of 32, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv4_g32 = matvec("qmv4_g32", affine(4, 32))
