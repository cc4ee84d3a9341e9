// Runs one kernel that is compiled as vectors for arm64 Linux, under an emulator: no library, no threads. Reads a launch and its
// buffers from standard input, and writes the buffers to standard output.
#include <mb/cpu/abi.h>
#include <mb/cpu/switch.h>

using namespace mb;

extern "C" {
void mb_lanes(const Launch*, const Group*, const Fiber*);
const Info* mb_info();
void* memset(void* to, int value, unsigned long count) {
  auto* bytes = static_cast<volatile u8*>(to);
  for (unsigned long i = 0; i < count; ++i) bytes[i] = static_cast<u8>(value);
  return to;
}
}

namespace {

constexpr u32 most_fibers = max_threads / 8;
constexpr u32 most_bundles = most_fibers / simd_width + 1;  // with a spare one to prefetch from
constexpr u32 padding = 64;                                 // a vector may read behind a constant

struct Order {
  Dim3 grid, groups, threads;
  u32 arena_bytes, lanes, buffers;
};

struct Given {
  u32 index, bytes;
  u8* memory;
};

long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

[[noreturn]] void leave_with(int status) {
  call(93, status);
  __builtin_unreachable();
}

u8* allocate(uptr bytes) {
  const long found = call(222, 0, static_cast<long>(bytes), 3, 0x4022, -1, 0);  // private, no swap
  if (found < 0) leave_with(2);
  return reinterpret_cast<u8*>(found);
}

// Every byte, by read(2) or write(2).
void transfer(long number, long file, void* memory, uptr bytes) {
  auto* at = static_cast<u8*>(memory);
  while (bytes != 0) {
    const long count = call(number, file, reinterpret_cast<long>(at), static_cast<long>(bytes));
    if (count <= 0) leave_with(3);
    at += count;
    bytes -= static_cast<uptr>(count);
  }
}

void receive(void* memory, uptr bytes) { transfer(63, 0, memory, bytes); }

Launch launch;
Group group;
Bundle bundles[most_bundles];
u8* stacks;
void* own_stack;
u32 lanes;

[[gnu::naked]] void switch_stack(void**, void*) { asm(MB_SAVE_STACK MB_RESUME_STACK); }

void* first_ready(const Bundle& bundle) { return bundle.stack_pointer[__builtin_ctz(bundle.ready)]; }

// Whoever can run; if nobody can, all that wait at the barrier are let go.
void* next_ready() {
  const u32 count = (group.fibers + simd_width - 1) / simd_width;
  for (u32 i = 0; i < count; ++i) {
    if (bundles[i].ready != 0) return first_ready(bundles[i]);
  }
  void* found = nullptr;
  for (u32 i = count; i-- > 0;) {
    bundles[i].ready = bundles[i].at_barrier;
    bundles[i].at_barrier = 0;
    if (bundles[i].ready != 0) found = first_ready(bundles[i]);
  }
  return found;
}

void* next(Fiber* self) {
  void* found = next_ready();
  return found == self->bundle->stack_pointer[self->lane] &&
                 (self->bundle->ready & (1u << self->lane)) != 0
             ? nullptr
             : found;
}

void yield(Fiber*) {}

const Runtime runtime = {&next, &yield, nullptr, nullptr, nullptr, nullptr};

void run_fiber() {
  Fiber* self = current();
  mb_lanes(&launch, &group, self);
  Bundle* bundle = self->bundle;
  bundle->live &= ~(1u << self->lane);
  bundle->ready &= ~(1u << self->lane);
  void* others = next_ready();
  void* done;
  switch_stack(&done, others != nullptr ? others : own_stack);
}

void advance(Dim3& at, u32 count, const Dim3& size) {
  at.x += count;
  while (at.x >= size.x) {
    at.x -= size.x;
    if (++at.y < size.y) continue;
    at.y = 0;
    ++at.z;
  }
}

void start_fiber(u32 number, const Dim3& position) {
  Fiber* fiber = fiber_of(reinterpret_cast<uptr>(stacks) + number * stack_bytes);
  Bundle& bundle = bundles[number / simd_width];
  const u32 lane = number % simd_width;
  *fiber = {&bundle, lane, number * lanes, position, 0};
  constexpr uptr kept_bytes = 160, link = 88;  // as MB_SAVE_STACK leaves it
  u8* frame = reinterpret_cast<u8*>(fiber) - kept_bytes;
  memset(frame, 0, kept_bytes);
  *reinterpret_cast<void (**)()>(frame + link) = &run_fiber;
  bundle.stack_pointer[lane] = frame;
  bundle.lanes |= 1u << lane;
}

u32 least(u32 a, u32 b) { return a < b ? a : b; }

void run_group(const Order& order, const Dim3& at) {
  const Dim3 full = order.threads, grid = order.grid;
  group.position = at;
  group.size = {least(full.x, grid.x - at.x * full.x), least(full.y, grid.y - at.y * full.y),
                least(full.z, grid.z - at.z * full.z)};
  group.threads = group.size.x * group.size.y * group.size.z;
  group.simdgroups = (group.threads + simd_width - 1) / simd_width;
  group.fibers = (group.threads + lanes - 1) / lanes;
  memset(bundles, 0, sizeof bundles);
  Dim3 position{0, 0, 0};
  for (u32 i = 0; i < group.fibers; ++i) {
    start_fiber(i, position);
    advance(position, lanes, group.size);
  }
  for (u32 i = 0; i < most_bundles; ++i) {
    bundles[i].group = &group;
    bundles[i].index = i;
    bundles[i].ready = bundles[i].live = bundles[i].lanes;
  }
  switch_stack(&own_stack, bundles[0].stack_pointer[0]);
}

}  // namespace

extern "C" [[noreturn]] void start() {
  Order order;
  receive(&order, sizeof order);
  receive(launch.threadgroup_offset, sizeof launch.threadgroup_offset);
  Given given[max_buffers];
  if (order.buffers > max_buffers) leave_with(4);
  for (u32 i = 0; i < order.buffers; ++i) {
    receive(&given[i].index, sizeof(u32) * 2);
    given[i].memory = allocate(given[i].bytes + padding);
    launch.buffers[given[i].index] = given[i].memory;
    receive(given[i].memory, given[i].bytes);
  }
  launch.threads_per_grid = order.grid;
  launch.threadgroups_per_grid = order.groups;
  launch.threads_per_threadgroup = order.threads;
  lanes = order.lanes;
  group.runtime = &runtime;
  group.launch = &launch;
  // Static variables come first; where the dynamic arguments are was reckoned without them.
  const u32 own = (mb_info()->threadgroup_bytes + 15) / 16 * 16;
  for (u32& offset : launch.threadgroup_offset) offset += own;
  group.arena = allocate(own + order.arena_bytes + padding);
  stacks = allocate((most_fibers + 1) * stack_bytes);
  stacks += -reinterpret_cast<uptr>(stacks) % stack_bytes;
  for (u32 z = 0; z < order.groups.z; ++z) {
    for (u32 y = 0; y < order.groups.y; ++y) {
      for (u32 x = 0; x < order.groups.x; ++x) run_group(order, {x, y, z});
    }
  }
  for (u32 i = 0; i < order.buffers; ++i) transfer(64, 1, given[i].memory, given[i].bytes);
  leave_with(0);
}
asm(".globl _start\n_start:\n mov x29, xzr\n mov x30, xzr\n and x9, x9, #-16\n b start\n");
