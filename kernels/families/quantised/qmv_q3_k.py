"""Matrix of weights in GGUF's q3_k times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q3_k = matvec("qmv_q3_k", gguf("q3_k"))
