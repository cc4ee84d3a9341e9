#include "metal/window.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "metal/failure.h"
#include "metal/metal4.h"
#include "metal/pool.h"

namespace metalbench::metal {
namespace {

using namespace std::chrono_literals;

constexpr auto poll_interval = 20ms;
// Time that a window may still take after Ctrl-C before it is abandoned.
constexpr auto grace = 250ms;

// Encoding them takes some tens of microseconds.
constexpr std::size_t first_dispatches = 64;

// Return the passes of each command buffer, at most `most` unless that is 0.
std::vector<std::uint32_t> chunks_of(std::uint32_t passes, std::size_t dispatches,
                                     std::uint32_t most) {
  std::vector<std::uint32_t> chunks;
  auto next = static_cast<std::uint32_t>(std::max<std::size_t>(1, first_dispatches / dispatches));
  if (most == 0) most = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t left = passes;
  do {
    chunks.push_back(std::min({left, next, most}));
    left -= chunks.back();
    next = next > most / 2 ? most : 2 * next;
  } while (left > 0);
  return chunks;
}

// Throws TimeLimitExceeded, Interrupted.
void wait_for(Completion& completion, Gpu& gpu, const RunOptions& options) {
  const Clock::time_point deadline = Clock::now() + options.time_limit;
  while (!completion.wait_until(std::min(deadline, Clock::now() + poll_interval))) {
    if (options.interrupted && gpu.poll_is_due() && options.interrupted()) throw Interrupted();
    if (Clock::now() >= deadline) time_is_up(options.time_limit, "what was started before");
  }
}

double ns_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - start).count();
}

}  // namespace

Window::Window(std::shared_ptr<Gpu> gpu, std::shared_ptr<const Script> script,
               const RunOptions& options)
    : gpu_(std::move(gpu)),
      script_(std::move(script)),
      limit_(options.time_limit),
      interrupted_(options.interrupted),
      ordered_queue_(gpu_->ordered_queue()) {
  const std::lock_guard lock(ordered_queue_->mutex);
  before_ = ordered_queue_->last;
  open_queue(options);
  const std::vector<std::uint32_t> chunks =
      chunks_of(options.passes, script_->dispatches(), options.passes_per_command_buffer);
  completion_ = std::make_shared<Completion>(chunks.size());
  if (!script_->is_metal4()) completion_->samples = gpu_->counters().take();
  const std::size_t committed = commit(chunks);
  committed_at_ = Clock::now();
  ordered_queue_->last = completion_;
  ordered_queue_->last_is_metal4 = script_->is_metal4();
  if (committed == chunks.size()) return;
  completion_->leave_out(chunks.size() - committed);
  abandon();
  throw Error("[" + script_->names() + "] Metal gives no command encoder; the GPU may be lost");
}

void Window::open_queue(const RunOptions& options) {
  const bool is_metal4 = script_->is_metal4();
  if (is_metal4 && ordered_queue_->metal4 == nil) {
    ordered_queue_->metal4 = with_pool([this] { return new_metal4_queue(*gpu_); });
  }
  const bool other_queue = before_ != nullptr && ordered_queue_->last_is_metal4 != is_metal4;
  if (other_queue) wait_for(*before_, *gpu_, options);
}

std::size_t Window::commit(const std::vector<std::uint32_t>& passes) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point start =
      before_ == nullptr || before_->ended() ? now : std::max(now, before_->latest_end);
  completion_->latest_end = start + limit_;
  std::size_t done = 0;
  while (done < passes.size() && commit(passes[done], done == 0, done + 1 == passes.size())) ++done;
  return done;
}

// Does not throw, so that the pool is drained.
bool Window::commit(std::uint32_t passes, bool is_first, bool is_last) {
  @autoreleasepool {
    if (script_->is_metal4()) {
      return commit_metal4(gpu_->device(), ordered_queue_->metal4, *script_, passes, completion_);
    }
    const id<MTLCommandBuffer> buffer = [ordered_queue_->queue commandBuffer];
    const id<MTLComputeCommandEncoder> encoder = open_encoder(buffer, is_first, is_last);
    if (encoder == nil) return false;
    buffer.label = script_->label();
    encoder.label = script_->label();
    // Do not wait for a fence without an earlier update.
    if (before_ != nullptr || !is_first) [encoder waitForFence:ordered_queue_->fence];
    script_->encode(encoder, passes);
    [encoder updateFence:ordered_queue_->fence];
    [encoder endEncoding];
    Completion::attach(completion_, buffer);
    [buffer commit];
  }
  return true;
}

id<MTLComputeCommandEncoder> Window::open_encoder(id<MTLCommandBuffer> buffer, bool is_first,
                                                  bool is_last) const {
  if (completion_->samples == nil || !(is_first || is_last)) return [buffer computeCommandEncoder];
  MTLComputePassDescriptor* const pass = [MTLComputePassDescriptor computePassDescriptor];
  MTLComputePassSampleBufferAttachmentDescriptor* const ends = pass.sampleBufferAttachments[0];
  ends.sampleBuffer = completion_->samples;
  ends.startOfEncoderSampleIndex = is_first ? 0 : MTLCounterDontSample;
  ends.endOfEncoderSampleIndex = is_last ? 1 : MTLCounterDontSample;
  return [buffer computeCommandEncoderWithDescriptor:pass];
}

Window::~Window() {
  if (left_) return;
  const Clock::time_point last = Clock::now() + limit_;
  while (!completion_->wait_until(std::min(last, Clock::now() + poll_interval))) {
    if (!ordered_queue_->hangs && Clock::now() < last) continue;
    abandon();
    return;
  }
  leave();
}

Timing Window::wait() {
  return with_pool([this] { return await_timing(); });
}

Timing Window::await_timing() {
  await_end();
  leave();
  // Metal may ignore later work on a queue that had a fault.
  if (completion_->status != MTLCommandBufferStatusCompleted) ordered_queue_->closed = true;
  check(*completion_, script_->names());
  return timing();
}

void Window::leave() noexcept {
  left_ = true;
  @autoreleasepool {
    // Read before another window reuses the sample buffer.
    static_cast<void>(completion_->counter_span());
  }
  gpu_->counters().give_back(completion_->samples);
}

Clock::time_point Window::deadline() const {
  if (before_ == nullptr) return committed_at_ + limit_;
  if (!before_->ended()) return completion_->latest_end;
  return std::max(committed_at_, before_->ended_at) + limit_;
}

void Window::await_end() {
  const auto is_interrupted = [this] {
    return interrupted_ && gpu_->poll_is_due() && interrupted_();
  };
  while (!completion_->wait_until(std::min(deadline(), Clock::now() + poll_interval))) {
    if (is_interrupted()) {
      completion_->wait_until(Clock::now() + grace) ? leave() : abandon();
      throw Interrupted();
    }
    if (Clock::now() >= deadline()) {
      abandon();
      time_is_up(limit_, script_->names());
    }
  }
  if (is_interrupted()) {
    leave();
    throw Interrupted();
  }
}

void Window::abandon() noexcept {
  left_ = true;
  ordered_queue_->hangs = true;
  ordered_queue_->closed = true;
  gpu_->keep_until_ended(completion_, std::const_pointer_cast<Script>(script_));
}

Timing Window::timing() const {
  // Queues complete in order, but the host may be notified in another order.
  const bool queued = before_ != nullptr && before_->wait_until(Clock::now() + poll_interval);
  const Clock::time_point start = queued ? std::max(begun_at_, before_->ended_at) : begun_at_;
  return {.device_ns = device_ns(),
          .counter_ns = counter_ns(),
          .wall_ns = ns_between(start, completion_->ended_at),
          .encode_ns = ns_between(begun_at_, committed_at_),
          .command_buffers = static_cast<std::uint32_t>(completion_->spans.size())};
}

double Window::device_ns() const {
  // For Metal, a window that waits for the previous one has already started.
  const bool queued = before_ != nullptr && before_->ended() && !before_->spans.empty();
  const double from = queued ? before_->spans.back().end_ns : 0;
  const double busy = busy_ns(completion_->spans, from);
  const auto odd = std::ranges::find_if_not(completion_->spans, is_time);
  if (busy > 0 && odd == completion_->spans.end()) return busy;
  const Span& shown = odd == completion_->spans.end() ? completion_->spans.back() : *odd;
  throw Error("[" + script_->names() + "] Metal gives no usable GPU time: start " +
              std::to_string(shown.start_ns) + " ns, end " + std::to_string(shown.end_ns) +
              " ns, end of the window before " + std::to_string(from) + " ns; run it again");
}

double Window::counter_ns() const {
  const std::optional<CounterSpan> span = completion_->counter_span();
  if (!span) return std::numeric_limits<double>::quiet_NaN();
  const std::optional<CounterSpan> other =
      before_ != nullptr && before_->ended() ? before_->counter_span() : std::nullopt;
  const std::uint64_t from = other ? std::max(span->start, other->end) : span->start;
  if (span->end <= from) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(span->end - from) * gpu_->counters().ns_per_tick();
}

void await_idle(Gpu& gpu, const RunOptions& options) {
  const std::shared_ptr<OrderedQueue> ordered_queue = gpu.ordered_queue();
  const std::shared_ptr<Completion> last = [&] {
    const std::lock_guard lock(ordered_queue->mutex);
    return ordered_queue->last;
  }();
  if (last != nullptr) wait_for(*last, gpu, options);
}

}  // namespace metalbench::metal
