#include "runtime/weak.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/objects.h"

namespace metal_double::runtime {
namespace {

struct References {
  std::mutex mutex;
  std::unordered_map<Object*, std::vector<Object**>> places;
};

References& references() {
  static References& only = *new References;
  return only;
}

void leave(Object** place) {
  if (*place == nullptr) return;
  std::vector<Object**>& places = references().places[*place];
  std::erase(places, place);
  if (places.empty()) references().places.erase(*place);
  *place = nullptr;
}

void enter(Object** place, Object* object) {
  if (object != nullptr && storage_of(object) == Storage::heap) {
    header_of(object).weakly_referenced.store(true, std::memory_order_release);
    if (header_of(object).owners.load() <= 0) object = nullptr;
  }
  *place = object;
  if (object != nullptr) references().places[object].push_back(place);
}

}  // namespace

void forget_weakly(Object* object) {
  const std::scoped_lock lock(references().mutex);
  const auto found = references().places.find(object);
  if (found == references().places.end()) return;
  for (Object** place : found->second) *place = nullptr;
  references().places.erase(found);
}

}  // namespace metal_double::runtime

using namespace metal_double::runtime;

extern "C" {

Object* objc_initWeak(Object** place, Object* object) {
  const std::scoped_lock lock(references().mutex);
  enter(place, object);
  return *place;
}

Object* objc_storeWeak(Object** place, Object* object) {
  const std::scoped_lock lock(references().mutex);
  leave(place);
  enter(place, object);
  return *place;
}

void objc_destroyWeak(Object** place) {
  const std::scoped_lock lock(references().mutex);
  leave(place);
}

Object* objc_loadWeakRetained(Object** place) {
  const std::scoped_lock lock(references().mutex);
  Object* const object = *place;
  return object != nullptr && retain_if_owned(object) ? object : nullptr;
}

Object* objc_loadWeak(Object** place) { return objc_autorelease(objc_loadWeakRetained(place)); }

void objc_copyWeak(Object** to, Object** from) {
  Object* const object = objc_loadWeakRetained(from);
  objc_initWeak(to, object);
  objc_release(object);
}

void objc_moveWeak(Object** to, Object** from) {
  objc_copyWeak(to, from);
  objc_destroyWeak(from);
}
}
