"""Matrix of weights in GGUF's iq4_nl times a vector."""

from metalbench.formats.tasks import gguf, matvec

qmv_iq4_nl = matvec("qmv_iq4_nl", gguf("iq4_nl"))
