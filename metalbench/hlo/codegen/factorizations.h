// Factorizations of real or complex matrices in row-major order: one threadgroup of `Threads`
// threads for each matrix; `place` is the number of this thread.
#pragma once
#include "complex.h"

namespace shlo {

using metal::simd_max;
using metal::simd_sum;
inline float conjugate(float a) { return a; }
inline float times(float a, float b) { return a * b; }
inline float real_part(float a) { return a; }
inline float real_part(float2 a) { return a.x; }
inline float imaginary_part(float) { return 0.0f; }
inline float imaginary_part(float2 a) { return a.y; }
inline float absolute(float a) { return fabs(a); }
inline float squared(float a) { return a * a; }
inline float squared(float2 a) { return a.x * a.x + a.y * a.y; }
inline float pivot_size(float a) { return fabs(a); }
inline float pivot_size(float2 a) { return fabs(a.x) + fabs(a.y); }
inline float quotient(float a, float b) { return a / b; }
inline float2 quotient(float2 a, float2 b) { return divide(a, b); }
inline float reciprocal(float a) { return 1.0f / a; }
inline float2 reciprocal(float2 a) { return divide(float2(1.0f, 0.0f), a); }
inline void set_real(thread float& number, float a) { number = a; }
inline void set_real(thread float2& number, float a) { number = float2(a, 0.0f); }

// The real type of a number. double_factorizations.h adds overloads of the functions above.
template <typename T>
using RealNumber = decltype(real_part(T()));
template <typename T>
T of_real(RealNumber<T> a) {
  T found;
  set_real(found, a);
  return found;
}

inline void wait_for_all() {
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
}

// Returns the sum of x, and the maximum of y, over all threads.
template <uint Threads, typename Pair>
Pair reduce_threads(Pair sum_and_most, threadgroup Pair* partial, uint place) {
  const Pair own = Pair(simd_sum(sum_and_most.x), simd_max(sum_and_most.y));
  wait_for_all();
  if (place % 32u == 0u) partial[place / 32u] = own;
  wait_for_all();
  Pair found = partial[0];
  for (uint k = 1; k < Threads / 32u; ++k) {
    found = Pair(found.x + partial[k].x, fmax(found.y, partial[k].y));
  }
  return found;
}

// Returns the row at or below `k` with the largest element of column k: the first of equal ones. A
// NaN is larger than all numbers.
template <uint Rows, uint Columns, uint Threads, typename T, typename Pair>
uint find_pivot(device const T* a, uint k, threadgroup Pair* partial, uint place, uint group,
                uint lane) {
  using R = RealNumber<T>;
  R most = R(-1);
  uint best = Rows;
  for (uint row = k + place; row < Rows; row += Threads) {
    const R size = pivot_size(a[row * Columns + k]);
    const R comparable = isnan(size) ? R(INFINITY) : size;
    if (comparable > most) {
      most = comparable;
      best = row;
    }
  }
  const R greatest = simd_max(most);
  const uint first = simd_min(most == greatest ? best : Rows);
  // Numbers of rows are below 2^24, so a float holds them.
  if (lane == 0u) partial[group] = Pair(greatest, R(first));
  wait_for_all();
  Pair found = partial[0];
  for (uint n = 1; n < Threads / 32u; ++n) {
    const Pair other = partial[n];
    if (other.x > found.x || (other.x == found.x && other.y < found.y)) found = other;
  }
  return uint(found.y);
}

// Factors a matrix in place, as LAPACK's getrf does: L (with a unit diagonal) below the diagonal, U
// on and above it. Step k exchanges rows k and pivots[k]; row r of the product L U is row
// permutation[r] of the matrix. A SIMD-group eliminates a row.
template <uint Rows, uint Columns, uint Threads, typename T, typename Pair>
void lu(device T* a, device int* pivots, device int* permutation, threadgroup Pair* partial,
        uint place, uint group, uint lane) {
  for (uint row = place; row < Rows; row += Threads) permutation[row] = int(row);
  for (uint k = 0; k < (Rows < Columns ? Rows : Columns); ++k) {
    const uint pivot = find_pivot<Rows, Columns, Threads>(a, k, partial, place, group, lane);
    for (uint column = place; column < Columns; column += Threads) {
      const T upper = a[k * Columns + column], lower = a[pivot * Columns + column];
      a[k * Columns + column] = lower;
      a[pivot * Columns + column] = upper;
    }
    if (place == 0) {
      pivots[k] = int(pivot);
      const int moved = permutation[k];
      permutation[k] = permutation[pivot];
      permutation[pivot] = moved;
    }
    wait_for_all();
    const T diagonal = a[k * (Columns + 1)];
    for (uint row = k + 1 + group; row < Rows; row += Threads / 32u) {
      device T* own = a + row * Columns;
      // A zero pivot has only zeros below it.
      const T factor = pivot_size(diagonal) == RealNumber<T>(0) ? own[k] : quotient(own[k], diagonal);
      simdgroup_barrier(mem_flags::mem_device);
      for (uint first = k - k % 32u; first < Columns; first += 32u) {
        const uint column = first + lane;
        if (Columns % 32u != 0u && column >= Columns) continue;
        // Elements of L are written back unchanged, because masked stores are slow on `cpu`.
        const T changed = own[column] - times(factor, a[k * Columns + column]);
        own[column] = column > k ? changed : column == k ? factor : own[column];
      }
    }
    wait_for_all();
  }
}

// Factors a Hermitian matrix in place, of which the other triangle is zero. A SIMD-group updates a
// row. `line` holds the conjugates of the last row or column of the factor.
template <uint N, uint Threads, bool Lower, typename T>
void cholesky(device T* a, threadgroup T* line, uint place, uint group, uint lane) {
  for (uint k = place; k < N; k += Threads) line[k] = of_real<T>(0.0f);
  for (uint k = 0; k < N; ++k) {
    const RealNumber<T> root = precise::sqrt(real_part(a[k * (N + 1)]));
    wait_for_all();
    for (uint n = k + 1 + place; n < N; n += Threads) {
      device T* own = Lower ? a + n * N + k : a + k * N + n;
      const T scaled = *own / root;
      *own = scaled;
      line[n] = conjugate(scaled);
    }
    if (place == 0) a[k * (N + 1)] = of_real<T>(root);
    wait_for_all();
    for (uint row = k + 1 + group; row < N; row += Threads / 32u) {
      device T* own = a + row * N;
      const T factor = Lower ? own[k] : line[row];
      const uint from = Lower ? k + 1 : row, to = Lower ? row + 1 : N;
      for (uint first = from - from % 32u; first < to; first += 32u) {
        const uint column = first + lane;
        if (N % 32u != 0u && column >= N) continue;
        const T other = Lower ? line[column] : a[k * N + column];
        // Other elements are written back unchanged, because masked stores are slow on `cpu`.
        const T changed = own[column] - times(factor, other);
        own[column] = column >= from && column < to ? changed : own[column];
      }
    }
    wait_for_all();
  }
}

// Factors a matrix in place, in the layout of LAPACK's geqrf: R is the upper triangle. Below it are
// the vectors v (with first element 1) of the reflectors I - tau v v*, whose product is Q.
template <uint Rows, uint Columns, uint Threads, typename T, typename Pair>
void qr(device T* a, device T* taus, threadgroup Pair* partial, uint place) {
  using R = RealNumber<T>;
  for (uint k = 0; k < (Rows < Columns ? Rows : Columns); ++k) {
    R most = 0.0f, below = 0.0f;
    for (uint row = k + place; row < Rows; row += Threads) {
      most = fmax(most, absolute(a[row * Columns + k]));
    }
    most = reduce_threads<Threads>(Pair(R(0), most), partial, place).y;
    for (uint row = k + 1 + place; row < Rows; row += Threads) {
      below += squared(a[row * Columns + k] / most);
    }
    below = reduce_threads<Threads>(Pair(below, R(0)), partial, place).x;
    const T alpha = a[k * Columns + k];
    // What is a multiple of the first unit vector already is left as it is.
    const bool turns = below != 0.0f || imaginary_part(alpha) != 0.0f;
    if (most == 0.0f || !turns) {
      if (place == 0) taus[k] = of_real<T>(0.0f);
      continue;
    }
    const R norm = most * shlo::sqrt(below + squared(alpha / most));
    const R beta = -copysign(norm, real_part(alpha));
    const T tau = (of_real<T>(beta) - alpha) / beta, scale = reciprocal(alpha - of_real<T>(beta));
    wait_for_all();
    for (uint row = k + 1 + place; row < Rows; row += Threads) {
      a[row * Columns + k] = times(a[row * Columns + k], scale);
    }
    if (place == 0) {
      a[k * Columns + k] = of_real<T>(beta);
      taus[k] = tau;
    }
    wait_for_all();
    for (uint column = k + 1 + place; column < Columns; column += Threads) {
      T sum = a[k * Columns + column];
      for (uint row = k + 1; row < Rows; ++row) {
        sum += times(conjugate(a[row * Columns + k]), a[row * Columns + column]);
      }
      sum = times(conjugate(tau), sum);
      a[k * Columns + column] -= sum;
      for (uint row = k + 1; row < Rows; ++row) {
        a[row * Columns + column] -= times(a[row * Columns + k], sum);
      }
    }
    wait_for_all();
  }
}

// Computes one column of the product of the reflectors in one thread.
template <uint Rows, uint Columns, uint Count, typename T>
void reflectors_column(device const T* a, device const T* taus, device T* q, uint column) {
  for (uint row = 0; row < Rows; ++row) q[row * Columns + column] = of_real<T>(row == column);
  for (uint k = Count; k-- > 0;) {
    T sum = q[k * Columns + column];
    for (uint row = k + 1; row < Rows; ++row) {
      sum += times(conjugate(a[row * Columns + k]), q[row * Columns + column]);
    }
    sum = times(taus[k], sum);
    q[k * Columns + column] -= sum;
    for (uint row = k + 1; row < Rows; ++row) {
      q[row * Columns + column] -= times(a[row * Columns + k], sum);
    }
  }
}

// A Jacobi rotation of rows and columns p and q. The conjugate of `phase` makes their common
// element real. The angle, given by its sine and the tangent of its half, makes it zero.
template <typename T>
struct Rotation {
  uint p, q;
  RealNumber<T> sine, half_tangent;
  T phase;
};

template <uint N, typename T>
Rotation<T> rotation(device const T* a, uint p, uint q) {
  using R = RealNumber<T>;
  Rotation<T> found = {p, q, R(0), R(0), of_real<T>(1.0f)};
  if (q >= N) return found;
  const R size = absolute(a[p * N + q]);
  if (size == 0.0f) return found;
  const R ratio = (real_part(a[q * N + q]) - real_part(a[p * N + p])) / (2.0f * size);
  const R tangent = copysign(R(1), ratio) / (fabs(ratio) + shlo::sqrt(1.0f + ratio * ratio));
  const R cosine = 1.0f / shlo::sqrt(1.0f + tangent * tangent);
  found.sine = tangent * cosine;
  found.half_tangent = found.sine / (1.0f + cosine);
  found.phase = a[p * N + q] / size;
  return found;
}

// Computed as differences, whose rounding error is small for small angles: norms do not drift.
template <typename T>
void rotate(device T& p, device T& q, T phase, Rotation<T> turn) {
  const T first = p, second = times(phase, q);
  p = first - turn.sine * (second + turn.half_tangent * first);
  q = second + turn.sine * (first - turn.half_tangent * second);
}

// One sweep: rotates each pair of rows and columns once. Disjoint pairs are rotated in parallel, in
// the order of a round-robin tournament. The eigenvectors are the rows of `v`.
template <uint N, uint Threads, typename T>
void sweep(device T* a, device T* v, threadgroup Rotation<T>* turns, uint place) {
  constexpr uint players = N + N % 2, pairs = players / 2;
  for (uint round = 0; round + 1 < players; ++round) {
    for (uint k = place; k < pairs; k += Threads) {
      const uint one = k == 0 ? players - 1 : (round + k) % (players - 1);
      const uint other = (round + players - 1 - k) % (players - 1);
      turns[k] = rotation<N>(a, min(one, other), max(one, other));
    }
    wait_for_all();
    for (uint k = place; k < N * pairs; k += Threads) {
      const uint row = k / pairs * N;
      const Rotation<T> turn = turns[k % pairs];
      if (turn.sine != 0.0f) {
        rotate(a[row + turn.p], a[row + turn.q], conjugate(turn.phase), turn);
      }
    }
    wait_for_all();
    for (uint k = place; k < N * pairs; k += Threads) {
      const uint column = k % N;
      const Rotation<T> turn = turns[k / N];
      if (turn.sine != 0.0f) {
        const uint p = turn.p * N + column, q = turn.q * N + column;
        rotate(a[p], a[q], turn.phase, turn);
        rotate(v[p], v[q], conjugate(turn.phase), turn);
        // Set the exact zeros and real numbers.
        if (column == turn.q) a[p] = of_real<T>(0.0f);
        if (column == turn.p) a[q] = of_real<T>(0.0f);
        if (column == turn.p) a[p] = of_real<T>(real_part(a[p]));
        if (column == turn.q) a[q] = of_real<T>(real_part(a[q]));
      }
    }
    wait_for_all();
  }
}

// Jacobi's method (C. Jacobi, 1846): eigenvalues and eigenvectors (columns) of a Hermitian matrix,
// of which one triangle is read. `a` and `v` are workspace of the size of the matrix.
template <uint N, uint Threads, bool Lower, bool Sorted, typename T, typename R, typename Pair>
void eigh(device const T* given, device T* a, device T* v, device T* vectors, device R* values,
          threadgroup Rotation<T>* turns, threadgroup Pair* partial, uint place) {
  constexpr uint most_sweeps = 30;
  R most = 0.0f;
  for (uint k = place; k < N * N; k += Threads) {
    const bool own = Lower ? k % N <= k / N : k % N >= k / N;
    most = own ? fmax(most, absolute(given[k])) : most;
  }
  const R largest = reduce_threads<Threads>(Pair(R(0), most), partial, place).y;
  const R scale = largest == 0.0f ? R(1) : largest;
  for (uint k = place; k < N * N; k += Threads) {
    const uint row = k / N, column = k % N;
    const bool own = Lower ? column <= row : column >= row;
    const T x = (own ? given[k] : conjugate(given[column * N + row])) / scale;
    a[k] = row == column ? of_real<T>(real_part(x)) : x;
    v[k] = of_real<T>(row == column);
  }
  wait_for_all();
  Pair squares = Pair(R(0), R(0));
  // A little above the square of the unit of rounding.
  const R bound = sizeof(R) == 4 ? R(1.0e-16f) : R(1.0e-32f);
  for (uint count = 0; count < most_sweeps; ++count) {
    R aside = 0.0f, all = 0.0f;
    for (uint k = place; k < N * N; k += Threads) {
      all += squared(a[k]);
      aside += k % (N + 1) ? squared(a[k]) : R(0);
    }
    squares = Pair(reduce_threads<Threads>(Pair(aside, R(0)), partial, place).x,
                   reduce_threads<Threads>(Pair(all, R(0)), partial, place).x);
    // Stop when the off-diagonal part is below the rounding error, or is NaN.
    if (!(squares.x > bound * squares.y)) break;
    sweep<N, Threads>(a, v, turns, place);
  }
  const bool known = !isnan(squares.y);
  for (uint k = place; k < N; k += Threads) {
    const R value = real_part(a[k * (N + 1)]);
    uint rank = k;
    if (Sorted && known) {
      rank = 0;
      for (uint other = 0; other < N; ++other) {
        const R theirs = real_part(a[other * (N + 1)]);
        rank += theirs < value || (theirs == value && other < k);
      }
    }
    values[rank] = known ? value * scale : R(NAN);
    for (uint row = 0; row < N; ++row) {
      vectors[row * N + rank] = known ? v[k * N + row] : of_real<T>(NAN);
    }
  }
}

}  // namespace shlo
