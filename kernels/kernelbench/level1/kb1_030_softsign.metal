// kernel: ../../common/softsign.metal
