#include "runtime/blocks.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/objects.h"

using namespace metal_double::runtime;

extern "C" [[gnu::visibility("hidden")]] Class _NSConcreteMallocBlock;

namespace {

// Clang's Block-ABI-Apple. The owners are counted in twos below owners_mask.
constexpr std::int32_t owner = 2;
constexpr std::int32_t owners_mask = 0xfffe;
constexpr std::int32_t on_heap = 1 << 24;
constexpr std::int32_t has_copy_dispose = 1 << 25;
constexpr std::int32_t is_global = 1 << 28;

struct Descriptor {
  std::uintptr_t reserved;
  std::uintptr_t size;
  void (*copy)(void* to, const void* from);  // with has_copy_dispose
  void (*dispose)(const void* block);
};

struct Block {
  Class* isa;
  std::int32_t flags;
  std::int32_t reserved;
  void (*invoke)();
  Descriptor* descriptor;
};

// A variable that is declared __block.
struct Shared {
  Class* isa;
  Shared* forwarding;
  std::int32_t flags;
  std::uint32_t size;
  void (*keep)(Shared* to, Shared* from);  // with has_copy_dispose
  void (*destroy)(Shared* variable);
};

enum Field : int { object = 3, block = 7, shared = 8, weak = 16, within_shared = 128 };

template <class Counted>
std::atomic_ref<std::int32_t> flags_of(Counted* counted) {
  return std::atomic_ref<std::int32_t>(counted->flags);
}

template <class Counted>
bool was_last(Counted* counted) {
  const std::int32_t before = flags_of(counted).fetch_sub(owner, std::memory_order_acq_rel);
  return (before & owners_mask) == owner;
}

template <class Counted>
Counted* duplicate(const Counted* from, std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory, from, size);
  return static_cast<Counted*>(memory);
}

Shared* keep_shared(Shared* variable) {
  if ((variable->forwarding->flags & on_heap) != 0) {
    flags_of(variable->forwarding).fetch_add(owner, std::memory_order_relaxed);
    return variable->forwarding;
  }
  Shared* const copy = duplicate(variable, variable->size);
  copy->flags = variable->flags | on_heap | 2 * owner;  // of the stack frame and of the block
  copy->forwarding = copy;
  variable->forwarding = copy;
  if ((variable->flags & has_copy_dispose) != 0) variable->keep(copy, variable);
  return copy;
}

void release_shared(Shared* variable) {
  variable = variable->forwarding;
  if ((variable->flags & on_heap) == 0 || !was_last(variable)) return;
  if ((variable->flags & has_copy_dispose) != 0) variable->destroy(variable);
  std::free(variable);
}

Block* copy_to_heap(Block* from) {
  Block* const copy = duplicate(from, from->descriptor->size);
  copy->flags = (from->flags & ~(owners_mask | 1)) | on_heap | owner;
  copy->isa = &_NSConcreteMallocBlock;
  copy->isa->info->live.fetch_add(1, std::memory_order_relaxed);
  if ((copy->flags & has_copy_dispose) != 0) copy->descriptor->copy(copy, from);
  return copy;
}

}  // namespace

void metal_double::runtime::retain_block(Object* object) {
  auto* const block = reinterpret_cast<Block*>(object);
  if ((block->flags & on_heap) != 0) {
    flags_of(block).fetch_add(owner, std::memory_order_relaxed);
  }
}

extern "C" {

Object* _Block_copy(Object* source) {
  auto* const block = reinterpret_cast<Block*>(source);
  if (block == nullptr || (block->flags & is_global) != 0) return source;
  if ((block->flags & on_heap) == 0) return reinterpret_cast<Object*>(copy_to_heap(block));
  retain_block(source);
  return source;
}

void _Block_release(Object* source) {
  auto* const block = reinterpret_cast<Block*>(source);
  if (block == nullptr || (block->flags & on_heap) == 0 || !was_last(block)) return;
  if ((block->flags & has_copy_dispose) != 0) block->descriptor->dispose(block);
  block->isa->info->live.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

Object* objc_retainBlock(Object* block) { return _Block_copy(block); }

void _Block_object_assign(void** to, void* from, int field) {
  const int kind = field & ~Field::weak;
  if (kind == Field::object) {
    *to = objc_retain(static_cast<Object*>(from));
  } else if (kind == Field::block) {
    *to = _Block_copy(static_cast<Object*>(from));
  } else if (kind == Field::shared) {
    *to = keep_shared(static_cast<Shared*>(from));
  } else {
    *to = from;  // the variable's owner counts, not its copies
  }
}

void _Block_object_dispose(void* from, int field) {
  const int kind = field & ~Field::weak;
  if (kind == Field::object) {
    objc_release(static_cast<Object*>(from));
  } else if (kind == Field::block) {
    _Block_release(static_cast<Object*>(from));
  } else if (kind == Field::shared) {
    release_shared(static_cast<Shared*>(from));
  }
}
}
