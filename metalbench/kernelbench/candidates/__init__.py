"""Candidates that are Python: they launch their kernels by `mx.fast.metal_kernel` themselves.

They run in a sealed process (`playing`), to which the judge (`player`, `candidate`) hands inputs
in shared memory; it is stopped whenever it has not been asked for anything.
"""
