// What the compiler calls for properties that are atomic, copied or structures, and @synchronized.
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/dispatch_table.h"
#include "runtime/objects.h"
#include "runtime/selectors.h"

using namespace metal_double::runtime;

namespace {

std::mutex& property_mutex() {
  static std::mutex& only = *new std::mutex;
  return only;
}

Object** place_of(Object* self, std::ptrdiff_t offset) {
  return reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + offset);
}

Object* copied(Object* value) {
  static const Selector copy = unique_selector("copy");
  if (value == nullptr) return nullptr;
  return call<Object*>(find_method(value->isa, copy), value, copy);
}

// Takes over one owner of `value`.
void replace(Object* self, std::ptrdiff_t offset, Object* value) {
  Object* before = nullptr;
  {
    const std::scoped_lock lock(property_mutex());
    before = std::exchange(*place_of(self, offset), value);
  }
  objc_release(before);
}

std::recursive_mutex& mutex_of(Object* object) {
  static std::mutex& mutex = *new std::mutex;
  static auto& mutexes = *new std::map<Object*, std::recursive_mutex>;
  const std::scoped_lock lock(mutex);
  return mutexes[object];
}

}  // namespace

extern "C" {

Object* objc_autoreleaseReturnValue(Object* object);

Object* objc_getProperty(Object* self, Selector, std::ptrdiff_t offset, signed char) {
  Object* value = nullptr;
  {
    const std::scoped_lock lock(property_mutex());
    value = objc_retain(*place_of(self, offset));
  }
  return objc_autoreleaseReturnValue(value);
}

void objc_setProperty_atomic(Object* self, Selector, Object* value, std::ptrdiff_t offset) {
  replace(self, offset, objc_retain(value));
}

void objc_setProperty_nonatomic(Object* self, Selector, Object* value, std::ptrdiff_t offset) {
  replace(self, offset, objc_retain(value));
}

void objc_setProperty_atomic_copy(Object* self, Selector, Object* value, std::ptrdiff_t offset) {
  replace(self, offset, copied(value));
}

void objc_setProperty_nonatomic_copy(Object* self, Selector, Object* value, std::ptrdiff_t offset) {
  replace(self, offset, copied(value));
}

void objc_setProperty(Object* self, Selector, std::ptrdiff_t offset, Object* value, signed char,
                      signed char copy) {
  replace(self, offset, copy != 0 ? copied(value) : objc_retain(value));
}

void objc_copyStruct(void* to, const void* from, std::ptrdiff_t size, signed char, signed char) {
  const std::scoped_lock lock(property_mutex());
  std::memmove(to, from, static_cast<std::size_t>(size));
}

void objc_copyCppObjectAtomic(void* to, const void* from, void (*copy)(void*, const void*)) {
  const std::scoped_lock lock(property_mutex());
  copy(to, from);
}

int objc_sync_enter(Object* object) {
  if (object != nullptr) mutex_of(object).lock();
  return 0;
}

int objc_sync_exit(Object* object) {
  if (object != nullptr) mutex_of(object).unlock();
  return 0;
}
}
