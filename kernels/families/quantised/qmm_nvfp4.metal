// kernel: qmm_mxfp4.metal nvfp4
