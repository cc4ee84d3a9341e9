#include "runtime/objects.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/blocks.h"
#include "runtime/classes.h"
#include "runtime/dispatch_table.h"
#include "runtime/live_objects.h"
#include "runtime/selectors.h"
#include "runtime/weak.h"

namespace metal_double::runtime {
namespace {

struct Selectors {
  Selector alloc = unique_selector("alloc");
  Selector init = unique_selector("init");
  Selector construct = unique_selector(".cxx_construct");
  Selector destruct = unique_selector(".cxx_destruct");
  Selector dealloc = unique_selector("dealloc");
};

const Selectors& selectors() {
  static const Selectors& only = *new Selectors;
  return only;
}

void construct(Object* object, const Class* type) {
  if (type->superclass != nullptr) construct(object, type->superclass);
  if (type->info->construct != nullptr) {
    call<Object*>(type->info->construct, object, selectors().construct);
  }
}

Object* send(Object* object, Selector selector) {
  if (object == nullptr) return nullptr;
  return call<Object*>(find_method(object->isa, selector), object, selector);
}

void deallocate(Object* object, std::int64_t owners_before) {
  if (owners_before < 1) {
    std::fprintf(stderr, "%s %p was released more often than retained\n", object->isa->record->name,
                 static_cast<void*>(object));
    std::abort();
  }
  if (header_of(object).weakly_referenced.load(std::memory_order_acquire)) forget_weakly(object);
  call<void>(find_method(object->isa, selectors().dealloc), object, selectors().dealloc);
}

}  // namespace

Object* allocate(Class* type) {
  void* const memory = std::calloc(1, sizeof(Header) + type->record->instance_size);
  if (memory == nullptr) throw std::bad_alloc();
  auto* const object = reinterpret_cast<Object*>(new (memory) Header + 1);
  object->isa = type;
  type->info->live.fetch_add(1, std::memory_order_relaxed);
  construct(object, type);
  return object;
}

void dispose(Object* object) {
  for (const Class* type = object->isa; type != nullptr; type = type->superclass) {
    if (type->info->destruct != nullptr) {
      call<void>(type->info->destruct, object, selectors().destruct);
    }
  }
  object->isa->info->live.fetch_sub(1, std::memory_order_relaxed);
  std::free(&header_of(object));
}

std::int64_t owner_count(Object* object) {
  return storage_of(object) == Storage::heap ? header_of(object).owners.load() : 1;
}

bool retain_if_owned(Object* object) {
  if (storage_of(object) != Storage::heap) return objc_retain(object) != nullptr;
  std::atomic<std::int64_t>& owners = header_of(object).owners;
  std::int64_t now = owners.load(std::memory_order_relaxed);
  while (now > 0) {
    if (owners.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace metal_double::runtime

using namespace metal_double::runtime;

extern "C" {

Object* objc_retain(Object* object) {
  if (object == nullptr) return object;
  const Storage storage = storage_of(object);
  if (storage == Storage::heap) {
    header_of(object).owners.fetch_add(1, std::memory_order_relaxed);
  } else if (storage == Storage::block) {
    retain_block(object);
  }
  return object;
}

void objc_release(Object* object) {
  if (object == nullptr) return;
  const Storage storage = storage_of(object);
  if (storage == Storage::heap) {
    const std::int64_t before = header_of(object).owners.fetch_sub(1, std::memory_order_acq_rel);
    if (before <= 1) deallocate(object, before);
  } else if (storage == Storage::block) {
    _Block_release(object);
  }
}

void objc_storeStrong(Object** place, Object* object) {
  objc_retain(object);
  Object* const before = *place;
  *place = object;
  objc_release(before);
}

Object* objc_alloc(Object* type) { return send(type, selectors().alloc); }
Object* objc_allocWithZone(Object* type) { return send(type, selectors().alloc); }
Object* objc_alloc_init(Object* type) { return send(objc_alloc(type), selectors().init); }
Object* objc_opt_new(Object* type) { return objc_alloc_init(type); }

const void* CFRetain(const void* object) {
  return objc_retain(static_cast<Object*>(const_cast<void*>(object)));
}
void CFRelease(const void* object) {
  objc_release(static_cast<Object*>(const_cast<void*>(object)));
}
}

std::int64_t metal_double::live_object_count() {
  std::int64_t count = 0;
  for (const Class* type : all_classes()) count += type->info->live.load();
  return count;
}

std::string metal_double::live_objects_text() {
  std::string text;
  for (const Class* type : all_classes()) {
    const std::int64_t live = type->info->live.load();
    if (live == 0) continue;
    text += std::string(type->record->name) + " " + std::to_string(live) + "\n";
  }
  return text;
}

void metal_double::leave_uncounted(const void* object) {
  static_cast<const Object*>(object)->isa->info->live.fetch_sub(1);
}

void metal_double::count_again(const void* object) {
  static_cast<const Object*>(object)->isa->info->live.fetch_add(1);
}
