// kernel: qmm_mxfp4_few.metal mxfp8
