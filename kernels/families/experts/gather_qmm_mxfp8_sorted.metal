// kernel: gather_qmm_mxfp4_sorted.metal mxfp8
