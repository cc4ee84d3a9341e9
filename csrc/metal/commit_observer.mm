#include "metal/commit_observer.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "metal/busy.h"
#include "metal/commit_hook.h"
#include "metal/completion.h"

namespace metalbench::metal {
namespace {

using namespace std::chrono_literals;

// MLX has already waited for its last command buffer; only Metal's notification may be late.
constexpr auto patience = 2s;

// Command buffers of one window; they may outlive it.
class ObservedWindow {
 public:
  // Call before the commit. The handler shares ownership.
  static void add(const std::shared_ptr<ObservedWindow>& seen, id<MTLCommandBuffer> buffer) {
    const std::shared_ptr<ObservedWindow> share = seen;  // blocks do not retain references
    {
      const std::lock_guard lock(share->mutex_);
      ++share->pending_;
    }
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> ended) {
      share->take(ended);
    }];
  }

  [[nodiscard]] Observation observation() {
    std::unique_lock lock(mutex_);
    const bool all = changed_.wait_for(lock, patience, [this] { return pending_ == 0; });
    const double busy = all && !is_unknown_ ? busy_ns(spans_) : 0;
    return {.device_ns = busy > 0 ? busy : std::numeric_limits<double>::quiet_NaN(),
            .command_buffers = static_cast<std::uint32_t>(spans_.size())};
  }

 private:
  void take(id<MTLCommandBuffer> buffer) {
    const Span span = span_of(buffer);
    // A command buffer without GPU work may have no times.
    const bool is_told = is_time(span) || span.start_ns == span.end_ns;
    {
      const std::lock_guard lock(mutex_);
      spans_.push_back(span);
      if (buffer.status != MTLCommandBufferStatusCompleted || !is_told) is_unknown_ = true;
      --pending_;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Span> spans_;
  std::size_t pending_ = 0;
  bool is_unknown_ = false;
};

class Listener final : public CommitListener {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    window_ = std::make_shared<ObservedWindow>();
  }
  [[nodiscard]] std::shared_ptr<ObservedWindow> end() {
    const std::lock_guard lock(mutex_);
    return std::exchange(window_, nullptr);
  }
  void committing(id<MTLCommandBuffer> buffer) override {
    const std::shared_ptr<ObservedWindow> window = current();
    if (window != nullptr && !is_of_ours(buffer)) ObservedWindow::add(window, buffer);
  }

 private:
  [[nodiscard]] static bool is_of_ours(id<MTLCommandBuffer> buffer) {
    return [buffer.commandQueue.label isEqualToString:queue_label];
  }
  [[nodiscard]] std::shared_ptr<ObservedWindow> current() {
    const std::lock_guard lock(mutex_);
    return window_;
  }

  std::mutex mutex_;
  std::shared_ptr<ObservedWindow> window_;  // null between windows
};

class CommitObserver final : public Observer {
 public:
  explicit CommitObserver(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  ~CommitObserver() override { CommitHook::only().remove(listener_); }
  CommitObserver(const CommitObserver&) = delete;
  CommitObserver& operator=(const CommitObserver&) = delete;

  void begin() override { listener_->begin(); }
  [[nodiscard]] Observation end() override { return listener_->end()->observation(); }

 private:
  std::shared_ptr<Listener> listener_;
};

}  // namespace

std::unique_ptr<Observer> observe_commits(Gpu& gpu) {
  const auto listener = std::make_shared<Listener>();
  if (!CommitHook::only().add(listener, gpu.ordered_queue()->queue)) return nullptr;
  return std::make_unique<CommitObserver>(listener);
}

}  // namespace metalbench::metal
