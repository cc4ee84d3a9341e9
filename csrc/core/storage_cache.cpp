#include "core/storage_cache.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "core/errors.h"

namespace metalbench {
namespace {

// Sizes differ by this many bytes at least, and by an eighth of a power of two.
constexpr std::size_t least_step = 256;
constexpr unsigned step_bits = 3;

}  // namespace

std::size_t StorageCache::size_class(std::size_t size) {
  // Never empty: a kernel needs an address.
  size = std::max<std::size_t>(size, 1);
  const std::size_t step = std::max(least_step, std::bit_floor(size) >> step_bits);
  return (size + step - 1) / step * step;
}

std::shared_ptr<Storage> StorageCache::take(
    std::size_t size, const std::function<std::shared_ptr<Storage>(std::size_t)>& make) {
  const std::size_t bytes = size_class(size);
  std::shared_ptr<Storage> found;
  {
    const std::lock_guard lock(mutex_);
    const auto list = free_.find(bytes);
    if (list != free_.end() && !list->second.empty()) {
      found = std::move(list->second.back());
      list->second.pop_back();
      free_bytes_ -= bytes;
    }
  }
  if (found == nullptr) {
    try {
      found = make(bytes);
    } catch (const OutOfMemoryError&) {
      clear();
      found = make(bytes);
    }
  }
  return lend(std::move(found), bytes);
}

std::shared_ptr<Storage> StorageCache::adopt(std::shared_ptr<Storage> storage) {
  const std::size_t bytes = size_class(storage->size());
  return lend(std::move(storage), bytes);
}

std::shared_ptr<Storage> StorageCache::lend(std::shared_ptr<Storage> storage, std::size_t size) {
  std::shared_ptr<Retired> generation;
  {
    const std::lock_guard lock(mutex_);
    used_bytes_ += size;
    peak_bytes_ = std::max(peak_bytes_, used_bytes_);
    generation = next_retired_;
  }
  Storage* lent = storage.get();
  return {lent, [cache = shared_from_this(), storage = std::move(storage), size,
                 generation = std::move(generation)](Storage*) mutable {
            cache->give_back(std::move(storage), size, *generation);
          }};
}

void StorageCache::give_back(std::shared_ptr<Storage> storage, std::size_t size,
                             Retired& generation) {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= size;
  if (&generation != next_retired_.get()) {
    generation.push_back(std::move(storage));
    return;
  }
  free_bytes_ += size;
  free_[size].push_back(std::move(storage));
}

std::shared_ptr<void> StorageCache::retire() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, list] : free_) std::ranges::move(list, std::back_inserter(*next_retired_));
  free_.clear();
  free_bytes_ = 0;
  return std::exchange(next_retired_, std::make_shared<Retired>());
}

void StorageCache::trim_to(std::size_t bytes) {
  std::vector<std::shared_ptr<Storage>> released;
  const std::lock_guard lock(mutex_);
  // The largest first: few of them make enough room.
  for (auto list = free_.rbegin(); list != free_.rend() && free_bytes_ > bytes; ++list) {
    while (!list->second.empty() && free_bytes_ > bytes) {
      released.push_back(std::move(list->second.back()));
      list->second.pop_back();
      free_bytes_ -= list->first;
    }
  }
}

std::vector<Buffer> StorageCache::free_buffers() const {
  const std::lock_guard lock(mutex_);
  std::vector<Buffer> found;
  for (const auto& [size, list] : free_) {
    for (const auto& storage : list) found.push_back(Buffer(storage, false));
  }
  return found;
}

std::size_t StorageCache::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::size_t StorageCache::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

std::size_t StorageCache::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_bytes_;
}

}  // namespace metalbench
