// kernel: kv_dequant4.metal q8
