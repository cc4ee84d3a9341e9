// Runs one kernel for arm64 under an emulator of Linux: no library, no threads. Reads a library, a
// launch and its buffers from standard input, writes the buffers to standard output, and a line for
// each finding of a checked build to standard error: what, and the address of the code as a number.
// Without a library the kernel is one that is compiled as vectors and linked to this program.
#include <mb/cpu/abi.h>
#include <mb/cpu/shadow_abi.h>
#include <mb/cpu/switch.h>

using namespace mb;

extern "C" {
[[gnu::weak]] void mb_lanes(const Launch*, const Group*, const Fiber*);
[[gnu::weak]] const Info* mb_info();
[[gnu::used]] void* memset(void* to, int value, unsigned long count) {
  auto* bytes = static_cast<volatile u8*>(to);
  for (unsigned long i = 0; i < count; ++i) bytes[i] = static_cast<u8>(value);
  return to;
}
[[gnu::used]] void bzero(void* to, unsigned long count) { memset(to, 0, count); }
[[gnu::used]] void* memmove(void* to, const void* from, unsigned long count) {
  auto* target = static_cast<volatile u8*>(to);
  auto* source = static_cast<const volatile u8*>(from);
  for (unsigned long i = 0; i < count; ++i) {
    const unsigned long at = to < from ? i : count - 1 - i;
    target[at] = source[at];
  }
  return to;
}
[[gnu::used]] void* memcpy(void* to, const void* from, unsigned long count) {
  return memmove(to, from, count);
}
}

namespace {

constexpr u32 most_fibers = max_threads;
constexpr u32 most_bundles = most_fibers / simd_width + 1;  // with a spare one to prefetch from
constexpr u32 padding = 64;                                 // a vector may read behind a constant

// A library in memory, and addresses of what it has; of the first three, one is not 0.
struct Library {
  u64 base, bytes;
  u64 span, thread, lanes;
  u64 info;
  u64 initialiser;  // or 0
};

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
Given given[max_buffers];
u32 buffers;
ThreadEntry run_threads = &mb_lanes;
SpanEntry run_span;
InfoEntry info = &mb_info;
Bundle bundles[most_bundles];
u8* stacks;
u8* shadows;
void* own_stack;
u32 lanes;

[[gnu::naked]] void switch_stack(void**, void*) { asm(MB_SAVE_STACK MB_RESUME_STACK); }

void* first_ready(const Bundle& bundle) { return bundle.stack_pointer[__builtin_ctz(bundle.ready)]; }

// Returns a fiber that can run. If none can, releases all fibers that wait at the barrier.
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

void say(const char* text) {
  uptr count = 0;
  while (text[count] != 0) ++count;
  transfer(64, 2, const_cast<char*>(text), count);
}

void tell(const char* what, const void* pc) {
  say(what);
  char digits[] = " 0x0000000000000000\n";
  auto rest = reinterpret_cast<uptr>(pc);
  for (char* digit = digits + sizeof digits - 3; rest != 0; --digit, rest /= 16) {
    *digit = "0123456789abcdef"[rest % 16];
  }
  say(digits);
}

bool holds(const void* memory, u64 size, const volatile void* address, u64 bytes) {
  const auto begin = reinterpret_cast<uptr>(memory), at = reinterpret_cast<uptr>(address);
  return at >= begin && at + bytes <= begin + size;
}

// Device memory alone: the driver does not know what else a kernel has.
void access(Fiber*, const volatile void* address, u64 bytes, AccessKind, const void* pc) {
  bool near = false;
  for (u32 i = 0; i < buffers; ++i) {
    if (holds(given[i].memory, given[i].bytes, address, bytes)) return;
    near |= holds(given[i].memory, given[i].bytes + padding, address, bytes);
  }
  if (near) tell("bounds", pc);
}

void fail(Fiber*, const char* what, const void* pc) { tell(what, pc); }
void fence(Fiber*, u32) {}
void fence_texels(Fiber*, const Texture*) {}
void misaligned(Fiber*, const void*, u64, Use, const void* pc) { tell("misaligned", pc); }
void undefined(Fiber*, const Undefined* report) {
  tell(report->finding == Finding::uninitialised ? "uninitialised" : "undefined", report->pc);
}
void moved(Fiber*, const void*, const void*, const void*) {}
// All memory has values; what is written is forgotten.
Metadata metadata(const Fiber* self, const void*, u64 bytes, bool is_store, const void*) {
  ShadowState* state = shadow_state(self);
  if (bytes > sizeof state->zeros) leave_with(5);
  return {is_store ? state->sink : state->zeros, reinterpret_cast<u32*>(state->sink_origins)};
}
u32 born(const Fiber*, const char*, const void*) { return 1; }
void copied(const Fiber*, const void*, const void*, u64, const void*) {}

const Runtime runtime = {&next,         &yield,      &access,    &fail,  &fence,    &fence_texels,
                         &misaligned,   &undefined,  &moved,     &metadata, &born,  &copied,
                         nullptr};

void run_fiber() {
  Fiber* self = current();
  if (run_span != nullptr) {
    const Dim3& groups = launch.threadgroups_per_grid;
    run_span(&launch, &group, 0, u64{groups.x} * groups.y * groups.z);
  } else {
    run_threads(&launch, &group, self);
  }
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
  fiber->shadow = shadows + number * shadow_bytes;
  constexpr uptr kept_bytes = 160, link = 88;  // as MB_SAVE_STACK leaves it
  u8* frame = reinterpret_cast<u8*>(fiber) - kept_bytes;
  memset(frame, 0, kept_bytes);
  *reinterpret_cast<void (**)()>(frame + link) = &run_fiber;
  bundle.stack_pointer[lane] = frame;
  bundle.lanes |= 1u << lane;
}

u32 least(u32 a, u32 b) { return a < b ? a : b; }

void run_fibers(u32 count) {
  group.fibers = count;
  memset(bundles, 0, sizeof bundles);
  Dim3 position{0, 0, 0};
  for (u32 i = 0; i < count; ++i) {
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

void run_group(const Order& order, const Dim3& at) {
  const Dim3 full = order.threads, grid = order.grid;
  group.position = at;
  group.size = {least(full.x, grid.x - at.x * full.x), least(full.y, grid.y - at.y * full.y),
                least(full.z, grid.z - at.z * full.z)};
  group.threads = group.size.x * group.size.y * group.size.z;
  group.simdgroups = (group.threads + simd_width - 1) / simd_width;
  run_fibers((group.threads + lanes - 1) / lanes);
}

void run_groups(const Order& order) {
  if (run_span != nullptr) {
    group.size = order.threads;
    return run_fibers(1);
  }
  for (u32 z = 0; z < order.groups.z; ++z) {
    for (u32 y = 0; y < order.groups.y; ++y) {
      for (u32 x = 0; x < order.groups.x; ++x) run_group(order, {x, y, z});
    }
  }
}

void load_library() {
  Library library;
  receive(&library, sizeof library);
  if (library.bytes == 0) return;
  auto* memory = reinterpret_cast<u8*>(library.base);
  // Private, writable and executable memory at this address, which must be free.
  const long found = call(222, static_cast<long>(library.base), static_cast<long>(library.bytes), 7,
                          0x100022, -1, 0);
  if (found != static_cast<long>(library.base)) leave_with(2);
  receive(memory, library.bytes);
  run_span = reinterpret_cast<SpanEntry>(library.span);
  run_threads = reinterpret_cast<ThreadEntry>(library.thread + library.lanes);
  info = reinterpret_cast<InfoEntry>(library.info);
  if (library.initialiser != 0) reinterpret_cast<void (*)()>(library.initialiser)();
}

}  // namespace

extern "C" [[noreturn]] void start() {
  load_library();
  Order order;
  receive(&order, sizeof order);
  receive(launch.threadgroup_offset, sizeof launch.threadgroup_offset);
  if (order.buffers > max_buffers) leave_with(4);
  buffers = order.buffers;
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
  const u32 own = (info()->threadgroup_bytes + 15) / 16 * 16;
  for (u32& offset : launch.threadgroup_offset) offset += own;
  group.arena = allocate(own + order.arena_bytes + padding);
  stacks = allocate((most_fibers + 1) * stack_bytes);
  stacks += -reinterpret_cast<uptr>(stacks) % stack_bytes;
  shadows = allocate(u64{most_fibers} * shadow_bytes);
  run_groups(order);
  for (u32 i = 0; i < order.buffers; ++i) transfer(64, 1, given[i].memory, given[i].bytes);
  leave_with(0);
}
asm(".globl _start\n_start:\n mov x29, xzr\n mov x30, xzr\n and x9, x9, #-16\n b start\n");
