// The command buffers that a queue has committed, until the host learns of their ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/queue.h"
#include "metal/completion.h"
#include "metal/gpu.h"

namespace metalbench::metal {

struct CommittedBuffer {
  std::uint64_t number = 0;  // each one's is that of the one before, plus 1
  std::shared_ptr<OrderedQueue> ordered_queue;
  std::shared_ptr<Completion> completion = std::make_shared<Completion>();
  std::string names;                          // of the kernels
  std::vector<std::shared_ptr<void>> owners;  // of memory that no MTLBuffer owns
  std::size_t staged_bytes = 0;               // of the owners, for writes of the host
  std::atomic<bool> is_reported = false;      // after a failure was thrown

  // Throw the failure of a command buffer that has ended, if it failed.
  void check();
};

// Of one queue: the functions are called under its mutex.
class InFlight {
 public:
  using Limits = Queue::Limits;
  static constexpr std::uint64_t all = ~std::uint64_t{0};

  // `retire_memory` is the queue's; see StorageCache::retire().
  InFlight(std::shared_ptr<Gpu> gpu, std::function<std::shared_ptr<void>()> retire_memory)
      : gpu_(std::move(gpu)), retire_memory_(std::move(retire_memory)) {}
  // Does not wait: the device keeps the owners until the last command buffer has ended.
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void add(std::shared_ptr<CommittedBuffer> buffer);
  [[nodiscard]] const std::deque<std::shared_ptr<CommittedBuffer>>& buffers() const {
    return buffers_;
  }
  [[nodiscard]] std::size_t staged_bytes() const { return staged_bytes_; }

  // Return whether the command buffers have ended, up to this number.
  [[nodiscard]] bool has_ended(std::uint64_t number) const;
  // Wait until they have. Throws the first failure, if no other call or QueueMarker has;
  // TimeLimitExceeded; Interrupted. After the last two, buffers are abandoned if the first one does
  // not end soon. The results of all buffers in flight are then lost, as after a failure.
  void await(std::uint64_t number, const Limits& limits);
  // Wait for other work of the device. Throws TimeLimitExceeded, Interrupted.
  static void await(Completion& completion, const Limits& limits);
  // Throw the error of a lost result of this command buffer.
  void check(std::uint64_t number) const;

 private:
  struct Lost {
    std::uint64_t first = 0, last = 0;
    std::exception_ptr error;
  };

  void remove_first();
  void lose(std::exception_ptr error);
  [[nodiscard]] std::vector<std::shared_ptr<void>> take_owners();

  std::shared_ptr<Gpu> gpu_;
  std::function<std::shared_ptr<void>()> retire_memory_;
  std::deque<std::shared_ptr<CommittedBuffer>> buffers_;
  std::size_t staged_bytes_ = 0;
  std::vector<Lost> lost_;
};

}  // namespace metalbench::metal
