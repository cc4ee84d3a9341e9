// kernel: qmv_mxfp4.metal nvfp4
