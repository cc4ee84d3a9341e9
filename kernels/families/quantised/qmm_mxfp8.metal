// kernel: qmm_mxfp4.metal mxfp8
