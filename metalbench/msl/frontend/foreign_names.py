"""Names of CUDA, GLSL, HLSL, OpenCL and C that Metal does not have, with Metal's counterparts.

A hint follows the compiler's own message about an unknown name. Misspelt names of Metal need none:
clang finds the nearest declared name itself.

References
----------
Metal Shading Language Specification 3.2, chapter 6 (the standard library).
CUDA C++ Programming Guide, "C++ Language Extensions"; OpenGL Shading Language 4.60, chapter 8;
Microsoft's "Intrinsic Functions (HLSL)".
"""

from __future__ import annotations

import re

# Functions of floats that C declares a second time with the suffix `f`.
_MATH_FUNCTIONS = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh cospi exp exp10 exp2 fabs fdim
    floor fma fmax fmin fmod frexp ilogb isfinite isinf isnan ldexp log log10 log2 modf nextafter
    pow rint round rsqrt saturate sin sincos sinh sinpi sqrt tan tanh trunc
    """.split()  # noqa: SIM905
)
# Functions of fast arithmetic that CUDA names `__cosf`.
_FAST_FUNCTIONS = frozenset(
    {"cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "sincos", "tan"}
)
_RELAXED = "memory_order_relaxed"
_FETCH = "atomic_fetch_{}_explicit(p, value, memory_order_relaxed)"
_NONE = ""

# A counterpart is an expression or a type; it is empty where Metal has none.
_COUNTERPARTS = {
    # Mathematics of C, CUDA, GLSL, HLSL and OpenCL.
    **dict.fromkeys(("lerp", "Lerp"), "mix(a, b, t)"),
    "frac": "fract(x)",
    "mad": "fma(a, b, c)",
    "mod": "fmod(x, y), or x - y * floor(x / y) as in GLSL",
    **dict.fromkeys(("inversesqrt", "native_rsqrt", "half_rsqrt"), "rsqrt(x)"),
    **dict.fromkeys(("rcp", "native_recip", "half_recip"), "1.0f / x"),
    **dict.fromkeys(("sincospi", "sincospif"), "sinpi(x) and cospi(x)"),
    **dict.fromkeys(("hypot", "hypotf"), "length(float2(x, y))"),
    **dict.fromkeys(("cbrt", "cbrtf"), "sign(x) * pow(abs(x), 1.0f / 3.0f)"),
    **dict.fromkeys(("rcbrt", "rcbrtf"), "sign(x) * pow(abs(x), -1.0f / 3.0f)"),
    **dict.fromkeys(("nearbyint", "nearbyintf", "roundEven", "rintn"), "rint(x)"),
    **dict.fromkeys(("lrint", "lrintf", "llrint"), "int(rint(x))"),
    **dict.fromkeys(("lround", "lroundf", "llround"), "int(round(x))"),
    **dict.fromkeys(("remainder", "remainderf"), "x - y * rint(x / y)"),
    **dict.fromkeys(("scalbn", "scalbnf", "scalbln"), "ldexp(x, n)"),
    "radians": "x * (M_PI_F / 180.0f)",
    "degrees": "x * (180.0f / M_PI_F)",
    "fdividef": "a / b",
    "atan2pi": "atan2(y, x) / M_PI_F",
    "mul": "the operator `*`",
    "invSqrt": "rsqrt(x)",
    "sigmoid": "1.0f / (1.0f + exp(-x))",
    "relu": "max(x, 0.0f)",
    "sqr": "x * x",
    "matrixCompMult": _NONE,
    "inverse": _NONE,
    "maximum": "max(a, b)",
    "minimum": "min(a, b)",
    "nan": "NAN",
    **dict.fromkeys(("erf", "erff", "erfc", "erfcf", "erfinv", "erfinvf", "erfcinv"), _NONE),
    **dict.fromkeys(("tgamma", "tgammaf", "lgamma", "lgammaf"), _NONE),
    **dict.fromkeys(("expm1", "expm1f"), "exp(x) - 1.0f, which is inexact for small x"),
    **dict.fromkeys(("log1p", "log1pf"), "log(1.0f + x), which is inexact for small x"),
    # Bits.
    **dict.fromkeys(("__popc", "__popcll", "bitCount", "countbits"), "popcount(x)"),
    **dict.fromkeys(("__clz", "__clzll", "countl_zero"), "clz(x)"),
    **dict.fromkeys(("__ffs", "__ffsll", "findLSB", "firstbitlow"), "ctz(x)"),
    **dict.fromkeys(("findMSB", "firstbithigh"), "31 - clz(x)"),
    **dict.fromkeys(("__brev", "__brevll", "bitfieldReverse", "reversebits"), "reverse_bits(x)"),
    "bitfieldExtract": "extract_bits(x, offset, bits)",
    "bitfieldInsert": "insert_bits(base, insert, offset, bits)",
    "__mul24": "mul24(a, b)",
    "__umul24": "mul24(a, b)",
    "__mulhi": "mulhi(a, b)",
    "__umulhi": "mulhi(a, b)",
    "mul_hi": "mulhi(a, b)",
    "mad_hi": "madhi(a, b, c)",
    "add_sat": "addsat(a, b)",
    "sub_sat": "subsat(a, b)",
    "abs_diff": "absdiff(a, b)",
    # Bits of another type.
    **dict.fromkeys(
        ("__int_as_float", "__uint_as_float", "asfloat", "intBitsToFloat", "uintBitsToFloat"),
        "as_type<float>(x)",
    ),
    **dict.fromkeys(("__float_as_int", "asint", "floatBitsToInt"), "as_type<int>(x)"),
    **dict.fromkeys(("__float_as_uint", "asuint", "floatBitsToUint"), "as_type<uint>(x)"),
    **dict.fromkeys(("bit_cast", "bitcast", "as_float"), "as_type<T>(x)"),
    **dict.fromkeys(("__half2float", "half2float"), "float(x)"),
    **dict.fromkeys(("__float2half", "__float2half_rn", "float2half"), "half(x)"),
    **dict.fromkeys(("__bfloat162float", "bf16_to_float"), "float(x)"),
    "__float2bfloat16": "bfloat(x)",
    "packHalf2x16": "as_type<uint>(half2(x))",
    "unpackHalf2x16": "float2(as_type<half2>(x))",
    # Arithmetic with a given rounding.
    **dict.fromkeys(("__fsqrt_rn", "__sqrtf"), "precise::sqrt(x)"),
    **dict.fromkeys(("__frcp_rn", "__frcp_rz"), "1.0f / x"),
    **dict.fromkeys(("__fdividef", "__fdiv_rn"), "a / b"),
    **dict.fromkeys(("__fmaf_rn", "__fmaf_rz"), "fma(a, b, c)"),
    "__frsqrt_rn": "rsqrt(x)",
    "__saturatef": "saturate(x)",
    # Barriers and fences.
    **dict.fromkeys(
        ("__syncthreads", "syncthreads", "barrier", "GroupMemoryBarrierWithGroupSync"),
        "threadgroup_barrier(mem_flags::mem_threadgroup)",
    ),
    **dict.fromkeys(
        ("work_group_barrier", "workgroupBarrier"),
        "threadgroup_barrier(mem_flags::mem_threadgroup)",
    ),
    "__syncwarp": "simdgroup_barrier(mem_flags::mem_threadgroup)",
    "subgroupBarrier": "simdgroup_barrier(mem_flags::mem_threadgroup)",
    **dict.fromkeys(
        ("__threadfence", "memoryBarrier", "DeviceMemoryBarrier", "AllMemoryBarrier"),
        "threadgroup_barrier(mem_flags::mem_device), and atomic_thread_fence from metal3.2 on",
    ),
    "__threadfence_block": "threadgroup_barrier(mem_flags::mem_threadgroup)",
    # Atomic functions.
    **dict.fromkeys(("atomicAdd", "InterlockedAdd", "atomic_add"), _FETCH.format("add")),
    **dict.fromkeys(("atomicSub", "atomic_sub"), _FETCH.format("sub")),
    **dict.fromkeys(("atomicMin", "InterlockedMin"), _FETCH.format("min")),
    **dict.fromkeys(("atomicMax", "InterlockedMax"), _FETCH.format("max")),
    **dict.fromkeys(("atomicAnd", "InterlockedAnd", "atomic_and"), _FETCH.format("and")),
    **dict.fromkeys(("atomicOr", "InterlockedOr", "atomic_or"), _FETCH.format("or")),
    **dict.fromkeys(("atomicXor", "InterlockedXor", "atomic_xor"), _FETCH.format("xor")),
    **dict.fromkeys(("atomicInc", "atomic_inc"), _FETCH.format("add").replace("value", "1")),
    **dict.fromkeys(("atomicDec", "atomic_dec"), _FETCH.format("sub").replace("value", "1")),
    "atomic_fetch_add": _FETCH.format("add"),
    "atomic_fetch_sub": _FETCH.format("sub"),
    "atomic_fetch_min": _FETCH.format("min"),
    "atomic_fetch_max": _FETCH.format("max"),
    "atomic_fetch_and": _FETCH.format("and"),
    "atomic_fetch_or": _FETCH.format("or"),
    "atomic_fetch_xor": _FETCH.format("xor"),
    **dict.fromkeys(
        ("atomicExch", "atomicExchange", "InterlockedExchange", "atomic_exchange", "atomic_xchg"),
        f"atomic_exchange_explicit(p, value, {_RELAXED})",
    ),
    **dict.fromkeys(
        ("atomicCAS", "atomicCompSwap", "InterlockedCompareExchange", "atomic_cmpxchg"),
        f"atomic_compare_exchange_weak_explicit(p, &expected, desired, {_RELAXED}, {_RELAXED})",
    ),
    **dict.fromkeys(("atomic_load", "atomicLoad"), f"atomic_load_explicit(p, {_RELAXED})"),
    **dict.fromkeys(
        ("atomic_store", "atomicStore"), f"atomic_store_explicit(p, value, {_RELAXED})"
    ),
    **dict.fromkeys(
        ("atomic_compare_exchange_strong_explicit", "atomic_compare_exchange_strong"),
        "atomic_compare_exchange_weak_explicit, which a loop repeats",
    ),
    **dict.fromkeys(
        (
            "memory_order_acquire",
            "memory_order_release",
            "memory_order_acq_rel",
            "memory_order_consume",
        ),
        "memory_order_relaxed, and memory_order_seq_cst for atomic_thread_fence",
    ),
    # SIMD-groups: warps of CUDA, waves of HLSL, subgroups of GLSL and OpenCL.
    **dict.fromkeys(
        ("__shfl_sync", "__shfl", "WaveReadLaneAt", "subgroupShuffle"),
        "simd_shuffle(x, lane)",
    ),
    **dict.fromkeys(
        ("__shfl_down_sync", "__shfl_down", "subgroupShuffleDown", "simd_shfl_down"),
        "simd_shuffle_down(x, delta)",
    ),
    **dict.fromkeys(
        ("__shfl_up_sync", "__shfl_up", "subgroupShuffleUp", "simd_shfl_up"),
        "simd_shuffle_up(x, delta)",
    ),
    **dict.fromkeys(
        ("__shfl_xor_sync", "__shfl_xor", "subgroupShuffleXor", "simd_shfl_xor"),
        "simd_shuffle_xor(x, mask)",
    ),
    **dict.fromkeys(
        ("__ballot_sync", "__ballot", "WaveActiveBallot", "subgroupBallot"), "simd_ballot(x)"
    ),
    **dict.fromkeys(("__all_sync", "WaveActiveAllTrue", "subgroupAll"), "simd_all(x)"),
    **dict.fromkeys(("__any_sync", "WaveActiveAnyTrue", "subgroupAny"), "simd_any(x)"),
    **dict.fromkeys(
        ("__reduce_add_sync", "WaveActiveSum", "subgroupAdd", "sub_group_reduce_add"),
        "simd_sum(x)",
    ),
    **dict.fromkeys(("simd_reduce_add", "simd_add", "warpReduceSum"), "simd_sum(x)"),
    **dict.fromkeys(("__reduce_max_sync", "WaveActiveMax", "subgroupMax"), "simd_max(x)"),
    **dict.fromkeys(("simd_reduce_max", "sub_group_reduce_max"), "simd_max(x)"),
    **dict.fromkeys(("__reduce_min_sync", "WaveActiveMin", "subgroupMin"), "simd_min(x)"),
    **dict.fromkeys(("simd_reduce_min", "sub_group_reduce_min"), "simd_min(x)"),
    **dict.fromkeys(("WaveActiveProduct", "subgroupMul"), "simd_product(x)"),
    **dict.fromkeys(
        ("WavePrefixSum", "subgroupExclusiveAdd"),
        "simd_prefix_exclusive_sum(x)",
    ),
    "subgroupInclusiveAdd": "simd_prefix_inclusive_sum(x)",
    "WaveReadLaneFirst": "simd_broadcast_first(x)",
    "subgroupBroadcastFirst": "simd_broadcast_first(x)",
    "subgroupBroadcast": "simd_broadcast(x, lane)",
    # Memory and messages.
    **dict.fromkeys(("__ldg", "__ldcg", "__ldcs"), "the plain access *p"),
    **dict.fromkeys(("memcpy", "memset", "memmove", "malloc", "free", "assert", "__trap"), _NONE),
    "printf": "os_log_default.log(format, ...) of <metal_logging>, from metal3.2 on",
    # Positions of a thread.
    "threadIdx": "a parameter with [[thread_position_in_threadgroup]]",
    "blockIdx": "a parameter with [[threadgroup_position_in_grid]]",
    "blockDim": "a parameter with [[threads_per_threadgroup]]",
    "gridDim": "a parameter with [[threadgroups_per_grid]]",
    "warpSize": "a parameter with [[threads_per_simdgroup]]",
    "gl_GlobalInvocationID": "a parameter with [[thread_position_in_grid]]",
    "gl_LocalInvocationID": "a parameter with [[thread_position_in_threadgroup]]",
    "gl_LocalInvocationIndex": "a parameter with [[thread_index_in_threadgroup]]",
    "gl_WorkGroupID": "a parameter with [[threadgroup_position_in_grid]]",
    "gl_SubgroupInvocationID": "a parameter with [[thread_index_in_simdgroup]]",
    "get_global_id": "a parameter with [[thread_position_in_grid]]",
    "get_local_id": "a parameter with [[thread_position_in_threadgroup]]",
    "get_group_id": "a parameter with [[threadgroup_position_in_grid]]",
    "get_local_size": "a parameter with [[threads_per_threadgroup]]",
    "get_global_size": "a parameter with [[threads_per_grid]]",
    # Constants.
    "M_PI": "M_PI_F",
    "M_E": "M_E_F",
    "M_LOG2E": "M_LOG2E_F",
    "M_LN2": "M_LN2_F",
    "M_SQRT2": "M_SQRT2_F",
    "M_SQRT1_2": "M_SQRT1_2_F",
    "CUDART_INF_F": "INFINITY",
    "DBL_MAX": "FLT_MAX",
    # Qualifiers and types.
    **dict.fromkeys(("__shared__", "groupshared", "__local", "shared"), "threadgroup"),
    **dict.fromkeys(("__global__", "__kernel"), "kernel void"),
    **dict.fromkeys(("__device__", "__host__"), "a plain function"),
    "__global": "device",
    "__constant__": "constant",
    **{f"vec{count}": f"float{count}" for count in (2, 3, 4)},
    **{f"ivec{count}": f"int{count}" for count in (2, 3, 4)},
    **{f"uvec{count}": f"uint{count}" for count in (2, 3, 4)},
    **{f"bvec{count}": f"bool{count}" for count in (2, 3, 4)},
    **{f"mat{count}": f"float{count}x{count}" for count in (2, 3, 4)},
    "float1": "float",
    "int1": "int",
    "__half": "half",
    "__half2": "half2",
    "__nv_bfloat16": "bfloat",
    "bfloat16": "bfloat",
    "bfloat16_t": "bfloat",
    "float16_t": "half",
    "float32_t": "float",
    **dict.fromkeys(("int32", "i32"), "int"),
    **dict.fromkeys(("uint32", "u32"), "uint"),
    **dict.fromkeys(("int64", "i64"), "long"),
    **dict.fromkeys(("uint64", "u64"), "ulong"),
    "f32": "float",
    "f16": "half",
}
_UNKNOWN_NAME = re.compile(
    r"(?:use of undeclared identifier|unknown type name|no template named) '(?:metal::)?(\w+)'.*"
    r"|no member named '(\w+)' in namespace '(?:metal|std)(?:::\w+)*'.*"
)

# What clang proposes for a misspelt name.
_PROPOSAL = re.compile(r"; did you mean (?:simply )?'(?:metal::)?(\w+)'\?")
_ENGINE_PROPOSAL = re.compile(r"; did you mean (?:simply )?'(?:\w+::)*(?:mb::[\w:]+|mb_\w+)'\?")


def find_counterpart(name: str) -> str | None:
    """Return what Metal has for a name of another language.

    The text is empty if Metal has nothing for it. Return None for an unknown name.
    """
    if name in _COUNTERPARTS:
        return _COUNTERPARTS[name]
    if name[:2] == "__" and name[-1:] == "f" and name[2:-1] in _FAST_FUNCTIONS:
        return f"fast::{name[2:-1]}(...)"
    if name[-1:] in ("f", "l") and name[:-1] in _MATH_FUNCTIONS:
        return f"{name[:-1]}(...)"
    if name.startswith("native_") and name[7:] in _MATH_FUNCTIONS:
        return f"fast::{name[7:]}(...)"
    return None


def explain_unknown_name(message: str) -> str:
    """Return a compiler's message about an unknown name, with Metal's counterpart after it.

    Names of the engine's headers that clang proposes are left out.
    """
    found = _UNKNOWN_NAME.fullmatch(message)
    if not found:
        return message
    message = _ENGINE_PROPOSAL.sub("", message)
    name, proposal = found[1] or found[2], _PROPOSAL.search(message)
    counterpart = find_counterpart(name)
    if counterpart is None or (proposal and counterpart.startswith(proposal[1])):
        return message
    hint = _format_hint(name, counterpart)
    return f"{message} {hint[0].upper()}{hint[1:]}" if proposal else f"{message}; {hint}"


def describe_foreign_name(name: str) -> str:
    """Return the message about a use of a foreign name; empty for another name."""
    counterpart = find_counterpart(name)
    if counterpart is None:
        return ""
    return f"use of undeclared identifier '{name}'; {_format_hint(name, counterpart)}"


def _format_hint(name: str, counterpart: str) -> str:
    if not counterpart:
        return f"Metal has no `{name}`"
    return f"for `{name}` Metal has {counterpart}"
