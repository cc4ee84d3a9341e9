// Products of matrices of half or bfloat by the tensor cores of Hopper GPUs: `wgmma`, which four
// consecutive warps, a warpgroup, execute together. Its operands are in threadgroup memory; its
// sums are registers in the layout below. See NVIDIA's PTX ISA, "Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate Instructions".
#pragma once

#include "../tensor_descriptor.h"
#include "../tensor_scopes.h"
#include "../traits.h"
#include "sync.h"

namespace mb {

constexpr int warpgroup_threads = 128;

// Warpgroups have consecutive blocks of rows, in tiles of 64. A warp has 16 rows of a tile. A lane
// has pairs of columns of two rows.
template <int threads, int rows_, int columns_>
struct WarpgroupLayout {
  static constexpr int rows = rows_, columns = columns_;
  static constexpr int tiles = rows / 64 / (threads / warpgroup_threads);
  static constexpr int row_lanes = 8, column_lanes = 4;
  static constexpr int row_slots = 2 * tiles, column_slots = columns / 4;
  static constexpr int capacity = row_slots * column_slots, storage = capacity;
  static constexpr int of_tile = capacity / tiles;
  static constexpr u32 column_mask = 0b00011, row_mask = 0b11100;
  static constexpr bool is_exact = true;

  static constexpr int row_slot(int i) { return i / of_tile * 2 + i / 2 % 2; }
  static constexpr int column_slot(int i) { return i % of_tile / 4 * 2 + i % 2; }
  static constexpr int index(int r, int c) {
    return r / 2 * of_tile + c / 2 * 4 + r % 2 * 2 + c % 2;
  }
  MB_FUNC static constexpr int row(int thread, int r) {
    const int tile = thread / warpgroup_threads * tiles + r / 2;
    return tile * 64 + thread % warpgroup_threads / 32 * 16 + r % 2 * 8 + thread % 32 / 4;
  }
  MB_FUNC static constexpr int column(int thread, int c) {
    return c / 2 * 8 + thread % 4 * 2 + c % 2;
  }
};

// Whether the destination of a product has that layout.
template <class Scope>
constexpr bool is_warpgroup_shape(int rows, int columns) {
  constexpr int threads = scope_traits<Scope>::threads;
  if (threads % warpgroup_threads != 0 || rows <= 0) return false;
  const bool has_columns = columns == 32 || columns == 64 || columns == 128 || columns == 256;
  const int sums = rows * columns / threads;
  return has_columns && rows % (64 * (threads / warpgroup_threads)) == 0 && sums <= 128;
}

// Operands are copied to threadgroup memory in stages of this many elements of k: 128 bytes, a line
// of the tensor cores' widest swizzle.
constexpr int stage_depth = 64, line_bytes = 128, atom_bytes = 8 * line_bytes;

// The copies of one operand by the threads of a scope, 16 bytes at a time. Elements that follow
// each other in memory are along k (`by_depth`) or along the rows or columns of the destination.
// The copy consists of blocks of lines; the 16 bytes number x of a line are at x ^ (line % 8).
template <class Operand, bool by_depth, int size, int threads>
struct OperandCopy {
  static constexpr int blocks = divide_up(size, 64);
  static constexpr int lines = by_depth ? size : blocks * stage_depth;
  static constexpr int bytes = lines * line_bytes;
  static constexpr int pieces = lines * 8, turns = divide_up(pieces, threads);
  using Memory = typename Operand::Memory;

  const Operand& from;
  const MB_GLOBAL Memory* data;
  // Elements of k that the product has; the operand may have more.
  int depth;
  int thread;
  // Whether 16 bytes are copied at a time, and whether there are elements for all of them.
  bool is_fast, is_whole;

  MB_FUNC OperandCopy(const Operand& operand, int given_depth, int own)
      : from(operand), depth(given_depth), thread(own) {
    const long along = by_depth ? from.depth_stride : from.outer_stride;
    const long across = by_depth ? from.outer_stride : from.depth_stride;
    const Memory* const first = from.data + from.origin;
    is_fast =
        along == 1 && across % 8 == 0 && u64(first) % 16 == 0 && __nvvm_isspacep_global(first);
    is_whole = is_fast && size % 64 == 0 && from.outer >= size && depth % stage_depth == 0;
    data = (const MB_GLOBAL Memory*)first;
  }

  // The words of a descriptor of the operand, in units of 16 bytes: for `by_depth` the distance of
  // groups of eight lines, else that of blocks and of groups of eight k.
  static constexpr u64 layout = by_depth ? u64(1) << 62 | u64(atom_bytes / 16) << 32 | u64(1) << 16
                                         : u64(1) << 62 | u64(atom_bytes / 16) << 32 |
                                               u64(stage_depth * line_bytes / 16) << 16;
  // Address of 64 rows or columns from `outer` on, for sixteen elements from k = 16 * step on.
  MB_FUNC static u32 place(u32 begin, int outer, int step) {
    return begin + u32(outer) * line_bytes + u32(step * (by_depth ? 32 : 2 * atom_bytes));
  }

  // Begin to copy elements from `k` on to `to`, an address in threadgroup memory. `whole` is for
  // operands that are whole. A copy that is not fast is complete.
  template <bool whole>
  MB_FUNC void begin(u32 to, int k) const {
    if constexpr (whole)
      each_piece(to, k, [&](u32 place, long at, int) __attribute__((always_inline)) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(data + at)
                     : "memory");
      });
    else if (is_fast)
      each_piece(to, k, [&](u32 place, long at, int count) __attribute__((always_inline)) {
        // Without elements the address is not read, but must be valid.
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place),
                     "l"(count == 0 ? data : data + at), "r"(count * 2)
                     : "memory");
      });
    else
      each_piece(to, k, [&](u32 place, long at, int count) __attribute__((always_inline)) {
        const long step = by_depth ? from.depth_stride : from.outer_stride;
        alignas(16) unsigned short words[8] = {};
#pragma clang loop unroll(full)
        for (int e = 0; e < 8; ++e)
          if (e < count) __builtin_memcpy(&words[e], from.data + from.origin + at + e * step, 2);
        u32 packed[4];
        __builtin_memcpy(packed, words, 16);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(packed[0]),
                     "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                     : "memory");
      });
  }

  // Call `copy` with the place of each of this thread's pieces, its offset from the first element,
  // and how many of its eight elements exist.
  template <class Copy>
  MB_FUNC void each_piece(u32 to, int k, Copy copy) const {
#pragma clang loop unroll(full)
    for (int turn = 0; turn < turns; ++turn) {
      const int piece = thread + turn * threads;
      if (pieces % threads != 0 && piece >= pieces) return;
      // Neighbouring threads read neighbouring memory.
      const int x = piece % 8, block = by_depth ? 0 : piece / 8 % blocks;
      const int line = by_depth ? piece / 8 : piece / 8 / blocks;
      const int outer = by_depth ? line : block * 64 + x * 8;
      const int inner = k + (by_depth ? x * 8 : line);
      const bool exists = by_depth ? outer < from.outer : inner < depth;
      const int left = by_depth ? depth - inner : from.outer - outer;
      const int count = !exists || left < 0 ? 0 : left < 8 ? left : 8;
      const u32 place =
          to + u32(block * stage_depth + line) * line_bytes + u32((x ^ (line & 7)) * 16);
      copy(place, outer * from.outer_stride + inner * from.depth_stride, count);
    }
  }
};

// Return where stages begin in the last `bytes` of threadgroup memory, which has other contents
// before these. `bytes` includes an atom for the alignment.
MB_FUNC constexpr u32 find_product_memory(u32 end, u32 bytes) {
  return (end - bytes + atom_bytes - 1) / atom_bytes * atom_bytes;
}

// Add a thread's elements of the product to `sums`. All threads of the scope call it.
template <class Layout, class Scope, bool is_half, bool left_by_depth, bool right_by_depth,
          class Left, class Right>
MB_FUNC void add_product_by_warpgroups(float* sums, const Left& left, const Right& right,
                                       int depth);

// Store a warpgroup's elements of 16 bits, eight neighbours at a time, or of 32 bits, two at a
// time. Return false, and store nothing, if the tensor is not whole or not aligned for it.
template <class Elements, class E, class Tensor>
MB_FUNC bool store_neighbours(const E* elements, const Tensor& target);

template <class Layout>
inline constexpr bool is_warpgroup_layout = false;
template <int threads, int rows, int columns>
inline constexpr bool is_warpgroup_layout<WarpgroupLayout<threads, rows, columns>> = true;

// Tests compile what is above for other machines.
#ifdef __NVPTX__

#define MB_LIST_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define MB_LIST_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MB_LIST_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define MB_LIST_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MB_LIST_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define MB_LIST_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define MB_LIST_6                                                                          \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
  "%111"
#define MB_LIST_7                                                                              \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, " \
  "%127"
#define MB_SUMS_16 MB_LIST_0
#define MB_SUMS_32 MB_SUMS_16 ", " MB_LIST_1
#define MB_SUMS_64 MB_SUMS_32 ", " MB_LIST_2 ", " MB_LIST_3
#define MB_SUMS_128 MB_SUMS_64 ", " MB_LIST_4 ", " MB_LIST_5 ", " MB_LIST_6 ", " MB_LIST_7
#define MB_OUT_4(i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define MB_OUT_16(i) MB_OUT_4(i), MB_OUT_4(i + 4), MB_OUT_4(i + 8), MB_OUT_4(i + 12)
#define MB_OUT_32(i) MB_OUT_16(i), MB_OUT_16(i + 16)
#define MB_OUT_64(i) MB_OUT_32(i), MB_OUT_32(i + 32)
#define MB_OUT_128(i) MB_OUT_64(i), MB_OUT_64(i + 64)
#define MB_WGMMA(columns, sums, type)                                                             \
  if constexpr (n == columns) {                                                                   \
    asm volatile(                                                                                 \
        "{ .reg .pred adds; setp.eq.b32 adds, 0, 0; "                                             \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" MB_SUMS_##sums \
        "}, %[a], %[b], adds, 1, 1, %[ta], %[tb]; }"                                              \
        : MB_OUT_##sums(0)                                                                        \
        : [a] "l"(a), [b] "l"(b), [ta] "n"(int(left_across)), [tb] "n"(int(right_across)));       \
    return;                                                                                       \
  }
#define MB_WGMMAS(type)   \
  MB_WGMMA(32, 16, type)  \
  MB_WGMMA(64, 32, type)  \
  MB_WGMMA(128, 64, type) \
  MB_WGMMA(256, 128, type)

// Add the product of 64 x 16 and 16 x n elements to a thread's sums. The operands are descriptors;
// `across`: elements that follow each other are not along k.
template <int n, bool is_half, bool left_across, bool right_across>
MB_FUNC void add_by_warpgroup(float* s, u64 a, u64 b) {
  if constexpr (is_half) {
    MB_WGMMAS("f16")
  } else {
    MB_WGMMAS("bf16")
  }
}

#undef MB_WGMMA
#undef MB_WGMMAS

// The threadgroup memory of products with these operands. `mb_product_bytes` in a comment of the
// PTX text tells the host how much memory a launch needs in addition to its arguments.
template <int bytes>
MB_FUNC u32 product_memory() {
  u32 all;
  asm volatile("// mb_product_bytes %0" ::"n"(bytes));
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(all));
  return find_product_memory(u32(u64((MB_SHARED u8*)mb_arena)) + all, u32(bytes));
}

template <class Layout, class Scope, bool is_half, bool left_by_depth, bool right_by_depth,
          class Left, class Right>
MB_FUNC void add_product_by_warpgroups(float* sums, const Left& left, const Right& right,
                                       int depth) {
  constexpr int threads = scope_traits<Scope>::threads;
  using LeftCopy = OperandCopy<Left, left_by_depth, Layout::rows, threads>;
  using RightCopy = OperandCopy<Right, right_by_depth, Layout::columns, threads>;
  constexpr int stage_bytes = LeftCopy::bytes + RightCopy::bytes;
  // As many stages as hide the latency of device memory; two threadgroups per multiprocessor if
  // their registers allow it. A multiprocessor has 227 KB.
  constexpr int room = threads * Layout::capacity <= 128 * 128 ? 112 << 10 : 226 << 10;
  constexpr int fitting = (room - atom_bytes) / stage_bytes;
  constexpr int stages = fitting < 2 ? 2 : fitting < 6 ? fitting : 6;
  constexpr int ahead = stages - 1;
  const int thread = scope_traits<Scope>::thread();
  if (thread >= threads) return;
  const u32 memory = product_memory<stages * stage_bytes + atom_bytes>();
  const LeftCopy left_copy(left, depth, thread);
  const RightCopy right_copy(right, depth, thread);
  const int count = divide_up(depth, stage_depth);
  const int outer = thread / warpgroup_threads * (Layout::tiles * 64);
  const auto synchronise = []() __attribute__((always_inline)) {
    asm volatile("bar.sync 15, %0;" ::"n"(threads) : "memory");
  };

  const auto multiply = [&](auto is_whole) __attribute__((always_inline)) {
    constexpr bool whole = decltype(is_whole)::value;
    const auto begin = [&](int stage, int at) __attribute__((always_inline)) {
      if (at < count) {
        const u32 to = memory + u32(stage * stage_bytes);
        left_copy.template begin<whole>(to, at * stage_depth);
        right_copy.template begin<whole>(to + u32(LeftCopy::bytes), at * stage_depth);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma clang loop unroll(full)
    for (int i = 0; i < ahead; ++i) begin(i, i);
    int stage = 0, next = ahead;
#pragma clang loop unroll(disable)
    for (int at = 0; at < count; ++at) {
      asm volatile("cp.async.wait_group %0;" ::"n"(ahead - 1) : "memory");
      // The tensor cores read memory past the caches of ordinary accesses.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      synchronise();
      const u32 left_begin = memory + u32(stage * stage_bytes);
      const u32 right_begin = left_begin + u32(LeftCopy::bytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma clang loop unroll(full)
      for (int step = 0; step < stage_depth / 16; ++step) {
        const u64 b = RightCopy::layout | (RightCopy::place(right_begin, 0, step) & 0x3ffff) >> 4;
#pragma clang loop unroll(full)
        for (int tile = 0; tile < Layout::tiles; ++tile) {
          const u32 from = LeftCopy::place(left_begin, outer + tile * 64, step);
          const u64 a = LeftCopy::layout | (from & 0x3ffff) >> 4;
          add_by_warpgroup<Layout::columns, is_half, !left_by_depth, !right_by_depth>(
              sums + tile * Layout::of_tile, a, b);
        }
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      // While these products run, those before them are complete, so that all threads can
      // overwrite their stage.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      synchronise();
      begin(next, at + ahead);
      stage = stage == stages - 1 ? 0 : stage + 1;
      next = next == stages - 1 ? 0 : next + 1;
    }
    // Sums may be copied to other registers only after this.
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma clang loop unroll(full)
    for (int i = 0; i < Layout::capacity; ++i) asm volatile("" : "+f"(sums[i])::"memory");
  };

  // Another product may still read the memory.
  synchronise();
  if (left_copy.is_whole && right_copy.is_whole)
    multiply(metal::bool_constant<true>());
  else
    multiply(metal::bool_constant<false>());
}

// Exchange words so that lane q of four has word q of each of them.
MB_FUNC void transpose_by_four(u32 (&word)[4]) {
#pragma clang loop unroll(full)
  for (u32 bit = 1; bit <= 2; bit *= 2) {
    const bool is_upper = lane() & bit;
#pragma clang loop unroll(full)
    for (u32 i = 0; i < 4; ++i) {
      if (i & bit) continue;
      u32 &low = word[i], &high = word[i + bit];
      const u32 given = __nvvm_shfl_sync_bfly_i32(~0u, is_upper ? low : high, bit, 0x1f);
      low = is_upper ? given : low;
      high = is_upper ? high : given;
    }
  }
}

template <class Elements, class E, class Tensor>
MB_FUNC bool store_neighbours(const E* elements, const Tensor& target) {
  using Layout = typename Elements::Layout;
  using Scope = scope_traits<typename Elements::Scope>;
  constexpr int together = sizeof(E) == 2 ? 8 : 2;
  auto* const first = target.mb_data + target.mb_origin;
  const long pitch = target.mb_strides[1];
  if (target.mb_limits[0] < Layout::columns || target.mb_limits[1] < Layout::rows ||
      target.mb_strides[0] != 1 || pitch % together != 0 ||
      u64(first) % (together * sizeof(E)) != 0)
    return false;
  const int thread = Scope::thread();
  if (thread >= Scope::threads) return true;
#pragma clang loop unroll(full)
  for (int r = 0; r < Layout::row_slots; ++r) {
    auto* const row = first + Layout::row(thread, r) * pitch;
    if constexpr (sizeof(E) == 2) {
#pragma clang loop unroll(full)
      for (int c = 0; c < Layout::column_slots; c += 8) {
        u32 word[4];
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; ++i)
          __builtin_memcpy(&word[i], &elements[Layout::index(r, c + 2 * i)], 4);
        transpose_by_four(word);
        auto* const to = row + Layout::column(0, c) + thread % 4 * 8;
        __builtin_memcpy(__builtin_assume_aligned((void*)to, 16), word, 16);
      }
    } else {
#pragma clang loop unroll(full)
      for (int c = 0; c < Layout::column_slots; c += 2) {
        auto* const to = row + Layout::column(thread, c);
        __builtin_memcpy(__builtin_assume_aligned((void*)to, 8), &elements[Layout::index(r, c)], 8);
      }
    }
  }
  return true;
}

#endif

}  // namespace mb
