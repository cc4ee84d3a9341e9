// Free memory of a queue, which later allocations of the same size class take again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/buffer.h"

namespace metalbench {

class StorageCache : public std::enable_shared_from_this<StorageCache> {
 public:
  explicit StorageCache(std::size_t most_free_bytes) : most_free_bytes_(most_free_bytes) {}

  // Return memory of at least `size` bytes: a free one, or what `make` allocates. It becomes free
  // with the last reference to the result.
  [[nodiscard]] std::shared_ptr<Storage> take(
      std::size_t size, const std::function<std::shared_ptr<Storage>(std::size_t)>& make);
  // Return memory of another cache, which becomes free here with the last reference to the result.
  [[nodiscard]] std::shared_ptr<Storage> adopt(std::shared_ptr<Storage> storage);
  // Release free memory to the device until the limit holds.
  void trim() { trim_to(most_free_bytes_); }
  void clear() { trim_to(0); }
  // Allocate no memory again that is free or in use now: work that was abandoned may still write to
  // it. Free memory is released with the result, other memory by its users.
  [[nodiscard]] std::shared_ptr<void> retire();

  [[nodiscard]] std::vector<Buffer> free_buffers() const;
  [[nodiscard]] std::size_t used_bytes() const;
  [[nodiscard]] std::size_t peak_bytes() const;
  [[nodiscard]] std::size_t free_bytes() const;

 private:
  // Memory that was retired together.
  using Retired = std::vector<std::shared_ptr<Storage>>;

  [[nodiscard]] static std::size_t size_class(std::size_t size);
  [[nodiscard]] std::shared_ptr<Storage> lend(std::shared_ptr<Storage> storage, std::size_t size);
  // `generation` is next_retired_ at the time when the memory was taken.
  void give_back(std::shared_ptr<Storage> storage, std::size_t size, Retired& generation);
  void trim_to(std::size_t bytes);

  mutable std::mutex mutex_;
  std::size_t most_free_bytes_;
  std::size_t used_bytes_ = 0, peak_bytes_ = 0, free_bytes_ = 0;
  std::map<std::size_t, std::vector<std::shared_ptr<Storage>>> free_;
  std::shared_ptr<Retired> next_retired_ = std::make_shared<Retired>();
};

}  // namespace metalbench
