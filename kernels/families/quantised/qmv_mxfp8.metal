// kernel: qmv_mxfp4.metal mxfp8
