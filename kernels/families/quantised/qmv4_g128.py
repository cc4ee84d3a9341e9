"""Matrix of 4-bit weights, groups of 128, times a vector."""

from metalbench.formats.tasks import affine, matvec

qmv4_g128 = matvec("qmv4_g128", affine(4, 128))
