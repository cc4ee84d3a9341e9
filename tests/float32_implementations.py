"""Implementations of tasks in float32, in NumPy: good ones, and ones of reduced precision.

`GOOD`, `SEQUENTIAL` and `REDUCED` map names of tasks to implementations by name. Every function
takes the inputs of its task, float32 arrays, and returns its output.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import scipy.special

F = np.float32
LOG2E = F(math.log2(math.e))
LN2 = F(math.log(2))
EPS = F(1e-5)


# Sums over the last axis.


def sequential(x):
    """Add one element after the other."""
    return np.add.accumulate(x, axis=-1, dtype=F)[..., -1]


def runs(x, length=128):
    """Add runs of neighbours in order, as one thread does, then the runs in order."""
    short = -x.shape[-1] % length
    padded = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, short)])
    return sequential(sequential(padded.reshape(*x.shape[:-1], -1, length)))


def backwards(x):
    return runs(x[..., ::-1])


def tree(x):
    """Add halves, as a reduction in threadgroup memory does."""
    while x.shape[-1] > 1:
        half = (x.shape[-1] + 1) // 2
        rest = np.zeros_like(x[..., :half])
        rest[..., : x.shape[-1] - half] = x[..., half:]
        x = x[..., :half] + rest
    return x[..., 0]


def lanes(x, count=32):
    """Add a strided part in each lane, then the lanes in a tree."""
    short = -x.shape[-1] % count
    padded = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, short)])
    parts = padded.reshape(*x.shape[:-1], -1, count)
    return tree(np.add.accumulate(parts, axis=-2, dtype=F)[..., -1, :])


def kahan(x):
    total, lost = np.zeros(x.shape[:-1], F), np.zeros(x.shape[:-1], F)
    for each in np.moveaxis(x, -1, 0):
        term = each - lost
        moved = total + term
        lost = (moved - total) - term
        total = moved
    return total


def fused(a, b, c):
    """Round a b + c once."""
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(F)


# Softmax and its relatives.


def exp2_form(x):
    return np.exp2(x * LOG2E)


def softmax_by(exp, add, divide=True):
    def softmax(x):
        terms = exp(x - x.max(axis=-1, keepdims=True))
        total = add(terms)[:, None]
        return terms / total if divide else terms * (F(1) / total)

    return softmax


def online(x, exp, count=32):
    """Return maximum and sum of every row: online in each lane, then merged in a tree."""
    short = -x.shape[-1] % count
    parts = np.pad(x, [(0, 0), (0, short)], constant_values=-np.inf).reshape(len(x), -1, count)
    most, total = np.full((len(x), count), -np.inf, F), np.zeros((len(x), count), F)
    for each in np.moveaxis(parts, 1, 0):
        most, total = merged(exp, most, total, each, F(1))
    while most.shape[1] > 1:
        half = most.shape[1] // 2
        left, right = slice(half), slice(half, None)
        most, total = merged(exp, most[:, left], total[:, left], most[:, right], total[:, right])
    return most, total


def merged(exp, most, total, other_most, other_total):
    larger = np.maximum(most, other_most)
    with np.errstate(invalid="ignore"):
        one = np.where(most == larger, F(1), exp(most - larger))
        other = np.where(other_most == larger, F(1), exp(other_most - larger))
    return larger, total * one + other_total * other


def softmax_online(exp, count=32):
    def softmax(x):
        with np.errstate(invalid="ignore"):
            most, total = online(x, exp, count)
            return exp(x - most) / total

    return softmax


def softmax_of_fused_exponents(x):
    """exp2(fma(x, log2 e, -m log2 e)), as attention kernels write it."""
    most = x.max(axis=-1, keepdims=True)
    terms = np.exp2(fused(x, LOG2E, -(most * LOG2E)))
    return terms / lanes(terms)[:, None]


def logsumexp_by(add):
    def logsumexp(x):
        most = x.max(axis=-1)
        return most + np.log(add(np.exp(x - most[:, None])))

    return logsumexp


def logsumexp_base_2(x):
    most = x.max(axis=-1)
    return most + np.log2(lanes(exp2_form(x - most[:, None]))) * LN2


def logsumexp_online(x):
    most, total = online(x, np.exp)
    return (most + np.log(total))[:, 0]


def log_softmax_online(x):
    most, total = online(x, np.exp)
    return (x - most) - np.log(total)


# Norms.


def welford(x):
    """Return mean and variance of every row, updated element by element."""
    mean, squares = np.zeros(x.shape[:-1], F), np.zeros(x.shape[:-1], F)
    for i, each in enumerate(np.moveaxis(x, -1, 0)):
        difference = each - mean
        mean = mean + difference / F(i + 1)
        squares = squares + difference * (each - mean)
    return mean, squares / F(x.shape[-1])


def welford_in_lanes(x, count=32):
    """Update a mean and a variance in each lane, and merge them in a tree (Chan et al.)."""
    parts = [welford(x[:, i::count]) for i in range(min(count, x.shape[1]))]
    moments = [
        (F(len(range(i, x.shape[1], count))), mean, variance)
        for i, (mean, variance) in enumerate(parts)
    ]
    while len(moments) > 1:
        half = len(moments) // 2
        rest = moments[2 * half :]
        moments = list(map(merged_moments, moments[:half], moments[half : 2 * half])) + rest
    return moments[0][1:]


def merged_moments(one, other):
    (m, mean, variance), (n, other_mean, other_variance) = one, other
    difference, share = other_mean - mean, n / (m + n)
    within = variance * (F(1) - share) + other_variance * share
    between = difference * difference * share * (F(1) - share)
    return m + n, mean + difference * share, within + between


def two_pass(add):
    def moments(x):
        count = F(x.shape[-1])
        mean = add(x) / count
        centred = x - mean[..., None]
        return mean, add(centred * centred) / count

    return moments


def shifted(x, sample=32):
    """One pass over differences from the mean of the first elements."""
    count, first = F(x.shape[-1]), lanes(x[..., :sample]) / F(min(sample, x.shape[-1]))
    differences = x - first[..., None]
    mean = lanes(differences) / count
    return first + mean, lanes(differences * differences) / count - mean * mean


def rsqrt(x):
    return F(1) / np.sqrt(x)


def layer_norm_by(moments, by_division=False):
    def layer_norm(x):
        mean, variance = (each[:, None] for each in moments(x))
        centred = x - mean
        return centred / np.sqrt(variance + EPS) if by_division else centred * rsqrt(variance + EPS)

    return layer_norm


def rms_norm_by(add, by_division=False):
    def rms_norm(x):
        mean = (add(x * x) / F(x.shape[-1]))[:, None] + EPS
        return x / np.sqrt(mean) if by_division else x * rsqrt(mean)

    return rms_norm


# Functions of each element.


def gelu_by(erf):
    return lambda x: F(0.5) * x * (F(1) + erf(x * F(math.sqrt(0.5))))


def erf_in_float32(x):
    return scipy.special.erf(x).astype(F)


def erf_rational(x):
    """Abramowitz and Stegun 7.1.26: absolute errors up to 1.5e-7."""
    a = np.abs(x)
    t = F(1) / (F(1) + F(0.3275911) * a)
    p = np.zeros_like(x)
    for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        p = (p + F(each)) * t
    return np.copysign(F(1) - p * np.exp(-a * a), x)


def erf_coarse(x):
    """Abramowitz and Stegun 7.1.25: absolute errors up to 2.5e-5."""
    a = np.abs(x)
    t = F(1) / (F(1) + F(0.47047) * a)
    p = ((F(0.7478556) * t - F(0.0958798)) * t + F(0.3480242)) * t
    return np.copysign(F(1) - p * np.exp(-a * a), x)


def softplus_of_log(x):
    return np.maximum(x, F(0)) + np.log(F(1) + np.exp(-np.abs(x)))


def softplus_of_log1p(x):
    return np.maximum(x, F(0)) + np.log1p(np.exp(-np.abs(x)))


def softplus_base_2(x):
    return np.maximum(x, F(0)) + np.log2(F(1) + exp2_form(-np.abs(x))) * LN2


def tanh_of_exp(x):
    small = np.exp(F(-2) * np.abs(x))
    return np.copysign((F(1) - small) / (F(1) + small), x)


def tanh_of_sigmoid(x):
    with np.errstate(over="ignore"):
        return F(1) - F(2) / (F(1) + np.exp(F(2) * x))


def sigmoid_by(exp):
    def sigmoid(x):
        with np.errstate(over="ignore"):
            return F(1) / (F(1) + exp(-x))

    return sigmoid


# Products.


def product_by_fma(a, b):
    c = np.zeros((len(a), b.shape[1]), F)
    for k in range(a.shape[1]):
        c = fused(a[:, k, None], b[k], c)
    return c


def product_in_order(a, b, keys=None):
    c = np.zeros((len(a), b.shape[1]), F)
    for k in range(a.shape[1]) if keys is None else keys:
        c += a[:, k, None] * b[k]
    return c


def product_backwards(a, b):
    return product_in_order(a, b, range(a.shape[1] - 1, -1, -1))


def product_tiled(a, b, tile=16):
    """Add up each tile of the inner extent by itself."""
    c = np.zeros((len(a), b.shape[1]), F)
    for k in range(0, a.shape[1], tile):
        c += product_in_order(a[:, k : k + tile], b[k : k + tile])
    return c


def product_split(a, b, parts=4):
    return tree(np.stack([product_in_order(a[:, i::parts], b[i::parts]) for i in range(parts)], -1))


def flash_attention(exp):
    def attention(q, k, v):
        """Attend to tiles of 32 keys, with an online softmax."""
        q = q * F(1 / math.sqrt(q.shape[1]))
        most = np.full((len(q), 1), -np.inf, F)
        total, y = np.zeros((len(q), 1), F), np.zeros((len(q), v.shape[1]), F)
        for at in range(0, len(k), 32):
            scores = product_by_fma(q, k[at : at + 32].T)
            larger = np.maximum(most, scores.max(axis=1, keepdims=True))
            share, terms = exp(most - larger), exp(scores - larger)
            y = y * share + product_by_fma(terms, v[at : at + 32])
            total = total * share + lanes(terms)[:, None]
            most = larger
        return y / total

    return attention


def cumsum_in_blocks(x, block=64):
    """Scan blocks, then add the sum of the blocks before."""
    short = -x.shape[1] % block
    parts = np.pad(x, [(0, 0), (0, short)]).reshape(len(x), -1, block)
    within = np.add.accumulate(parts, axis=2, dtype=F)
    before = np.add.accumulate(within[:, :, -1], axis=1, dtype=F) - within[:, :, -1]
    return (within + before[:, :, None]).reshape(len(x), -1)[:, : x.shape[1]]


# Reduced precision.


def half(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(F)


def bfloat16(x):
    return np.asarray(x).astype(ml_dtypes.bfloat16).astype(F)


def tf32(x):
    """Round to 10 bits behind the point, as tensor cores do."""
    bits = np.ascontiguousarray(x, F).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(F)


def sum_in(narrow):
    def add(x):
        total = np.zeros(x.shape[:-1], F)
        for each in np.moveaxis(x, -1, 0):
            total = narrow(total + each)
        return total

    return add


def exp_polynomial(degree):
    """exp2 of the fraction by the first terms of its series."""

    def exp(x):
        whole = np.rint(x * LOG2E)
        rest = (x * LOG2E - whole) * LN2
        value = np.zeros_like(x)
        for i in range(degree, -1, -1):
            value = value * rest + F(1 / math.factorial(i))
        return np.ldexp(value, whole.astype(np.int32))

    return exp


def exp_by_bits(x):
    """Schraudolph's: the exponent's bits of a float."""
    bits = np.clip(x * F(12102203.0) + F(1064986823.0), 0, 2**31 - 1)
    return bits.astype(np.int32).view(F)


def coarse_reciprocal(x):
    """A reciprocal of 12 bits without a step of Newton's."""
    return (np.float64(1) / x * (1 + 2.0**-12)).astype(F)


def softmax_with_coarse_reciprocal(x):
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    return terms * coarse_reciprocal(lanes(terms))[:, None]


def coarse_rsqrt(x):
    """The famous one with one step of Newton's: good to 0.2 %."""
    y = (np.uint32(0x5F3759DF) - (np.ascontiguousarray(x).view(np.uint32) >> 1)).view(F)
    return y * (F(1.5) - F(0.5) * x * y * y)


def one_pass(x):
    count = F(x.shape[-1])
    mean = lanes(x) / count
    return mean, np.maximum(lanes(x * x) / count - mean * mean, F(0))


def without_last(function):
    """Leave the last element of each row out of the sums."""
    return lambda x: function(x[..., :-1])


def product_of_two_parts(a, b):
    """Two bfloat16 numbers for each float32 one: 16 bits."""
    a_high, b_high = bfloat16(a), bfloat16(b)
    a_low, b_low = bfloat16(a - a_high), bfloat16(b - b_high)
    return a_high @ b_high + (a_high @ b_low + a_low @ b_high)


def gelu_of_tanh(x):
    inner = F(math.sqrt(2 / math.pi)) * (x + F(0.044715) * x * x * x)
    return F(0.5) * x * (F(1) + np.tanh(inner))


GOOD = {
    "softmax": {
        "runs in order": softmax_by(np.exp, runs),
        "tree": softmax_by(np.exp, tree),
        "compensated": softmax_by(np.exp, kahan),
        "reciprocal": softmax_by(np.exp, lanes, divide=False),
        "exp2": softmax_by(exp2_form, lanes),
        "exp2 and reciprocal": softmax_by(exp2_form, tree, divide=False),
        "fused exponents": softmax_of_fused_exponents,
        "online": softmax_online(np.exp),
        "online with exp2": softmax_online(exp2_form),
        "online in few lanes": softmax_online(exp2_form, count=8),
    },
    "log_softmax": {"online": log_softmax_online},
    "logsumexp": {
        "runs in order": logsumexp_by(runs),
        "tree": logsumexp_by(tree),
        "base 2": logsumexp_base_2,
        "online": logsumexp_online,
    },
    "layer_norm": {
        "two passes": layer_norm_by(two_pass(lanes)),
        "two passes, runs in order": layer_norm_by(two_pass(runs)),
        "division": layer_norm_by(two_pass(tree), by_division=True),
        "Welford": layer_norm_by(welford_in_lanes),
        "shifted": layer_norm_by(shifted),
    },
    "rms_norm": {
        "runs in order": rms_norm_by(runs),
        "division": rms_norm_by(tree, by_division=True),
        "compensated": rms_norm_by(kahan),
    },
    "variance": {
        "Welford": lambda x: welford_in_lanes(x)[1],
        "shifted": lambda x: shifted(x)[1],
        "two passes backwards": lambda x: two_pass(backwards)(x)[1],
    },
    "l1_norm": {
        "runs": lambda x: runs(np.abs(x)),
        "tree": lambda x: tree(np.abs(x)),
        "compensated": lambda x: kahan(np.abs(x)),
    },
    "gelu": {
        "erf": gelu_by(erf_in_float32),
        "erfc": lambda x: F(0.5) * x * scipy.special.erfc(-x * F(math.sqrt(0.5))).astype(F),
        "rational erf": gelu_by(erf_rational),
    },
    "softplus": {
        "log": softplus_of_log,
        "log1p": softplus_of_log1p,
        "base 2": softplus_base_2,
    },
    "tanh": {"exp": tanh_of_exp, "sigmoid": tanh_of_sigmoid},
    "sigmoid": {
        "exp": sigmoid_by(np.exp),
        "exp2": sigmoid_by(exp2_form),
        "tanh": lambda x: F(0.5) * np.tanh(F(0.5) * x) + F(0.5),
    },
    "sqr_mm": {
        "order": product_in_order,
        "fused": product_by_fma,
        "backwards": product_backwards,
        "tiles": product_tiled,
        "split inner extent": product_split,
    },
    "softmax_attention": {
        "tiles of keys": flash_attention(np.exp),
        "tiles of keys with exp2": flash_attention(exp2_form),
    },
    "cumsum": {
        "order": lambda x: np.add.accumulate(x, axis=1, dtype=F),
        "blocks": cumsum_in_blocks,
    },
}

# One thread a row: the sums are sequential, and many equal terms round alike.
SEQUENTIAL = {
    "softmax": {
        "one thread a row": softmax_by(np.exp, sequential),
        "online in one thread": softmax_online(exp2_form, count=1),
    },
    "logsumexp": {"one thread a row": logsumexp_by(sequential)},
    "layer_norm": {"Welford in one thread": layer_norm_by(welford)},
    "rms_norm": {"one thread a row": rms_norm_by(sequential)},
    "l1_norm": {"one thread a row": lambda x: sequential(np.abs(x))},
}

REDUCED = {
    "softmax": {
        "exp in half": softmax_by(lambda x: half(np.exp(half(x))), lanes),
        "sum in half": softmax_by(np.exp, sum_in(half)),
        "inputs of 11 bits": lambda x: softmax_by(np.exp, lanes)(tf32(x)),
        "result in half": lambda x: half(softmax_by(np.exp, lanes)(x)),
        "exp by a short series": softmax_by(exp_polynomial(3), lanes),
        "exp by bits": softmax_by(exp_by_bits, lanes),
        "coarse reciprocal": softmax_with_coarse_reciprocal,
        "last element not in the sum": softmax_by(np.exp, without_last(lanes)),
        "online with exp in half": softmax_online(lambda x: half(np.exp(x))),
    },
    "logsumexp": {
        "sum in bfloat16": logsumexp_by(sum_in(bfloat16)),
        "last element left out": without_last(logsumexp_by(lanes)),
    },
    "layer_norm": {
        "moments in half": layer_norm_by(lambda x: tuple(map(half, two_pass(lanes)(x)))),
        "sums in half": layer_norm_by(two_pass(sum_in(half))),
        "difference of squares": layer_norm_by(one_pass),
        "inputs of 11 bits": lambda x: layer_norm_by(two_pass(lanes))(tf32(x)),
        "last element left out": layer_norm_by(lambda row: two_pass(lanes)(row[:, :-1])),
    },
    "rms_norm": {
        "coarse root": lambda x: x * coarse_rsqrt(lanes(x * x) / F(x.shape[1]) + EPS)[:, None],
        "squares in half": lambda x: (
            x * rsqrt(lanes(half(half(x) * half(x))) / F(x.shape[1]) + EPS)[:, None]
        ),
    },
    "gelu": {
        "of tanh": gelu_of_tanh,
        "coarse erf": gelu_by(erf_coarse),
        "erf in half": gelu_by(lambda x: half(erf_in_float32(x))),
    },
    "sigmoid": {
        "exp by a short series": sigmoid_by(exp_polynomial(4)),
        "coarse reciprocal": lambda x: coarse_reciprocal(F(1) + np.exp(-x)),
    },
    "tanh": {"in half": lambda x: half(np.tanh(x))},
    "sqr_mm": {
        "bfloat16 products": lambda a, b: bfloat16(a) @ bfloat16(b),
        "inputs of 11 bits": lambda a, b: tf32(a) @ tf32(b),
        "two bfloat16 a number": product_of_two_parts,
        "sums in half": lambda a, b: sum_in(half)(a[:, None, :] * b.T[None]),
        "last column left out": lambda a, b: a[:, :-1] @ b[:-1],
    },
    "softmax_attention": {
        "scores in half": flash_attention(lambda x: np.exp(half(x))),
        "terms in bfloat16": flash_attention(lambda x: bfloat16(np.exp(x))),
    },
    "cumsum": {"half blocks": lambda x: cumsum_in_blocks(half(x))},
}
