#include "cuda/window.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/errors.h"

namespace metalbench::cuda {
namespace {

// The host needs 2 us per launch to create a graph, so longer windows repeat one graph.
constexpr std::uint32_t launches_per_graph = 1024;
constexpr std::size_t most_graphs = 16;
constexpr double ns_per_ms = 1e6;

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// The two events of a window; they return to its script, also if the submission failed.
class LentEvents {
 public:
  explicit LentEvents(Script& script) : script_(script), events_(script.take_events()) {}
  ~LentEvents() { script_.give_back(events_); }
  LentEvents(const LentEvents&) = delete;
  LentEvents& operator=(const LentEvents&) = delete;

  [[nodiscard]] const Events* operator->() const { return &events_; }

 private:
  Script& script_;
  Events events_;
};

class Window final : public RunningWindow {
 public:
  Window(std::shared_ptr<Script> script, const RunOptions& options)
      : script_(std::move(script)), options_(options), gpu_(script_->gpu()), events_(*script_) {
    script_->make_ready(options.passes);
    start_ = Clock::now();
    record(events_->begin);
    script_->submit(options.passes);
    launches_ = gpu_.launches();
    record(events_->end);
    submitted_ = Clock::now();
  }

  ~Window() override {
    options_.interrupted = {};
    try {
      while (!landed_ && gpu_.lost().empty() && !has_ended()) pause();
    } catch (const Error&) {
    }
  }

  [[nodiscard]] Timing wait() override {
    gpu_.use();
    while (!has_ended()) pause();
    const Clock::time_point end = Clock::now();
    landed_ = true;
    gpu_.ended(end);
    float ms = 0;
    gpu_.check(gpu_.driver().cuEventElapsedTime(&ms, events_->begin, events_->end),
               "read the time of a window");
    return Timing{.device_ns = ms * ns_per_ms,
                  .wall_ns = ns_between(start_, end),
                  .encode_ns = ns_between(start_, submitted_)};
  }

 private:
  void record(Event event) {
    gpu_.check(gpu_.driver().cuEventRecord(event, gpu_.stream()), "record an event");
  }

  [[nodiscard]] bool has_ended() {
    const Result state = gpu_.driver().cuEventQuery(events_->end);
    if (state == result::success) {
      gpu_.completed(launches_);
      return true;
    }
    if (state == result::not_ready) return false;
    const std::string text = gpu_.driver().text(state);
    gpu_.lose(script_->names() + text);
    if (!is_fault(state)) gpu_.check(state, "wait for a kernel");
    throw KernelFault(script_->names() + text +
                      "; the CUDA context is unusable now: open the device again in another "
                      "process");
  }

  void pause() {
    const Clock::time_point now = Clock::now();
    const Clock::time_point begun = std::max(submitted_, gpu_.last_end());
    if (now - begun > options_.time_limit) time_is_up();
    if (now - begun < Gpu::busy_wait) return;
    if (options_.interrupted && options_.interrupted()) throw Interrupted();
    std::this_thread::sleep_for(Gpu::rest);
  }

  [[noreturn]] void time_is_up() {
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g",
                  std::chrono::duration<double>(options_.time_limit).count());
    const std::string what = script_->names() + "time limit of " + limit + " s reached";
    gpu_.lose(what);
    throw TimeLimitExceeded(what +
                            "; NVIDIA GPUs cannot stop a running kernel: the kernel ends with its "
                            "process; open the device again in another process");
  }

  std::shared_ptr<Script> script_;
  RunOptions options_;
  const Gpu& gpu_;
  LentEvents events_;
  Clock::time_point start_, submitted_;
  std::uint64_t launches_ = 0;
  bool landed_ = false;
};

}  // namespace

Script::Script(std::shared_ptr<const Gpu> gpu, std::vector<Launch> launches, std::string names)
    : gpu_(std::move(gpu)), launches_(std::move(launches)), names_(std::move(names)) {}

Script::~Script() {
  for (const auto& [passes, graph] : graphs_) {
    if (gpu_->lost().empty()) (void)gpu_->driver().cuGraphExecDestroy(graph);
  }
  for (const Events& events : idle_) {
    if (!gpu_->lost().empty()) break;
    for (const Event event : {events.begin, events.end}) {
      if (event != nullptr) (void)gpu_->driver().cuEventDestroy_v2(event);
    }
  }
}

Events Script::take_events() {
  if (idle_.empty()) idle_.emplace_back();
  // The next window retries the creation of missing events.
  for (Event* event : {&idle_.back().begin, &idle_.back().end}) {
    if (*event == nullptr) gpu_->check(gpu_->driver().cuEventCreate(event, 0), "make an event");
  }
  const Events events = idle_.back();
  idle_.pop_back();
  return events;
}

void Script::give_back(const Events& events) { idle_.push_back(events); }

std::uint32_t Script::passes_per_graph() const {
  const auto launches = static_cast<std::uint32_t>(std::max<std::size_t>(launches_.size(), 1));
  return std::max(launches_per_graph / launches, 1U);
}

void Script::make_ready(std::uint32_t passes) {
  // Old window lengths do not recur.
  if (graphs_.size() >= most_graphs) {
    gpu_->check(gpu_->driver().cuStreamSynchronize(gpu_->stream()), "wait for the GPU");
    for (const auto& [length, graph] : graphs_) (void)gpu_->driver().cuGraphExecDestroy(graph);
    graphs_.clear();
  }
  const std::uint32_t most = passes_per_graph();
  if (passes >= most) (void)graph_of(most);
  if (passes % most != 0) (void)graph_of(passes % most);
}

void Script::submit(std::uint32_t passes) {
  const std::uint32_t most = passes_per_graph();
  for (std::uint32_t left = passes; left != 0;) {
    const std::uint32_t now = std::min(left, most);
    gpu_->launch(graph_of(now));
    left -= now;
  }
}

GraphExec Script::graph_of(std::uint32_t passes) {
  GraphExec& graph = graphs_[passes];
  if (graph != nullptr) return graph;
  const Driver& driver = gpu_->driver();
  gpu_->check(driver.cuStreamBeginCapture_v2(gpu_->stream(), capture_mode::thread_local_calls),
              "begin a graph");
  Graph captured = nullptr;
  try {
    for (std::uint32_t i = 0; i < passes; ++i) {
      for (const Launch& launch : launches_) launch.submit(*gpu_, gpu_->stream());
    }
  } catch (...) {
    (void)driver.cuStreamEndCapture(gpu_->stream(), &captured);
    if (captured != nullptr) (void)driver.cuGraphDestroy(captured);
    throw;
  }
  gpu_->check(driver.cuStreamEndCapture(gpu_->stream(), &captured), "end a graph");
  const Result made = driver.cuGraphInstantiateWithFlags(&graph, captured, 0);
  (void)driver.cuGraphDestroy(captured);
  gpu_->check(made, "make a graph");
  return graph;
}

std::unique_ptr<RunningWindow> start_window(std::shared_ptr<Script> script,
                                            const RunOptions& options) {
  return std::make_unique<Window>(std::move(script), options);
}

}  // namespace metalbench::cuda
