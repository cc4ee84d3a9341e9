"""Norm of a vector, then a matrix of 8-bit weights: what begins every block when decoding."""

from metalbench.formats.tasks import affine, rms_norm_matvec

rms_norm_qmv8 = rms_norm_matvec("rms_norm_qmv8", affine(8))
