// kernel: kv_append_quant4.metal q8
