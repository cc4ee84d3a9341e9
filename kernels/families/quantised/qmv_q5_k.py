"""Matrix of weights in GGUF's q5_k times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_q5_k = matvec("qmv_q5_k", gguf("q5_k"))
