"""Matrix of 6-bit weights, groups of 64, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv6 = matvec("qmv6", affine(6))
