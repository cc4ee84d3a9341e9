#include "metal/buffer.h"

#include <mach/vm_page_size.h>

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace metalbench::metal {
namespace {

std::uintptr_t page_bytes() { return vm_page_size; }

std::uintptr_t round_up(std::uintptr_t value, std::uintptr_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

[[noreturn]] void out_of_memory(const Gpu& gpu, std::size_t size) {
  const Capabilities& capabilities = gpu.capabilities();
  throw OutOfMemoryError(
      "metal: cannot allocate " + std::to_string(size) + " bytes; " + capabilities.name +
      " takes at most " + std::to_string(capabilities.max_buffer_bytes) + " in one buffer, and " +
      std::to_string(gpu.device().currentAllocatedSize) + " bytes are allocated already");
}

id<MTLBuffer> new_buffer(const Gpu& gpu, std::size_t length, std::size_t size) {
  const id<MTLBuffer> buffer =
      length < size || length > gpu.capabilities().max_buffer_bytes
          ? nil
          : [gpu.device() newBufferWithLength:length options:MTLResourceStorageModeShared];
  if (buffer == nil) out_of_memory(gpu, size);
  buffer.label = @"metalbench: allocated";
  return buffer;
}

constexpr unsigned number_bits = 48;

std::uint64_t pack(const Submission& submission) {
  return std::uint64_t{submission.queue} << number_bits | submission.number;
}

Submission unpack(std::uint64_t packed) {
  return {.queue = static_cast<std::uint16_t>(packed >> number_bits),
          .number = packed & ((std::uint64_t{1} << number_bits) - 1)};
}

std::uintptr_t address_of(id<MTLBuffer> buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.contents);
}

}  // namespace

MetalStorage::MetalStorage(const Gpu& gpu, Place place, std::shared_ptr<void> owner)
    : residency_(gpu.residency()), owner_(std::move(owner)), place_(place) {
  residency_->add(place_.buffer);
}

MetalStorage::~MetalStorage() {
  residency_->remove(place_.buffer);
  place_.buffer = nil;  // release before the memory's owner
}

std::span<std::byte> MetalStorage::bytes() {
  return {static_cast<std::byte*>(place_.buffer.contents) + place_.offset, place_.size};
}

void MetalStorage::note_use(const Submission& by, bool writes) const {
  const std::uint64_t packed = pack(by);
  const Submission before = unpack(last_use_.exchange(packed));
  if (before.queue != Submission::none && before.queue != by.queue) has_several_queues_ = true;
  if (writes) last_write_ = packed;
}

Submission MetalStorage::last(const std::atomic<std::uint64_t>& packed) const {
  if (has_several_queues_) return {.queue = Submission::of_several_queues};
  return unpack(packed);
}

std::shared_ptr<Storage> allocate(const std::shared_ptr<Gpu>& gpu, std::size_t size) {
  const std::size_t length = std::max<std::size_t>(size, 1);
  id<MTLBuffer> buffer = new_buffer(*gpu, length, size);
  NSUInteger offset = 0;
  if (address_of(buffer) % page_bytes() != 0) {
    // Metal places small buffers on shared pages.
    buffer = new_buffer(*gpu, length + page_bytes(), size);
    offset = round_up(address_of(buffer), page_bytes()) - address_of(buffer);
  }
  return std::make_shared<MetalStorage>(*gpu, MetalStorage::Place{buffer, offset, size}, nullptr);
}

std::shared_ptr<Storage> wrap(const std::shared_ptr<Gpu>& gpu, std::span<std::byte> memory,
                              std::shared_ptr<void> owner) {
  constexpr std::uintptr_t alignment = 16;  // of the widest vector load of a kernel
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || begin % alignment != 0) return nullptr;
  // Metal shares only whole pages.
  const std::uintptr_t first = begin / page_bytes() * page_bytes();
  const std::uintptr_t end = round_up(begin + memory.size(), page_bytes());
  const id<MTLBuffer> buffer =
      [gpu->device() newBufferWithBytesNoCopy:reinterpret_cast<void*>(first)
                                       length:end - first
                                      options:MTLResourceStorageModeShared
                                  deallocator:nil];
  if (buffer == nil) return nullptr;
  buffer.label = @"metalbench: shared with the host";
  return std::make_shared<MetalStorage>(
      *gpu, MetalStorage::Place{buffer, begin - first, memory.size()}, std::move(owner));
}

const MetalStorage& storage_of(const Buffer& buffer, const std::string& where) {
  const auto* storage = dynamic_cast<const MetalStorage*>(buffer.storage().get());
  if (storage != nullptr) return *storage;
  throw DispatchError(where + ": the buffer belongs to another device; make it on this one");
}

}  // namespace metalbench::metal
