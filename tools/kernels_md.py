"""Write KERNELS.md, the overview of the kernel library; `--check` says whether it is current.

python tools/kernels_md.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from metalbench.kernel.library import FAMILIES, Entry, Library
from metalbench.report import numbers

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "KERNELS.md"
SIZE = "seed"
INTRODUCTION = f"""\
# The kernel library

Written by `python tools/kernels_md.py` from the tasks and the headers of the kernels. Shapes,
floating-point operations and bytes (the least that must be moved, in float32) are those of the size
`{SIZE}`; `metalbench show NAME` tells the other sizes.

Each section begins with the speed that is expected on a Mac with an M2 or M4, as a multiple of
MLX's, and why: above 1 is faster than MLX. The table of tasks repeats the figure for each kernel.
These figures are expectations, not measurements. They follow
from reading both sources: the bytes that each moves, its instructions, and how many threadgroups
fit on a core. On an M5 every product is expected at 0.15 to 0.3 of MLX, which uses the tensor
operations of that chip; the library does not. `metalbench run --set SECTION` measures.
"""


class Expectation(NamedTuple):
    """The speed that is expected of some kernels on an M2 or M4, as a multiple of MLX's.

    `names` are names of kernels, or patterns of `fnmatch`.
    """

    kernels: str
    names: str
    speed: str
    why: str


# Of each section; each of its kernels is in one row.
EXPECTED: dict[str, tuple[Expectation, ...]] = {
    "common": (
        Expectation(
            "elementwise functions and losses",
            "abs clip elu exp gelu hard* hinge_loss huber_loss kl_div_loss leaky_relu log "
            "logsigmoid matrix_add matrix_scale mish prelu relu rsqrt selu sigmoid softplus "
            "softsign swish tanh where",
            "0.95-1.05",
            "Memory decides; work a thread is the same",
        ),
        Expectation(
            "rows of a table, outer product",
            "embedding outer_product",
            "0.95-1.1",
            "Memory decides; an index or a factor is read once for a row",
        ),
        Expectation(
            "softmax, norms of rows",
            "softmax layer_norm rms_norm l1_norm l2_norm",
            "0.95-1.1",
            "As many threads as MLX; rows to 8192 are read once",
        ),
        Expectation(
            "reductions of rows, argmax, logsumexp",
            "argmax logsumexp variance",
            "0.95-1.1",
            "Up to 1024 threads a row, one barrier",
        ),
        Expectation(
            "similarities of pairs of rows",
            "*_similarity triplet_margin_loss",
            "2-5",
            "One pass over both rows; MLX composes several",
        ),
        Expectation(
            "sums of products over whole arrays",
            "dot_product mse_loss frobenius_norm",
            "2-3",
            "Two dispatches, 16384 elements a threadgroup; MLX stores the products before it adds"
            " them",
        ),
        Expectation(
            "cumulative sums and products",
            "cumsum* cumprod masked_cumsum",
            "0.9-1.1",
            "Neighbouring lanes read neighbouring 16 bytes",
        ),
        Expectation("top_k", "top_k", "2-5", "16 rounds in registers; MLX sorts"),
        Expectation(
            "transpose_2d",
            "transpose_2d",
            "1.5-3",
            "Tiles in threadgroup memory; MLX's general copy strides",
        ),
        Expectation(
            "products",
            "batch_mm rect_mm sqr_mm matmul_sub_mul_relu",
            "0.8-0.95; 0.75-0.95 in half types",
            "MLX's tile, one buffer: 9 KiB, three threadgroups a core; bfloat16 is 8 % slower on "
            "M1, M2",
        ),
        Expectation("matvec", "matvec", "0.9-1.05", "Memory decides"),
        Expectation(
            "convolutions",
            "conv1d conv2d conv2d_* conv3d conv3d_*",
            "0.6-0.9; more where operations follow",
            "Each quad finds its tap anew; MLX specialises channels",
        ),
        Expectation(
            "transposed convolutions",
            "conv_transpose*",
            "1-2",
            "One product a phase; no products with zeros",
        ),
        Expectation(
            "depthwise_conv2d",
            "depthwise_conv2d",
            "0.9-1.2",
            "A column of the filter stays in registers",
        ),
        Expectation("pools", "avg_pool* max_pool*", "2-10", "One pass; MLX reduces a strided view"),
        Expectation("batch_norm", "batch_norm", "1.5-3", "One dispatch; MLX takes several passes"),
    ),
    "standard": (
        Expectation(
            "fused elementwise operations",
            "add_gelu add_relu add_silu add_swish bias_* dropout* gelu_residual mul_* residual_* "
            "silu_residual",
            "0.95-1.05; 1-3 without mx.compile",
            "Memory decides; mx.compile fuses them, too",
        ),
        Expectation(
            "rotary embeddings",
            "rope_embedding",
            "0.95-1.05",
            "Memory decides; sines are computed once for several rows",
        ),
        Expectation(
            "softmax, norms, losses of rows",
            "add_norm cross_entropy_loss fused_add_rms_norm group_norm instance_norm log_softmax*"
            " masked_softmax",
            "0.95-1.1",
            "As many threads as MLX, one pass",
        ),
        Expectation(
            "nll_loss", "nll_loss", "0.95-1.05", "One element of each row, a cache line each"
        ),
        Expectation(
            "dense layers",
            "fused_qkv_projection gelu_linear linear_bias matmul_gelu_softmax rms_norm_linear "
            "silu_linear swiglu",
            "0.75-0.95",
            "The epilogue saves a pass; the product is as in common",
        ),
        Expectation(
            "attention",
            "attention_scores llama_attention scaled_dot_product softmax_attention",
            "0.55-0.85",
            "Scores pass through threadgroup memory; MLX keeps them in registers",
        ),
    ),
    "full": (
        Expectation(
            "all", "*", "2-5", "Three to five dispatches, where MLX has 15 to 25; sizes are small"
        ),
    ),
    "elementwise": (
        Expectation(
            "functions of elements, gates",
            "arc* cos divide erf* expm1 floor *gate gelu_tanh log1p log2 logaddexp maximum power "
            "quick_gelu reciprocal relu_squared remainder round sign sin sinh softcap sqrt square"
            " clipped_swiglu",
            "0.95-1.05",
            "Memory decides",
        ),
        Expectation(
            "permute_heads, repeat_heads",
            "permute_heads repeat_heads",
            "1.5-3",
            "Whole cache lines; MLX's general copy strides",
        ),
        Expectation(
            "concat_columns, pad_columns",
            "concat_columns pad_columns",
            "1.0-1.5",
            "Each element is written once",
        ),
    ),
    "reduction": (
        Expectation(
            "reductions of rows",
            "argmin max_rows min_rows prod_rows sum_rows",
            "0.95-1.1",
            "Up to 1024 threads a row, one barrier",
        ),
        Expectation("sum_all", "sum_all", "1.0", "Two dispatches, 16384 elements a threadgroup"),
        Expectation(
            "reductions of columns, segment_sum",
            "*_middle_axis column_sum segment_sum",
            "1.0-1.5",
            "Strips of whole cache lines",
        ),
        Expectation(
            "running sums and extremes",
            "cummax cummin cumsum_columns logcumsumexp",
            "0.9-1.1",
            "As many threads as MLX, one barrier a block",
        ),
        Expectation(
            "sorts of long rows",
            "sort_long* argsort_long*",
            "1.5-3",
            "Four passes, two of half types; MLX merges blocks of 4096 in a pass for each doubling",
        ),
        Expectation(
            "histogram_bins",
            "histogram_bins",
            "5-20",
            "Counts in threadgroup memory; MLX has an atomic of device memory for each element",
        ),
        Expectation(
            "top_k_long",
            "top_k_long",
            "3-8",
            "Six reads of the row, and a sort of what is found; MLX sorts the row",
        ),
        Expectation(
            "cumsum_long",
            "cumsum_long",
            "3-10",
            "All cores have blocks of a row, which is read twice; MLX has one threadgroup a row",
        ),
        Expectation(
            "segmented sorts",
            "segmented_sort*",
            "1.5-3",
            "Six passes; MLX has two sorts with indices, a search, and two gathers",
        ),
        Expectation(
            "unique",
            "unique*",
            "2-4",
            "The same sort, then four passes; MLX sorts, and scatters with atomics",
        ),
        Expectation(
            "sort_rows, argsort_rows",
            "sort_rows argsort_rows",
            "0.4-0.7",
            "Bitonic, memory follows the row; MLX merges",
        ),
        Expectation("median_rows", "median_rows", "2-5", "Counts by bits; MLX sorts"),
        Expectation(
            "histogram",
            "histogram",
            "2-10",
            "Counts in threadgroup memory; MLX's atomics of a bin meet in device memory",
        ),
        Expectation("searchsorted", "searchsorted", "0.9-1.1", "The same search"),
    ),
    "norm": (
        Expectation(
            "norms",
            "adain1d *rms_norm layer_norm_affine qk_norm rms_norm_residual rms_norm_weight",
            "0.95-1.1",
            "As many threads as MLX; rows to 8192 are read once",
        ),
        Expectation(
            "gradients",
            "*_gradient",
            "1.0-1.5",
            "MLX writes the gradient of the weights for each row first",
        ),
    ),
    "rope": (
        Expectation(
            "rope_*",
            "rope_*",
            "0.95-1.05",
            "Memory decides; sines are computed once for several heads",
        ),
        Expectation(
            "rms_norm_rope", "rms_norm_rope", "1.2-1.8", "One pass, where MLX stores the norm first"
        ),
    ),
    "gemm": (
        Expectation("addmm, linear_xwt", "addmm linear_xwt", "0.75-0.95", "As products of common"),
        Expectation(
            "splitk_mm, segmented_mm, block_masked_mm",
            "splitk_mm segmented_mm block_masked_mm",
            "0.7-1.0",
            "Sources load one quad at a time, not adjacent ones",
        ),
        Expectation("gemv_t", "gemv_t", "0.7-1.0", "Strips of columns"),
        Expectation("gemv_masked", "gemv_masked", "0.9-1.05", "Memory decides"),
    ),
    "quantised": (
        Expectation(
            "qmv with 4, 5, 6, 8 bits, mxfp, nvfp4",
            "qmv4* qmv5 qmv6 qmv8* qmv_mxfp? qmv_nvfp4",
            "0.85-1.0",
            "Memory decides; MLX's shape, half of its operations a weight",
        ),
        Expectation(
            "qmv with GGUF's blocks",
            "qmv_q?_? qmv_iq4_??",
            "4-8",
            "Codes are read once; MLX writes the weights as floats first",
        ),
        Expectation(
            "qmv with 2, 3 bits", "qmv2 qmv3", "0.8-1.1", "Arithmetic decides; half of MLX's"
        ),
        Expectation("rms_norm_qmv", "rms_norm_qmv*", "0.95-1.15", "Saves a dispatch"),
        Expectation(
            "qmm for 2 to 16 rows of GGUF's blocks",
            "qmm_q?_?_few qmm_iq4_??_few",
            "2-6",
            "Codes are read once; MLX writes the weights as floats first",
        ),
        Expectation(
            "qmm for 2 to 16 rows",
            "qmm?_few qmm_mxfp?_few qmm_nvfp4_few",
            "0.9-1.5",
            "Memory decides; MLX multiplies a matrix with each row, or fills tiles of 32",
        ),
        Expectation(
            "qmm",
            "qmm? qmm_n? qmm_mxfp? qmm_nvfp4",
            "0.5-0.7",
            "A scale is loaded for every four codes, in MLX once a group",
        ),
        Expectation(
            "products of GGUF's blocks",
            "qmm_q?_? qmm_iq4_??",
            "0.7-1.2",
            "MLX writes the weights as floats first, and multiplies these faster",
        ),
        Expectation(
            "quantize, dequantize, embeddings",
            "quantize_* dequantize_affine? dequantize_mxfp? dequantize_nvfp4 quantized_*",
            "0.85-1.0",
            "Memory decides",
        ),
        Expectation(
            "dequantize of GGUF's blocks",
            "dequantize_q?_? dequantize_iq4_??",
            "2-4",
            "One pass; MLX has several operations on arrays",
        ),
    ),
    "attention": (
        Expectation(
            "prefill",
            "sdpa_bidirectional sdpa_bool_mask sdpa_causal sdpa_prefix_block sdpa_sinks "
            "sdpa_varlen",
            "0.55-0.75 in half types; 0.7-0.85 in float32",
            "Each fragment of K and V feeds one product; scores pass through threadgroup memory",
        ),
        Expectation(
            "windows",
            "sdpa_window sdpa_window_sinks",
            "1-8",
            "Blocks that are not seen are skipped; MLX makes a mask",
        ),
        Expectation(
            "trees, ALiBi, relative positions",
            "sdpa_tree sdpa_alibi sdpa_bias_relpos",
            "0.8-1.5",
            "No mask in memory",
        ),
        Expectation("mla_prefill", "mla_prefill", "0.8-1.3", "One dispatch; MLX does not fuse it"),
        Expectation(
            "heads of 256 and 512 dims, soft-capping, mla_decode",
            "sdpa_causal256 sdpa_causal512 sdpa_softcap sdpa_softcap_window mla_decode",
            "1-3",
            "No matrix of scores; MLX composes products and a softmax",
        ),
        Expectation(
            "prefill over quantised and paged caches",
            "qsdpa_prefix_block4 qsdpa_prefix_block8 sdpa_prefix_paged",
            "0.6-1.5",
            "No copy of the cache; MLX dequantises or gathers it first",
        ),
        Expectation(
            "sdpa_decode, of one threadgroup a head",
            "sdpa_decode sdpa_decode_sinks sdpa_decode_softcap* sdpa_decode_window*",
            "1.0-1.3",
            "0.5 on Max and Ultra: a threadgroup a head is too few",
        ),
        Expectation(
            "sdpa_decode_2pass, sdpa_decode_batched4",
            "sdpa_decode_2pass sdpa_decode_batched4",
            "1.0-1.3",
            "The cache is read once for all heads that share it",
        ),
        Expectation("merge_partials", "merge_partials", "2-4", "One pass; MLX composes several"),
        Expectation(
            "decoding over quantised and paged caches",
            "qsdpa_decode* sdpa_decode_fp8 sdpa_decode_paged",
            "2-4",
            "Registers only; MLX dequantises first",
        ),
    ),
    "cache": (
        Expectation(
            "kv_append, kv_ring_update",
            "kv_append kv_append_fp8 kv_append_paged kv_append_quant* kv_ring_update",
            "1.0; more for few bits",
            "In place, as a donated slice update; MLX quantises in a separate pass",
        ),
        Expectation(
            "kv_step",
            "kv_step kv_step_paged kv_step_quant*",
            "1.2-3",
            "Rows behind the position are not read; MLX masks them",
        ),
        Expectation(
            "kv_dequant, kv_gather_pages",
            "kv_dequant* kv_gather_pages",
            "0.85-1.0",
            "Memory decides",
        ),
    ),
    "experts": (
        Expectation(
            "gather_mv, gather_qmv, moe_down_combine",
            "gather_mv gather_qmv* moe_down_combine",
            "0.9-1.0",
            "A SIMD-group a row",
        ),
        Expectation("routers", "moe_router*", "2-5", "The best of each lane; MLX sorts"),
        Expectation(
            "moe_combine, moe_permute",
            "moe_combine moe_permute",
            "1.0-2.0",
            "One pass over the rows; MLX gathers, then sums",
        ),
        Expectation(
            "gather_mm_sorted, moe_swiglu",
            "gather_mm_sorted moe_swiglu",
            "0.7-0.95",
            "The product is as in common; experts have separate tiles",
        ),
        Expectation(
            "gather_qmm*",
            "gather_qmm*",
            "0.75-0.95",
            "As quantised products; experts have separate tiles",
        ),
    ),
    "recurrent": (
        Expectation("gated_delta_step", "gated_delta_step", "0.9-1.1", "MLX has the same kernel"),
        Expectation(
            "other steps",
            "conv1d_causal_step ssm_step delta_replay",
            "1.5-4",
            "One pass; MLX composes several",
        ),
        Expectation(
            "cells",
            "gru_cell lstm_cell",
            "1-2",
            "One product with the gates in its epilogue; MLX has two products and several passes",
        ),
        Expectation(
            "gated_delta, gated_delta_vector",
            "gated_delta gated_delta_vector",
            "1.0",
            "A row of the state a SIMD-group, as in MLX",
        ),
        Expectation(
            "scans of states",
            "mamba_scan rg_lru wkv7",
            "10-100",
            "One dispatch; MLX launches several for each token",
        ),
        Expectation(
            "scans of decaying states",
            "gla ssm_scan",
            "0.5-2",
            "A row of the state a SIMD-group; MLX has products, quadratic in the tokens",
        ),
        Expectation(
            "gated_delta_chunked", "gated_delta_chunked", "1.5-3", "mlx-lm has no version in chunks"
        ),
        Expectation(
            "conv1d_causal_silu",
            "conv1d_causal_silu",
            "1-2",
            "Each input is read once; MLX convolves, then applies silu",
        ),
    ),
    "transform": (
        Expectation(
            "Fourier transforms",
            "fft2 fft_1024 fft_256 fft_480 ifft_1024",
            "0.6-0.8",
            "Two buffers and roots in threadgroup memory",
        ),
        Expectation(
            "fft_any",
            "fft_any",
            "0.6-1",
            "Bluestein's method, as MLX's for lengths with large factors",
        ),
        Expectation(
            "rfft_1024, irfft_1024",
            "rfft_1024 irfft_1024",
            "0.8-1.2",
            "Half as many complex numbers as in fft_1024; MLX transforms two rows as one",
        ),
        Expectation("fft_conv", "fft_conv", "1.5-2.5", "One dispatch; MLX composes three"),
        Expectation("Hadamard transforms", "hadamard_*", "0.9-1.2", "Shuffles"),
    ),
    "random": (
        Expectation(
            "random bits and uniform numbers",
            "threefry_bits random_uniform",
            "0.9",
            "The same generator",
        ),
        Expectation(
            "normal and Gumbel's numbers, samples",
            "random_normal random_gumbel gumbel_argmax",
            "1.2-2",
            "No pass between the bits and the numbers",
        ),
        Expectation(
            "masks of sampling",
            "min_p_mask top_k_mask top_p_mask",
            "1-2",
            "Up to 1024 threads a row; no sort",
        ),
        Expectation("repetition_penalty", "repetition_penalty", "1-2", "One pass over the row"),
        Expectation(
            "samplers in one dispatch",
            "sample_*",
            "5-20",
            "Two reads of the logits; MLX sorts them and makes five arrays of their size",
        ),
        Expectation(
            "speculative_verify, speculative_greedy",
            "speculative_*",
            "1-3",
            "Probabilities are not stored",
        ),
    ),
    "convolution": (
        Expectation(
            "implicit products",
            "conv1d_dilated conv1d_strided conv2d_grouped conv2d_strided_dilated",
            "0.6-0.9",
            "Each quad finds its tap anew; MLX specialises channels",
        ),
        Expectation("conv2d_1x1", "conv2d_1x1", "0.8-0.95", "A plain product"),
        Expectation(
            "conv1d_transpose",
            "conv1d_transpose",
            "1-2",
            "One product a phase; no products with zeros",
        ),
        Expectation(
            "winograd_3x3",
            "winograd_3x3",
            "0.5-0.7",
            "MLX's tile has 5.1 times fewer products, this one 2.25",
        ),
        Expectation(
            "depthwise_strided",
            "depthwise_strided",
            "0.9-1.2",
            "A column of the filter stays in registers",
        ),
        Expectation(
            "im2col", "im2col", "1-1.5", "Four elements a thread; MLX copies a strided view"
        ),
        Expectation(
            "col2im", "col2im", "3-8", "Each pixel is written once; MLX adds nine padded arrays"
        ),
    ),
    "vision": (
        Expectation("patch_embed", "patch_embed", "0.6-0.9", "An implicit product"),
        Expectation(
            "pixels", "image_normalize patchify pixel_shuffle", "0.95-1.05", "Memory decides"
        ),
        Expectation(
            "bilinear_resize",
            "bilinear_resize",
            "3-8",
            "One pass; MLX takes two neighbours along each axis in separate passes",
        ),
    ),
    "audio": (
        Expectation(
            "log_mel, stft_power",
            "log_mel stft_power",
            "1.5-2.5",
            "Fused, two real transforms in one; MLX composes",
        ),
        Expectation(
            "mel_filterbank",
            "mel_filterbank",
            "0.9-1.2",
            "A product with the logarithm in its epilogue",
        ),
        Expectation("window_frames", "window_frames", "0.95-1.05", "Memory decides"),
    ),
    "indexing": (
        Expectation(
            "scatter_add",
            "scatter_add",
            "0.8",
            "Fixed order of additions; MLX's float atomics have none",
        ),
        Expectation(
            "masked_scatter",
            "masked_scatter",
            "1.5-3",
            "In place; MLX gathers and selects whole arrays",
        ),
        Expectation(
            "rows by signed indices",
            "take_rows_*",
            "1-2",
            "The mode is part of the gather; MLX changes the indices first",
        ),
        Expectation(
            "scatter_max, scatter_min",
            "scatter_max scatter_min",
            "0.7-1",
            "Atomics of integers, and two passes that convert; MLX tries until it succeeds",
        ),
        Expectation(
            "put_along_axis, take_along_axis",
            "put_along_axis take_along_axis",
            "0.95-1.05",
            "Memory decides",
        ),
    ),
    "integers": (
        Expectation(
            "hash functions",
            "blake3 keccak_256 merkle_root sha256 sha256_ragged sha3_256",
            "5-30",
            "A thread a message or chunk; the reference is one core, with instructions for SHA-256",
        ),
        Expectation(
            "numbers of some hundred bits",
            "bigint_mul field_inverse mont_mul mont_mul_bls12 msm_buckets",
            "100-1000",
            "Limbs in registers; MLX has no integers of more than 64 bits, Python is the reference",
        ),
        Expectation(
            "number-theoretic transforms",
            "intt_goldilocks ntt_babybear ntt_goldilocks",
            "20-60",
            "Two passes over memory; MLX has some thirty operations for each level",
        ),
    ),
    "science": (
        Expectation(
            "heat_2d, heat_3d, wave_2d",
            "heat_* wave_2d",
            "5-20",
            "Several steps for each pass over memory; MLX has several passes for each step",
        ),
        Expectation(
            "n_body",
            "n_body",
            "10-30",
            "Pairs are never stored; MLX stores the differences of all pairs",
        ),
        Expectation(
            "lattice_boltzmann, ising_2d",
            "lattice_boltzmann ising_2d",
            "5-20",
            "One pass a step; MLX rolls each population or neighbour",
        ),
        Expectation(
            "sparse products",
            "csr_* ell_spmv",
            "2-5",
            "Sums in registers; MLX stores the terms and adds them by atomics",
        ),
        Expectation(
            "tridiagonal systems",
            "tridiagonal_*",
            "5-20",
            "One pass; MLX has ten passes for each step of the reduction",
        ),
        Expectation(
            "adi_2d",
            "adi_2d",
            "5-20",
            "Two passes; MLX has ten passes for each step of a reduction",
        ),
        Expectation(
            "poisson_multigrid",
            "poisson_multigrid",
            "5-15",
            "Seven dispatches; MLX has ten passes for each sweep",
        ),
        Expectation(
            "fft_conv_2d",
            "fft_conv_2d",
            "1.5-2.5",
            "Two images as one, and no pass between the two transforms of columns",
        ),
        Expectation(
            "lennard_jones",
            "lennard_jones",
            "50-1000",
            "27 cells a particle; MLX computes all pairs",
        ),
        Expectation(
            "hmc_leapfrog",
            "hmc_leapfrog",
            "1-3",
            "State in registers; MLX stores the logits of all points, and multiplies by matrices",
        ),
    ),
    "types": (
        Expectation(
            "whole numbers, truth values and complex numbers, elementwise",
            "bitwise_* *_shift floor_divide_int32 remainder_int32 multiply_int64 "
            "add_saturated_uint8 maximum_int16 population_count leading_zeros less "
            "less_equal equal not_equal isnan isinf isfinite logical_* complex_*",
            "0.95-2",
            "Memory decides; MLX composes some of them of several operations",
        ),
        Expectation(
            "rows of whole numbers and truth values",
            "*_rows_int32 count_rows all_rows any_rows",
            "0.9-1.1",
            "One threadgroup a row, one barrier",
        ),
        Expectation(
            "bytes for products and of images",
            "quantize_rows_int8 matmul_int8 normalize_image_uint8",
            "1-4",
            "One dispatch; MLX has no product of bytes, and composes the others",
        ),
        Expectation(
            "strided views",
            "*_strided add_transposed",
            "1-2",
            "No copy; MLX copies a view where its kernel needs contiguous rows",
        ),
    ),
    "linalg": (
        Expectation(
            "factors and solutions of many matrices",
            "cholesky lu qr small_solve triangular_solve",
            "2-20",
            "A threadgroup a matrix; MLX has LAPACK on the processor, one matrix after the other",
        ),
    ),
    "training": (
        Expectation(
            "steps of optimisers, gradients of gates",
            "adamw_step lion_step swiglu_gradient",
            "0.95-1.05",
            "Memory decides; MLX compiles one kernel of it",
        ),
        Expectation(
            "cross_entropy_gradient",
            "cross_entropy_gradient",
            "1.5-2.5",
            "One pass over the logits; MLX stores the probabilities",
        ),
        Expectation(
            "attention with log-sum-exp",
            "sdpa_bidirectional_lse sdpa_causal_lse",
            "1.5-3",
            "MLX has no such operation, and stores all scores for the second result",
        ),
        Expectation(
            "gradients of attention",
            "sdpa_bidirectional_gradient sdpa_causal_gradient",
            "1.0-2.5",
            "MLX has no fused gradient: it stores scores and weights, and multiplies blocks that "
            "a causal mask hides",
        ),
        Expectation(
            "rope_half_gradient", "rope_half_gradient", "0.9-1.1", "MLX has a kernel for it, too"
        ),
        Expectation(
            "embedding_gradient",
            "embedding_gradient",
            "0.5-1.5",
            "MLX scatters with atomics; here each sum has one order",
        ),
        Expectation(
            "gradients of convolutions",
            "conv2d_input_gradient conv2d_weight_gradient conv2d_strided_input_gradient"
            " conv2d_strided_weight_gradient",
            "0.7-1.2",
            "As convolutions of common; of weights, the depth is cut into parts",
        ),
        Expectation(
            "linear cross entropy",
            "linear_cross_entropy linear_cross_entropy_gradient",
            "0.6-1.0",
            "Logits are computed again to save their memory: five products instead of three",
        ),
        Expectation(
            "muon_step", "muon_step", "0.7-0.95", "17 dispatches, 15 of them products of float"
        ),
    ),
}
SETS = {
    "common": "Single operations, and the fusions that every network is made of.",
    "standard": "What transformers are built from.",
    "full": "Whole models and blocks.",
}
FAMILIES_INTRODUCTION = """\
# Families

What language models and their like live on, and scientific computing, by family. They run when
they are named: `metalbench run --set attention`, `--set families`, or `--all`. A family has tasks
of the sets above as well, which are named here and not repeated.
"""


def overview(library: Library) -> str:
    """Return the text of KERNELS.md."""
    parts = [INTRODUCTION]
    for name, entries in groupby(library, lambda entry: entry.set):
        tasks = list(entries)
        count = numbers.count(len(tasks), "task")
        lines = [f"## {name}", "", f"{SETS[name]} {count}.", "", *_expectations(name)]
        parts.append("\n".join([*lines, *_table(tasks), ""]))
    parts.append(FAMILIES_INTRODUCTION)
    parts += [_family(library, family) for family in FAMILIES]
    return "\n".join(parts)


def _family(library: Library, family: str) -> str:
    entries = [library.entry(name) for name in library.names(family)]
    own = [each for each in entries if each.set == family]
    others = [f"[{e.name}](kernels/{e.set}/{e.name}.metal)" for e in entries if e.set != family]
    name = family.rpartition("/")[2]
    lines = [f"## {name}", "", f"{numbers.count(len(own), 'task')} declared here."]
    if others:
        lines += ["", f"Of other sets: {', '.join(others)}."]
    lines += ["", *_expectations(name)]
    if own:
        lines += [*_table(own), ""]
    return "\n".join(lines)


def _expectations(section: str) -> Iterator[str]:
    yield "| kernels | expected speed, MLX = 1 | why |"
    yield "|---|---|---|"
    for row in EXPECTED[section]:
        yield f"| {row.kernels} | {row.speed} | {row.why} |"
    yield ""


def find_expectation(section: str, name: str) -> Expectation:
    """Return the row of a kernel. Raise ValueError unless exactly one names it."""
    rows = [
        row
        for row in EXPECTED[section]
        if any(fnmatchcase(name, pattern) for pattern in row.names.split())
    ]
    if len(rows) != 1:
        found = ", ".join(row.kernels for row in rows) or "none"
        raise ValueError(f"{section}: expected one row of EXPECTED with {name}, got {found}")
    return rows[0]


def _table(entries: Sequence[Entry]) -> Iterator[str]:
    yield "| task | what | technique | MLX = 1, expected | types | shapes | operations | bytes |"
    yield "|---|---|---|---|---|---|---|---|"
    first_tasks: dict[Path, str] = {}
    for entry in entries:
        shown = first_tasks.setdefault(entry.kernel().path, entry.name)
        yield "| " + " | ".join(_row(entry, shown)) + " |"


def _row(entry: Entry, shown: str) -> Iterator[str]:
    """Yield the cells of a task, whose kernel is described where the task `shown` is."""
    task, path = entry.task, entry.kernel_path()
    kernel = entry.kernel()
    variant = entry.variant_path
    tensors = f", with [tensors](kernels/{entry.set}/{variant.name})" if variant else ""
    yield f"[{entry.name}](kernels/{entry.set}/{path.name}){tensors}"
    yield _cell(entry.description)
    technique = kernel.description.partition(". ")[0]
    yield _cell(technique) if shown == entry.name else f"As {shown}"
    yield find_expectation(entry.set.rpartition("/")[2], entry.name).speed
    yield ", ".join(kernel.dtypes)
    yield _shapes(entry)
    yield numbers.quantity(task.flops(SIZE), "FLOP") if task.flops(SIZE) else "-"
    yield numbers.size(task.bytes(SIZE, "float32"))


def _shapes(entry: Entry) -> str:
    values = entry.task.values(SIZE)
    sides = (
        ", ".join("x".join(map(str, each.shape_at(values))) or "1" for each in side.values())
        for side in (entry.task.inputs, entry.task.outputs)
    )
    return " -> ".join(sides)


def _cell(text: str) -> str:
    return text.rstrip(".").replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write the file, or with `--check` compare."""
    text = overview(Library(root=ROOT / "kernels"))
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    current = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
    if not current:
        print(f"{TARGET.name} is not current: run `python tools/kernels_md.py`", file=sys.stderr)
    return int(not current)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
