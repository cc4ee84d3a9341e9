// Blocks as methods. Each place has a few instructions that know its number: they put
// the block where the receiver was and the receiver where the selector was, and jump to the block.
// Not for methods that return a structure in memory.
#include <atomic>
#include <cstddef>
#include <mutex>

#include "runtime/live_objects.h"
#include "runtime/objects.h"

using namespace metal_double::runtime;

namespace {

constexpr std::size_t places = 64;

std::mutex& mutex() {
  static std::mutex& only = *new std::mutex;
  return only;
}

}  // namespace

#ifdef __x86_64__
#define PLACE_BYTES 16
__asm__(R"(
.text
.p2align 4
.globl metal_double_places
.hidden metal_double_places
metal_double_places:
.set metal_double_number, 0
.rept 64
  .p2align 4
  movl $metal_double_number, %r11d
  jmp metal_double_call_block
  .set metal_double_number, metal_double_number + 1
.endr
.p2align 4
metal_double_call_block:
  leaq metal_double_blocks(%rip), %r10
  movq (%r10,%r11,8), %r10
  movq %rdi, %rsi
  movq %r10, %rdi
  jmpq *16(%r10)
)");
#else
#define PLACE_BYTES 8
__asm__(R"(
.text
.p2align 4
.globl metal_double_places
.hidden metal_double_places
metal_double_places:
.set metal_double_number, 0
.rept 64
  mov w16, #metal_double_number
  b metal_double_call_block
  .set metal_double_number, metal_double_number + 1
.endr
metal_double_call_block:
  adrp x17, metal_double_blocks
  add x17, x17, :lo12:metal_double_blocks
  ldr x17, [x17, x16, lsl #3]
  mov x1, x0
  mov x0, x17
  ldr x17, [x17, #16]
  br x17
)");
#endif

extern "C" {

[[gnu::visibility("hidden")]] extern const unsigned char metal_double_places[];
[[gnu::visibility("hidden"), gnu::used]] std::atomic<Object*> metal_double_blocks[places];

// Null where the implementation is not that of a block.
static std::atomic<Object*>* place_of(Implementation implementation) {
  const auto* const at = reinterpret_cast<const unsigned char*>(implementation);
  if (at < metal_double_places || at >= metal_double_places + places * PLACE_BYTES) return nullptr;
  return &metal_double_blocks[static_cast<std::size_t>(at - metal_double_places) / PLACE_BYTES];
}

// Null when all places are taken.
Implementation imp_implementationWithBlock(Object* block) {
  const std::scoped_lock lock(mutex());
  for (std::size_t i = 0; i < places; ++i) {
    if (metal_double_blocks[i] != nullptr) continue;
    Object* const copy = _Block_copy(block);
    // A method lives as long as its class.
    if (copy != nullptr) metal_double::leave_uncounted(copy);
    metal_double_blocks[i] = copy;
    return reinterpret_cast<Implementation>(
        const_cast<unsigned char*>(metal_double_places + i * PLACE_BYTES));
  }
  return nullptr;
}

Object* imp_getBlock(Implementation implementation) {
  const std::scoped_lock lock(mutex());
  const std::atomic<Object*>* const place = place_of(implementation);
  return place == nullptr ? nullptr : place->load();
}

signed char imp_removeBlock(Implementation implementation) {
  const std::scoped_lock lock(mutex());
  std::atomic<Object*>* const place = place_of(implementation);
  if (place == nullptr || *place == nullptr) return 0;
  Object* const block = place->exchange(nullptr);
  metal_double::count_again(block);
  _Block_release(block);
  return 1;
}
}
