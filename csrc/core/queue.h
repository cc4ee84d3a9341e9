// Queues of launches, for programs of many small kernels: nothing is timed, and the host waits only
// where it needs a value.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/dispatch.h"
#include "core/storage_cache.h"
#include "core/types.h"

namespace metalbench {

class Device;

// A dispatch that is submitted many times with other buffers. It belongs to one queue.
class QueuedLaunch {
 public:
  virtual ~QueuedLaunch() = default;
};

// Work that is recorded once and launched many times. It belongs to one queue.
class QueuedGraph {
 public:
  virtual ~QueuedGraph() = default;
};

// A position in a queue: the end of all work that was submitted before.
class QueueMarker {
 public:
  virtual ~QueueMarker() = default;
  // Throws KernelFault for work before the position.
  [[nodiscard]] virtual bool is_reached() = 0;
};

// Work is executed in the order of its submission. One thread at a time may call the functions:
// hold the mutex for a sequence of calls. Errors of submitted work are thrown by a later call.
class Queue {
 public:
  explicit Queue(std::size_t most_free_bytes)
      : cache_(std::make_shared<StorageCache>(most_free_bytes)) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] std::recursive_mutex& mutex() { return mutex_; }
  // Limits of all waits from now on. Without a deadline there is no time limit.
  struct Limits {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    InterruptPoll interrupted;
  };
  void set_limits(Limits limits) { limits_ = std::move(limits); }
  [[nodiscard]] const Limits& limits() const { return limits_; }

  // Throws TimeLimitExceeded after the deadline, Interrupted for Ctrl-C.
  void check_limits() const;

  // Return memory with undefined contents. It returns to the queue's cache when the last reference
  // is released, also if submitted work still uses it. Throws OutOfMemoryError.
  [[nodiscard]] Buffer allocate(std::size_t size);
  // Bytes of memory in use, the largest number so far, and in the cache.
  [[nodiscard]] const StorageCache& cache() const { return *cache_; }

  [[nodiscard]] virtual std::unique_ptr<QueuedLaunch> prepare(Dispatch dispatch) = 0;
  // Submit a launch with these buffers, in the order of the dispatch's bindings.
  virtual void launch(QueuedLaunch& launch, std::span<const Buffer> buffers) = 0;
  virtual void copy(const Buffer& to, const Buffer& from) = 0;
  // The caller may change its memory after the return.
  virtual void write(const Buffer& to, const std::byte* from) = 0;
  // Wait for the bytes and copy them.
  virtual void read(std::byte* to, const Buffer& from) = 0;
  // Return a graph without work; null if the queue has none.
  [[nodiscard]] virtual std::unique_ptr<QueuedGraph> make_graph() { return nullptr; }
  // Call `work`: its launches and copies become those of the graph, and are not submitted. `work`
  // must neither read nor wait. Memory of the graph must live until its last launch is submitted.
  virtual void record(QueuedGraph&, const std::function<void()>&) {}
  // Submit the work of a graph.
  virtual void launch_graph(QueuedGraph&) {}
  // Begin all submitted work; a queue without work in the background completes it.
  virtual void submit() = 0;
  // Wait until all submitted work has ended. Throws KernelFault, TimeLimitExceeded, Interrupted.
  virtual void wait() = 0;
  // Discard work that was submitted and has not begun, after an error.
  virtual void discard() {}
  // Return the current position; null if submitted work always ends before submit() returns.
  [[nodiscard]] virtual std::shared_ptr<QueueMarker> mark() { return nullptr; }

 protected:
  [[nodiscard]] virtual std::shared_ptr<Storage> allocate_storage(std::size_t size) = 0;
  // Return the time until the deadline. Throws TimeLimitExceeded after it.
  [[nodiscard]] std::chrono::nanoseconds time_left() const;
  [[nodiscard]] const InterruptPoll& interrupted() const { return limits_.interrupted; }
  // Free memory beyond the limit of the cache. Call when no submitted work uses freed memory.
  void trim_cache() { cache_->trim(); }
  // See StorageCache::retire().
  [[nodiscard]] std::shared_ptr<void> retire_memory() { return cache_->retire(); }

 private:
  std::recursive_mutex mutex_;
  std::shared_ptr<StorageCache> cache_;
  Limits limits_;
};

// A queue of any device, over Device::prepare. Work begins when the host waits for it.
class DispatchQueue final : public Queue {
 public:
  DispatchQueue(std::shared_ptr<Device> device, bool checked);

  [[nodiscard]] std::unique_ptr<QueuedLaunch> prepare(Dispatch dispatch) override;
  void launch(QueuedLaunch& launch, std::span<const Buffer> buffers) override;
  void copy(const Buffer& to, const Buffer& from) override;
  void write(const Buffer& to, const std::byte* from) override;
  void read(std::byte* to, const Buffer& from) override;
  void submit() override { wait(); }
  void wait() override;
  void discard() override { pending_.clear(); }
  // Return the dispatches that have not begun, in order, and forget them.
  [[nodiscard]] std::vector<Dispatch> take_pending() { return std::exchange(pending_, {}); }

 private:
  [[nodiscard]] std::shared_ptr<Storage> allocate_storage(std::size_t size) override;

  std::shared_ptr<Device> device_;
  bool checked_;
  std::vector<Dispatch> pending_;
};

[[nodiscard]] std::shared_ptr<Queue> make_dispatch_queue(std::shared_ptr<Device> device,
                                                         bool checked);

}  // namespace metalbench
