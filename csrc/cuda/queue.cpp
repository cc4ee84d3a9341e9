#include "cuda/queue.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "cuda/launch.h"
#include "cuda/mirror.h"

namespace metalbench::cuda {
namespace {

constexpr unsigned without_timing = 2;  // CU_EVENT_DISABLE_TIMING
// The share of the GPU's memory that freed buffers may keep.
constexpr std::size_t share_of_free_memory = 4;
constexpr auto grace = std::chrono::seconds(2);

std::size_t most_free_bytes(const Gpu& gpu) {
  std::size_t bytes = 0;
  gpu.check(gpu.driver().cuDeviceTotalMem_v2(&bytes, gpu.number()), "read the GPU's memory");
  return bytes / share_of_free_memory;
}

struct CudaLaunch final : QueuedLaunch {
  explicit CudaLaunch(std::shared_ptr<const Gpu> gpu) : table(std::move(gpu)) {}
  Table table;
  Launch launch;
  std::vector<std::uint32_t> indices;  // of the bindings
  std::vector<bool> writes;            // to each binding
};

// The graph is instantiated once. Later recordings update it if only addresses and other parameters
// have changed, which takes a fraction of the time.
class CudaGraph final : public QueuedGraph {
 public:
  explicit CudaGraph(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~CudaGraph() override { destroy(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void set(Graph captured) {
    const Driver& driver = gpu_->driver();
    GraphUpdate update;
    if (graph_ != nullptr &&
        driver.cuGraphExecUpdate_v2(graph_, captured, &update) == result::success) {
      return;
    }
    destroy();
    gpu_->check(driver.cuGraphInstantiateWithFlags(&graph_, captured, 0), "make a graph");
  }

  void launch() const { gpu_->launch(graph_); }

 private:
  void destroy() {
    if (graph_ == nullptr || !gpu_->lost().empty()) return;
    // Any thread may release the last reference. The graph may be running.
    try {
      gpu_->use();
    } catch (const Error&) {
      return;
    }
    (void)gpu_->driver().cuStreamSynchronize(gpu_->stream());
    (void)gpu_->driver().cuGraphExecDestroy(std::exchange(graph_, nullptr));
  }

  std::shared_ptr<const Gpu> gpu_;
  GraphExec graph_ = nullptr;
};

class CudaMarker final : public QueueMarker {
 public:
  explicit CudaMarker(std::shared_ptr<const Gpu> gpu)
      : gpu_(std::move(gpu)), launches_(gpu_->launches()) {
    gpu_->check(gpu_->driver().cuEventCreate(&event_, without_timing), "make an event");
    gpu_->check(gpu_->driver().cuEventRecord(event_, gpu_->stream()), "record an event");
  }
  ~CudaMarker() override {
    if (gpu_->lost().empty()) (void)gpu_->driver().cuEventDestroy_v2(event_);
  }
  CudaMarker(const CudaMarker&) = delete;
  CudaMarker& operator=(const CudaMarker&) = delete;

  [[nodiscard]] bool is_reached() override {
    gpu_->use();
    const Result state = gpu_->driver().cuEventQuery(event_);
    if (state == result::not_ready) return false;
    gpu_->check(state, "wait for kernels");
    gpu_->completed(launches_);
    return true;
  }

 private:
  std::shared_ptr<const Gpu> gpu_;
  std::uint64_t launches_;
  Event event_ = nullptr;
};

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<const Gpu> gpu)
      : Queue(most_free_bytes(*gpu)), gpu_(std::move(gpu)) {}
  ~CudaQueue() override {
    if (capturing_ != nullptr && gpu_->lost().empty()) {
      (void)gpu_->driver().cuStreamDestroy_v2(capturing_);
    }
  }

  [[nodiscard]] std::unique_ptr<QueuedLaunch> prepare(Dispatch dispatch) override {
    auto made = std::make_unique<CudaLaunch>(gpu_);
    std::set<std::shared_ptr<Mirror>> storages;
    made->launch = make_launch(gpu_, dispatch, made->table, storages, nullptr);
    const std::vector<Argument>& arguments = dispatch.pipeline->info().arguments;
    for (const Binding& binding : dispatch.bindings) {
      const auto argument = std::ranges::find(arguments, binding.name, &Argument::name);
      made->indices.push_back(binding.index);
      made->writes.push_back(argument->access == Access::read_write);
    }
    return made;
  }

  void launch(QueuedLaunch& queued, std::span<const Buffer> buffers) override {
    auto& launch = static_cast<CudaLaunch&>(queued);
    gpu_->use();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      use(buffers[i], launch.writes[i]);
      launch.launch.parameter.buffers[launch.indices[i]] = buffers[i].address();
    }
    launch.launch.submit(*gpu_, stream());
  }

  void copy(const Buffer& to, const Buffer& from) override {
    gpu_->use();
    use(from, false);
    use(to, true);
    if (to.size() > 0) gpu_->enqueue_copy(to.address(), from.address(), to.size(), stream());
  }

  [[nodiscard]] std::unique_ptr<QueuedGraph> make_graph() override {
    return std::make_unique<CudaGraph>(gpu_);
  }

  void record(QueuedGraph& graph, const std::function<void()>& work) override {
    gpu_->use();
    const Driver& driver = gpu_->driver();
    // Other threads may use the GPU's stream at the same time.
    if (capturing_ == nullptr) {
      gpu_->check(driver.cuStreamCreate(&capturing_, non_blocking_stream), "make a stream");
    }
    // In the other modes a capture forbids the allocation of memory.
    gpu_->check(driver.cuStreamBeginCapture_v2(capturing_, capture_mode::relaxed), "begin a graph");
    is_recording_ = true;
    Graph captured = nullptr;
    try {
      work();
    } catch (...) {
      is_recording_ = false;
      (void)driver.cuStreamEndCapture(capturing_, &captured);
      if (captured != nullptr) (void)driver.cuGraphDestroy(captured);
      throw;
    }
    is_recording_ = false;
    gpu_->check(driver.cuStreamEndCapture(capturing_, &captured), "end a graph");
    try {
      static_cast<CudaGraph&>(graph).set(captured);
    } catch (...) {
      (void)driver.cuGraphDestroy(captured);
      throw;
    }
    (void)driver.cuGraphDestroy(captured);
  }

  void launch_graph(QueuedGraph& graph) override {
    gpu_->use();
    static_cast<CudaGraph&>(graph).launch();
  }

  void write(const Buffer& to, const std::byte* from) override {
    gpu_->use();
    mirror_of(to)->store(to.offset(), from, to.size());
  }

  void read(std::byte* to, const Buffer& from) override {
    // The copy itself cannot be interrupted.
    wait();
    mirror_of(from)->load(to, from.offset(), from.size());
  }

  void submit() override {}

  void wait() override {
    gpu_->use();
    CudaMarker end(gpu_);
    const Clock::time_point begin = Clock::now();
    while (!end.is_reached()) {
      check_time(end);
      if (Clock::now() - begin < Gpu::busy_wait) continue;
      if (interrupted() && interrupted()()) throw Interrupted();
      std::this_thread::sleep_for(Gpu::rest);
    }
    for (const auto& mirror : std::exchange(viewed_, {})) mirror->publish();
    trim_cache();
  }

  [[nodiscard]] std::shared_ptr<QueueMarker> mark() override {
    gpu_->use();
    return std::make_shared<CudaMarker>(gpu_);
  }

 private:
  [[nodiscard]] std::shared_ptr<Storage> allocate_storage(std::size_t size) override {
    return make_mirror(gpu_, size, false);
  }

  [[nodiscard]] static std::shared_ptr<Mirror> mirror_of(const Buffer& buffer) {
    auto mirror = cuda::mirror_of(buffer.storage());
    if (mirror == nullptr) {
      throw DispatchError("a buffer belongs to another device; allocate it on this one");
    }
    return mirror;
  }

  // After the deadline, let short kernels end, so that the GPU stays usable.
  void check_time(CudaMarker& end) {
    try {
      (void)time_left();
    } catch (const TimeLimitExceeded& error) {
      const Clock::time_point last = Clock::now() + grace;
      while (Clock::now() < last) {
        if (end.is_reached()) throw;
        std::this_thread::sleep_for(Gpu::rest);
      }
      gpu_->lose(error.what());
      throw TimeLimitExceeded(
          std::string(error.what()) +
          "; NVIDIA GPUs cannot stop a running kernel: the kernel ends with its process; open the "
          "device again in another process");
    }
  }

  void use(const Buffer& buffer, bool writes) {
    // Without a shared pointer to it, which costs more than the launch of a kernel allows.
    auto* mirror = dynamic_cast<Mirror*>(buffer.storage().get());
    if (mirror != nullptr) {
      if (!mirror->use(writes) || !writes) return;
    } else if (!mirror_of(buffer)->use(writes) || !writes) {
      return;
    }
    viewed_.insert(mirror_of(buffer));
  }

  [[nodiscard]] Stream stream() const { return is_recording_ ? capturing_ : gpu_->stream(); }

  std::shared_ptr<const Gpu> gpu_;
  Stream capturing_ = nullptr;  // made by the first recording
  bool is_recording_ = false;
  std::set<std::shared_ptr<Mirror>> viewed_;  // written by submitted work, with a view of the host
};

}  // namespace

std::shared_ptr<Queue> make_queue(std::shared_ptr<const Gpu> gpu) {
  return std::make_shared<CudaQueue>(std::move(gpu));
}

}  // namespace metalbench::cuda
