// A program of kernels and control flow, as metalbench.hlo plans it, and its execution on a queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.h"
#include "core/dispatch.h"
#include "core/library.h"
#include "core/queue.h"
#include "core/storage_cache.h"

namespace metalbench {

// Number of a value of the program; its buffer during a run.
using Slot = std::uint32_t;

struct KernelCall {
  std::shared_ptr<const Pipeline> pipeline;
  std::map<std::string, Slot> arguments;  // by parameter
  std::uint32_t threadgroups = 0;
  std::uint32_t threads = 0;  // of a threadgroup
  // Set by ExecutionPlan: the slots in the order of the kernel's parameters.
  std::vector<Slot> slots;
  std::unique_ptr<QueuedLaunch> launch;  // made by the first run
};

// A loop that ends when a counter reaches a bound: the number of iterations is known before the
// first one, so the host need not read the condition.
struct LoopCounter {
  // A constant, or the slot of a scalar that is read when the loop begins.
  using Number = std::variant<std::int64_t, Slot>;
  Number start, bound;
  std::int64_t step = 0;
  bool is_inclusive = false;  // the body also runs for the bound
  std::uint32_t bytes = 4;    // of the counter's type
  bool is_signed = true;
};

// A function of the host: it takes the bytes of the operands, and returns those of the results.
using HostFunction = std::function<std::vector<Bytes>(std::vector<Bytes>)>;

struct PlanBlock;
class ExecutionPlan;

struct PlanStep {
  // A host region begins with a copy of its operands, and runs on another thread until its end,
  // which copies its results. Kernels of the steps between run at the same time.
  enum class Kind { kernels, loop, choice, host_call, host_begin, host_end };
  Kind kind = Kind::kernels;
  std::string where;  // beginning of error messages
  std::vector<KernelCall> kernels;
  // Inputs: the state of a loop, the scalar that chooses a block, or a function's arguments.
  std::vector<Slot> operands;
  // Whether the last reference to an operand passes to the loop.
  std::vector<bool> is_moved;
  std::vector<std::pair<Slot, std::size_t>> results;  // with their bytes
  // The value whose elements the result takes over where the kernels do not write. Its memory
  // becomes the result's if nothing else refers to it; otherwise it is copied.
  std::optional<Slot> updated;
  std::optional<LoopCounter> counter;
  HostFunction function;
  std::shared_ptr<ExecutionPlan> host_plan;  // of host_begin; it has its own queue
  std::uint32_t host_run = 0;                // number of the host region that begins or ends
  bool is_two_way = false;                   // a choice between two blocks by a truth value
  std::vector<PlanBlock> blocks;  // condition and body of a loop; the alternatives of a choice
  std::vector<Slot> ended;        // values without later uses
  // Launches and copies of the body of a loop, if the host does nothing else in it. Set by
  // ExecutionPlan.
  std::optional<std::uint64_t> launches;
  std::unique_ptr<QueuedGraph> graph;  // of iterations of a loop
};

struct PlanBlock {
  std::vector<Slot> arguments;
  std::vector<PlanStep> steps;
  std::vector<Slot> returned;
  std::vector<Slot> own;  // all values that the block defines, with its arguments
};

// How plans run.
struct PlanOptions {
  bool checked = false;  // reads of memory that no kernel has written are faults
  // Loops submit several iterations at once: as graphs, or before the condition is read.
  bool groups_iterations = false;
};

class ExecutionPlan {
 public:
  struct Constant {
    Slot slot;
    Buffer buffer;
  };

  // Throws DispatchError for a kernel with a parameter that its call does not bind.
  ExecutionPlan(std::shared_ptr<Queue> queue, PlanBlock program, std::vector<Constant> constants,
                std::size_t slots, PlanOptions options);

  // Submit the program and return one buffer for each result, which submitted work may still write.
  // A result may be an argument, a constant or another result. `arguments` whose last reference is
  // passed may be overwritten. Throws TimeLimitExceeded, OutOfMemoryError with the step's name,
  // KernelFault, Interrupted, and what a function of the host throws. The run ends after
  // `run_limit` seconds; 0: no limit. `end` becomes its end; null if it has ended. Call without the
  // queue's mutex: it is unlocked while a function of the host runs, so that this function and
  // other threads may run programs, this one included.
  [[nodiscard]] std::vector<Buffer> run(std::vector<Buffer> arguments, double run_limit,
                                        InterruptPoll interrupted,
                                        std::shared_ptr<QueueMarker>* end = nullptr);
  // Return the dispatches of a run in order. The program must have no control flow.
  [[nodiscard]] std::vector<Dispatch> list_dispatches(std::vector<Buffer> arguments);
  [[nodiscard]] const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  // A run of a host region. The destructor ends it.
  struct HostRun {
    HostRun() = default;
    ~HostRun() { *cancelled = true; }
    HostRun(const HostRun&) = delete;
    HostRun& operator=(const HostRun&) = delete;
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    std::future<std::vector<Buffer>> results;  // its destructor waits
  };

  // Memory of the iterations of a loop, while it exists. Freed memory stays until then, so that a
  // graph may use it.
  class LoopMemory {
   public:
    explicit LoopMemory(ExecutionPlan& plan) : plan_(plan), outer_(plan.loop_memory_) {
      plan_.loop_memory_ = this;
    }
    ~LoopMemory();
    LoopMemory(const LoopMemory&) = delete;
    LoopMemory& operator=(const LoopMemory&) = delete;

    [[nodiscard]] Buffer allocate(std::size_t bytes);
    // Make a buffer one of this memory, which iterations may overwrite: copy it if there are other
    // references. Return a second reference, which does not keep the memory from being allocated
    // again.
    [[nodiscard]] Buffer own(Buffer& buffer);

   private:
    ExecutionPlan& plan_;
    LoopMemory* outer_;
    std::shared_ptr<StorageCache> cache_ =
        std::make_shared<StorageCache>(std::numeric_limits<std::size_t>::max());
    std::vector<std::shared_ptr<Storage>> all_;
  };

  void resolve(PlanBlock& block);
  [[nodiscard]] std::optional<std::uint64_t> count_launches(const PlanBlock& block);
  [[nodiscard]] std::vector<Buffer> run_program(std::vector<Buffer> arguments);
  void run_block(PlanBlock& block);
  void run_step(PlanStep& step);
  void launch_kernels(PlanStep& step);
  void launch(KernelCall& call);
  void run_loop(PlanStep& step);
  void run_iteration(PlanBlock& body, std::vector<Buffer>& state);
  [[nodiscard]] std::uint64_t count_iterations_of_graph(const PlanStep& step,
                                                        std::uint64_t iterations) const;
  void run_graphs(PlanStep& step, std::vector<Buffer>& state, std::uint64_t iterations,
                  std::uint64_t per_graph);
  void move_state(const std::vector<Buffer>& from, const std::vector<Buffer>& to);
  [[nodiscard]] bool can_run_ahead(const PlanStep& step);
  [[nodiscard]] bool run_ahead(PlanStep& step, std::vector<Buffer>& state, std::size_t count);
  [[nodiscard]] bool condition_holds(PlanBlock& condition, const std::vector<Buffer>& state);
  void run_choice(PlanStep& step);
  void run_host_call(PlanStep& step);
  void begin_host_run(PlanStep& step);
  void end_host_run(PlanStep& step);
  [[nodiscard]] std::optional<std::uint64_t> count_iterations(const LoopCounter& counter);
  [[nodiscard]] std::int64_t read_scalar(Slot slot, std::uint32_t bytes, bool is_signed);
  [[nodiscard]] Buffer allocate(std::size_t bytes);
  [[nodiscard]] std::vector<Buffer> take_returned(const PlanBlock& block);
  void clear(const PlanBlock& block);
  void poll();
  void poll_now();
  [[nodiscard]] std::string describe_time_limit(const std::string& text) const;

  std::shared_ptr<Queue> queue_;
  PlanBlock program_;
  std::vector<Constant> constants_;
  PlanOptions options_;
  bool records_ = false;
  std::vector<Dispatch> recorded_;
  std::vector<std::optional<Buffer>> memory_;  // by slot, during a run
  const PlanStep* current_ = nullptr;
  // The loops that a run is in, innermost last, with their completed iterations.
  std::vector<std::pair<const PlanStep*, std::uint64_t>> loops_;
  std::map<std::uint32_t, HostRun> host_runs_;  // that have begun
  LoopMemory* loop_memory_ = nullptr;           // of the innermost loop that has its own
  bool is_in_graph_ = false;                    // whether work becomes that of a graph
  std::uint32_t polls_ = 0;
  std::chrono::steady_clock::time_point last_poll_;
};

}  // namespace metalbench
