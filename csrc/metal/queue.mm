#include "metal/queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "metal/buffer.h"
#include "metal/encode.h"
#include "metal/in_flight.h"
#include "metal/pipeline.h"
#include "metal/pool.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

constexpr std::size_t most_free_bytes = std::size_t{1} << 30;
// In a command buffer: the GPU begins while the host still encodes the rest of a program.
constexpr std::size_t most_launches = 64;
// Far below the limit of Metal's queue, at which the host waits without Ctrl-C.
constexpr std::size_t most_in_flight = 64;
// Host memory that waits for its copy on the GPU.
constexpr std::size_t most_staged_bytes = std::size_t{1} << 28;
constexpr std::size_t most_names = 8;  // that an error lists
constexpr NSUInteger threads_of_copy = 256;
// Without a deadline.
constexpr auto long_time = std::chrono::hours(24 * 365);

using Name = std::shared_ptr<const std::string>;

struct MetalLaunch final : QueuedLaunch {
  Name name;
  Commands commands;                // without the buffers
  std::vector<std::size_t> places;  // for each binding, of its command
  std::vector<bool> writes;         // to each binding
};

class MetalMarker final : public QueueMarker {
 public:
  explicit MetalMarker(const InFlight& in_flight)
      : buffers_(in_flight.buffers().begin(), in_flight.buffers().end()) {}

  // The first failure is the cause of later ones.
  [[nodiscard]] bool is_reached() override {
    for (const auto& buffer : buffers_) {
      if (!buffer->completion->ended()) return false;
      buffer->check();
    }
    return true;
  }

 private:
  std::vector<std::shared_ptr<CommittedBuffer>> buffers_;
};

class MetalQueue final : public Queue {
 public:
  explicit MetalQueue(std::shared_ptr<Gpu> gpu)
      : Queue(most_free_bytes),
        gpu_(std::move(gpu)),
        id_(next_id()),
        in_flight_(gpu_, [this] { return retire_memory(); }) {}

  [[nodiscard]] std::unique_ptr<QueuedLaunch> prepare(Dispatch dispatch) override {
    return with_pool([&] { return make_launch(dispatch); });
  }

  void launch(QueuedLaunch& queued, std::span<const Buffer> buffers) override {
    const auto& launch = static_cast<const MetalLaunch&>(queued);
    const std::size_t begin = commands_.size();
    commands_.insert(commands_.end(), launch.commands.begin(), launch.commands.end());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      bind(commands_[begin + launch.places[i]], buffers[i], launch.writes[i], *launch.name);
    }
    end_launch(launch.name);
  }

  void copy(const Buffer& to, const Buffer& from) override {
    if (to.size() > 0) launch_copy(to, from);
  }

  void write(const Buffer& to, const std::byte* from) override {
    if (to.size() == 0) return;
    const MetalStorage& storage = storage_of(to, "write");
    if (!is_idle(storage.last_use())) {
      if (in_flight_.staged_bytes() + to.size() <= most_staged_bytes) {
        return write_in_order(to, from);
      }
      commit(without_deadline());
      await(storage.last_use(), without_deadline());
    }
    std::memcpy(to.bytes().data(), from, to.size());
  }

  void read(std::byte* to, const Buffer& from) override {
    const MetalStorage& storage = storage_of(from, "read");
    commit(limits());
    await(storage.last_write(), limits());
    check(storage);
    if (from.size() > 0) std::memcpy(to, from.bytes().data(), from.size());
  }

  void submit() override { commit(limits()); }

  void wait() override {
    commit(limits());
    in_flight_.await(InFlight::all, limits());
    trim_cache();
  }

  void discard() override { forget_launches(); }

  [[nodiscard]] std::shared_ptr<QueueMarker> mark() override {
    if (in_flight_.buffers().empty()) return nullptr;
    return std::make_shared<MetalMarker>(in_flight_);
  }

 private:
  static std::uint16_t next_id() {
    static std::atomic<std::uint32_t> count = 0;
    return static_cast<std::uint16_t>(1 + count++ % (Submission::of_several_queues - 1));
  }

  // The deadline is that of an earlier run.
  [[nodiscard]] Limits without_deadline() const { return {{}, interrupted()}; }

  [[nodiscard]] std::shared_ptr<Storage> allocate_storage(std::size_t size) override {
    try {
      return with_pool([&] { return metal::allocate(gpu_, size); });
    } catch (const OutOfMemoryError&) {
      // Command buffers keep memory that was freed. The caller frees more and tries again.
      const std::lock_guard lock(mutex());
      in_flight_.await(InFlight::all, without_deadline());
      throw;
    }
  }

  [[nodiscard]] std::unique_ptr<QueuedLaunch> make_launch(const Dispatch& dispatch) {
    const PipelineInfo& info = dispatch.pipeline->info();
    const auto& pipeline = dynamic_cast<const MetalPipeline&>(*dispatch.pipeline);
    Script script(*gpu_, false);
    script.add(dispatch, pipeline.state(dispatch.threads));
    script.finish();
    auto made = std::make_unique<MetalLaunch>();
    made->name = std::make_shared<const std::string>(info.name);
    made->commands = script.first_pass();
    for (const Binding& binding : dispatch.bindings) {
      const auto command = std::ranges::find_if(made->commands, [&](const Command& each) {
        return each.kind == Command::Kind::buffer && each.index == binding.index;
      });
      if (!std::holds_alternative<Buffer>(binding.value) || command == made->commands.end()) {
        throw Unsupported("[" + info.name + "] " + binding.name +
                          ": kernels of programs have only buffers on `metal`");
      }
      command->object = nil;  // not the first run's
      made->places.push_back(static_cast<std::size_t>(command - made->commands.begin()));
      const Access access = argument_of(info, binding).access;
      made->writes.push_back(access == Access::write || access == Access::read_write);
    }
    return made;
  }

  void bind(Command& command, const Buffer& buffer, bool writes, const std::string& where) {
    const MetalStorage& storage = storage_of(buffer, where);
    check(storage);
    storage.note_use({.queue = id_, .number = next_number_}, writes);
    if (storage.owner() != nullptr) owners_.push_back(storage.owner());
    command.object = storage.buffer();
    command.offset = storage.offset() + buffer.offset();
  }

  void end_launch(const Name& name) {
    ++launches_;
    if (names_.size() <= most_names && std::ranges::find(names_, name) == names_.end()) {
      names_.push_back(name);
    }
    if (launches_ >= most_launches) commit(limits());
  }

  void launch_copy(const Buffer& to, const Buffer& from) {
    static const Name name = std::make_shared<const std::string>("copy");
    constexpr std::size_t part = CopyKernel::copied_bytes;
    const id<MTLComputePipelineState> state =
        with_pool([&] { return gpu_->copy_kernel().state(); });
    Command target{.kind = Command::Kind::buffer, .index = 0};
    Command source{.kind = Command::Kind::buffer, .index = 1};
    bind(target, to, true, *name);
    bind(source, from, false, *name);
    const std::uint64_t bytes = to.size();
    const std::uint32_t by_bytes = (target.offset | source.offset) % part == 0 ? 0 : 1;
    commands_.push_back({.kind = Command::Kind::pipeline, .object = state});
    commands_.push_back(target);
    commands_.push_back(source);
    commands_.push_back(constant(bytes, 2));
    commands_.push_back(constant(by_bytes, 3));
    commands_.push_back(
        {.kind = Command::Kind::threads,
         .grid = MTLSizeMake((bytes + part - 1) / part, 1, 1),
         .threads =
             MTLSizeMake(std::min(threads_of_copy, state.maxTotalThreadsPerThreadgroup), 1, 1)});
    end_launch(name);
  }

  template <class Number>
  static Command constant(Number number, NSUInteger index) {
    Bytes bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return {.kind = Command::Kind::bytes, .index = index, .bytes = std::move(bytes)};
  }

  // Copy to other memory, from which the GPU copies after all work before.
  void write_in_order(const Buffer& to, const std::byte* from) {
    const Buffer staged(with_pool([&] { return metal::allocate(gpu_, to.size()); }), false);
    std::memcpy(staged.bytes().data(), from, to.size());
    owners_.push_back(staged.storage());
    staged_bytes_ += to.size();
    launch_copy(to, staged);
    // discard() is only for the launches of a run.
    commit(without_deadline());
  }

  // Begin all launches.
  void commit(const Limits& limits) {
    if (commands_.empty()) return;
    const auto& buffers = in_flight_.buffers();
    if (buffers.size() >= most_in_flight) in_flight_.await(buffers.front()->number, limits);
    const std::shared_ptr<OrderedQueue> ordered_queue = gpu_->ordered_queue();
    // Queues of Metal are not ordered among one another.
    if (!buffers.empty() && buffers.back()->ordered_queue != ordered_queue) {
      in_flight_.await(InFlight::all, limits);
    }
    auto buffer = std::make_shared<CommittedBuffer>();
    buffer->number = next_number_;
    buffer->ordered_queue = ordered_queue;
    buffer->names = join_names();
    buffer->owners = std::move(owners_);
    buffer->staged_bytes = staged_bytes_;
    buffer->completion->latest_end = Clock::now() + long_time;
    const bool is_committed = commit(*buffer, limits);
    forget_launches();
    if (!is_committed) {
      ordered_queue->closed = true;
      throw Error("[" + buffer->names + "] Metal gives no command encoder; the GPU may be lost");
    }
    ++next_number_;
    in_flight_.add(std::move(buffer));
  }

  [[nodiscard]] bool commit(const CommittedBuffer& buffer, const Limits& limits) {
    OrderedQueue& ordered_queue = *buffer.ordered_queue;
    const std::lock_guard lock(ordered_queue.mutex);
    const std::shared_ptr<Completion> before = ordered_queue.last;
    if (before != nullptr && ordered_queue.last_is_metal4) InFlight::await(*before, limits);
    if (!encode(buffer, before != nullptr)) return false;
    ordered_queue.last = buffer.completion;
    ordered_queue.last_is_metal4 = false;
    return true;
  }

  // Does not throw, so that the pool is drained.
  [[nodiscard]] bool encode(const CommittedBuffer& made, bool is_after_others) const {
    @autoreleasepool {
      const id<MTLCommandBuffer> buffer = [made.ordered_queue->queue commandBuffer];
      const id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
      if (encoder == nil) return false;
      NSString* const label = to_ns(made.names);
      buffer.label = label;
      encoder.label = label;
      // Do not wait for a fence without an earlier update.
      if (is_after_others) [encoder waitForFence:made.ordered_queue->fence];
      send(commands_, encoder);
      [encoder updateFence:made.ordered_queue->fence];
      [encoder endEncoding];
      Completion::attach(made.completion, buffer);
      [buffer commit];
    }
    return true;
  }

  [[nodiscard]] std::string join_names() const {
    std::string joined;
    for (std::size_t i = 0; i < std::min(names_.size(), most_names); ++i) {
      joined += (i == 0 ? "" : ", ") + *names_[i];
    }
    return names_.size() > most_names ? joined + ", ..." : joined;
  }

  void forget_launches() {
    commands_.clear();
    names_.clear();
    owners_.clear();
    launches_ = 0;
    staged_bytes_ = 0;
  }

  [[nodiscard]] bool is_idle(const Submission& use) {
    if (use.queue == Submission::none) return true;
    if (use.queue == id_) return in_flight_.has_ended(use.number);
    const std::shared_ptr<Completion> last = last_of_device();
    return commands_.empty() && in_flight_.has_ended(InFlight::all) &&
           (last == nullptr || last->ended());
  }

  void await(const Submission& use, const Limits& limits) {
    if (use.queue == Submission::none) return;
    in_flight_.await(use.queue == id_ ? use.number : InFlight::all, limits);
    if (use.queue == id_) return;
    if (const auto last = last_of_device()) InFlight::await(*last, limits);
  }

  // Throw the error of the work that wrote this memory.
  void check(const MetalStorage& storage) const {
    const Submission write = storage.last_write();
    if (write.queue == id_) in_flight_.check(write.number);
  }

  [[nodiscard]] std::shared_ptr<Completion> last_of_device() {
    const std::shared_ptr<OrderedQueue> ordered_queue = gpu_->ordered_queue();
    const std::lock_guard lock(ordered_queue->mutex);
    return ordered_queue->last;
  }

  std::shared_ptr<Gpu> gpu_;
  std::uint16_t id_;
  InFlight in_flight_;
  // Of the next command buffer.
  std::uint64_t next_number_ = 1;
  Commands commands_;
  std::vector<Name> names_;
  std::vector<std::shared_ptr<void>> owners_;
  std::size_t launches_ = 0;
  std::size_t staged_bytes_ = 0;
};

}  // namespace

std::shared_ptr<Queue> make_queue(std::shared_ptr<Gpu> gpu) {
  return std::make_shared<MetalQueue>(std::move(gpu));
}

}  // namespace metalbench::metal
