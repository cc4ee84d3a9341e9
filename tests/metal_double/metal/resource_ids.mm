#include "resource_ids.h"

#include <map>
#include <mutex>

namespace metal_double {
namespace {

struct Entry {
  __weak id object;
};

struct Numbers {
  std::mutex mutex;
  std::map<std::uint64_t, Entry> objects;
  std::map<std::uint64_t, Entry> buffers;  // by their first address
  std::uint64_t next = 0xd0b1'0000'0001;
};

Numbers& numbers() {
  static Numbers& only = *new Numbers;
  return only;
}

}  // namespace

MTLResourceID enter(id object) {
  const std::scoped_lock lock(numbers().mutex);
  const std::uint64_t number = numbers().next++;
  numbers().objects[number].object = object;
  return {number};
}

void leave(MTLResourceID number) {
  const std::scoped_lock lock(numbers().mutex);
  numbers().objects.erase(number._impl);
}

id find_object(MTLResourceID number) {
  const std::scoped_lock lock(numbers().mutex);
  const auto found = numbers().objects.find(number._impl);
  return found == numbers().objects.end() ? nil : found->second.object;
}

void enter(DoubleBuffer* buffer) {
  const std::scoped_lock lock(numbers().mutex);
  std::erase_if(numbers().buffers, [](const auto& one) { return one.second.object == nil; });
  numbers().buffers[buffer->_gpuAddress].object = buffer;
}

DoubleBuffer* find_buffer(std::uint64_t address) {
  const std::scoped_lock lock(numbers().mutex);
  auto after = numbers().buffers.upper_bound(address);
  if (after == numbers().buffers.begin()) return nil;
  auto* const buffer = static_cast<DoubleBuffer*>((--after)->second.object);
  return buffer != nil && address < buffer->_gpuAddress + buffer->_length ? buffer : nil;
}

}  // namespace metal_double
