#include "core/execution_plan.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/errors.h"

namespace metalbench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto poll_period = std::chrono::milliseconds(10);
// Iterations between two looks at the clock.
constexpr std::uint32_t iterations_per_look = 16;
// To record a launch takes the host about half of the time of the launch, and to update a graph
// about the time of ten, so a graph of this many iterations must replace several times as many.
constexpr std::uint64_t iterations_per_graph = 16, least_graphs = 3;
constexpr std::uint64_t most_launches_per_graph = 1024;
// Iterations before the condition is read. A read takes tens of microseconds, so it matters only
// for short iterations: those with few launches of few threads. The states before the iterations
// are kept, so their changing parts must be small.
constexpr std::size_t most_iterations_ahead = 8, most_bytes_ahead = std::size_t{1} << 20;
constexpr std::uint64_t most_launches_ahead = 16, most_threads_ahead = std::uint64_t{1} << 17;

// Unlocks a mutex for its lifetime.
class Unlocked {
 public:
  explicit Unlocked(std::recursive_mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::recursive_mutex& mutex_;
};

bool has_large_kernel(const PlanBlock& block) {
  return std::ranges::any_of(block.steps, [](const PlanStep& step) {
    const auto is_large = [](const KernelCall& call) {
      return std::uint64_t{call.threadgroups} * call.threads > most_threads_ahead;
    };
    return std::ranges::any_of(step.kernels, is_large) ||
           std::ranges::any_of(step.blocks, has_large_kernel);
  });
}

Dispatch bind_call(const KernelCall& call, const std::vector<Buffer>& buffers) {
  DispatchRequest request;
  for (const auto& [name, slot] : call.arguments) {
    const auto place = std::ranges::find(call.slots, slot) - call.slots.begin();
    request.arguments.emplace(name, buffers[static_cast<std::size_t>(place)]);
  }
  request.grid_in_threads = false;
  request.grid = {call.threadgroups, 1, 1};
  request.threads = {call.threads, 1, 1};
  return metalbench::bind(call.pipeline, std::move(request), Limits{});
}

}  // namespace

ExecutionPlan::ExecutionPlan(std::shared_ptr<Queue> queue, PlanBlock program,
                             std::vector<Constant> constants, std::size_t slots,
                             PlanOptions options)
    : queue_(std::move(queue)),
      program_(std::move(program)),
      constants_(std::move(constants)),
      options_(options),
      memory_(slots) {
  resolve(program_);
}

void ExecutionPlan::resolve(PlanBlock& block) {
  for (PlanStep& step : block.steps) {
    for (KernelCall& call : step.kernels) {
      for (const Argument& argument : call.pipeline->info().arguments) {
        const auto found = call.arguments.find(argument.name);
        if (found == call.arguments.end()) {
          throw DispatchError("[" + call.pipeline->info().name + "] " + argument.name +
                              ": the call has no such argument");
        }
        call.slots.push_back(found->second);
      }
    }
    for (PlanBlock& inner : step.blocks) resolve(inner);
    if (step.kind == PlanStep::Kind::loop) step.launches = count_launches(step.blocks[1]);
  }
}

// Return the launches and copies of a block; nothing if the host does other work in it.
std::optional<std::uint64_t> ExecutionPlan::count_launches(const PlanBlock& block) {
  std::uint64_t count = 0;
  for (const PlanStep& step : block.steps) {
    if (step.kind == PlanStep::Kind::kernels) {
      count += step.kernels.size() + (step.updated ? 1 : 0);
      continue;
    }
    const bool is_counted = step.kind == PlanStep::Kind::loop && step.launches && step.counter &&
                            std::holds_alternative<std::int64_t>(step.counter->start) &&
                            std::holds_alternative<std::int64_t>(step.counter->bound);
    const auto iterations = is_counted ? count_iterations(*step.counter) : std::nullopt;
    if (!iterations || *iterations > most_launches_per_graph) return std::nullopt;
    count += *iterations * *step.launches;
    if (count > most_launches_per_graph) return std::nullopt;
  }
  return count;
}

std::vector<Buffer> ExecutionPlan::run(std::vector<Buffer> arguments, double run_limit,
                                       InterruptPoll interrupted,
                                       std::shared_ptr<QueueMarker>* end) {
  const std::lock_guard lock(queue_->mutex());
  // Also after an error, no host region of this run goes on.
  struct EndOfHostRuns {
    ExecutionPlan& plan;
    ~EndOfHostRuns() { plan.host_runs_.clear(); }
  } const end_of_host_runs{*this};
  std::optional<SteadyClock::time_point> deadline;
  if (run_limit > 0) {
    deadline = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                        std::chrono::duration<double>(run_limit));
  }
  queue_->set_limits({deadline, std::move(interrupted)});
  try {
    std::vector<Buffer> results = run_program(std::move(arguments));
    queue_->submit();
    if (end != nullptr) *end = queue_->mark();
    return results;
  } catch (const OutOfMemoryError& error) {
    queue_->discard();
    const std::string where = current_ == nullptr ? "[hlo]" : current_->where;
    throw OutOfMemoryError(where + ": " + error.what());
  } catch (const TimeLimitExceeded& error) {
    queue_->discard();
    char limit[64];
    std::snprintf(limit, sizeof limit, "time limit of %g s for the run reached", run_limit);
    const bool is_of_region = current_ != nullptr && current_->kind == PlanStep::Kind::host_end;
    const bool is_over = deadline && SteadyClock::now() >= *deadline && !is_of_region;
    throw TimeLimitExceeded(describe_time_limit(is_over ? limit : error.what()));
  } catch (...) {
    queue_->discard();
    throw;
  }
}

std::string ExecutionPlan::describe_time_limit(const std::string& text) const {
  if (loops_.empty()) return text;
  const auto& [step, iterations] = loops_.back();
  return step->where + ": not ended after " + std::to_string(iterations) + " iterations: " + text +
         "; raise it if it ends";
}

std::vector<Dispatch> ExecutionPlan::list_dispatches(std::vector<Buffer> arguments) {
  const std::lock_guard lock(queue_->mutex());
  records_ = true;
  recorded_.clear();
  try {
    (void)run_program(std::move(arguments));
  } catch (...) {
    records_ = false;
    throw;
  }
  records_ = false;
  return std::exchange(recorded_, {});
}

std::vector<Buffer> ExecutionPlan::run_program(std::vector<Buffer> arguments) {
  // An earlier run may have ended with an error.
  for (auto& buffer : memory_) buffer.reset();
  loops_.clear();
  current_ = nullptr;
  is_in_graph_ = false;
  last_poll_ = SteadyClock::now();
  if (arguments.size() != program_.arguments.size()) {
    throw DispatchError("[hlo] expected " + std::to_string(program_.arguments.size()) +
                        " arguments, got " + std::to_string(arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    memory_[program_.arguments[i]] = std::move(arguments[i]);
  }
  for (const Constant& constant : constants_) memory_[constant.slot] = constant.buffer;
  run_block(program_);
  std::vector<Buffer> results = take_returned(program_);
  for (auto& buffer : memory_) buffer.reset();
  return results;
}

void ExecutionPlan::run_block(PlanBlock& block) {
  for (PlanStep& step : block.steps) {
    run_step(step);
    for (const Slot slot : step.ended) memory_[slot].reset();
  }
}

void ExecutionPlan::run_step(PlanStep& step) {
  current_ = &step;
  switch (step.kind) {
    case PlanStep::Kind::kernels:
      return launch_kernels(step);
    case PlanStep::Kind::loop:
      return run_loop(step);
    case PlanStep::Kind::choice:
      return run_choice(step);
    case PlanStep::Kind::host_call:
      return run_host_call(step);
    case PlanStep::Kind::host_begin:
      return begin_host_run(step);
    case PlanStep::Kind::host_end:
      return end_host_run(step);
  }
}

Buffer ExecutionPlan::allocate(std::size_t bytes) {
  if (loop_memory_ != nullptr) return loop_memory_->allocate(bytes);
  Buffer buffer = queue_->allocate(bytes);
  if (options_.checked) buffer.mark_unwritten();
  return buffer;
}

void ExecutionPlan::launch_kernels(PlanStep& step) {
  for (const auto& [slot, bytes] : step.results) {
    if (!step.updated) {
      memory_[slot] = allocate(bytes);
      continue;
    }
    std::optional<Buffer>& old = memory_[*step.updated];
    const bool is_last = std::ranges::find(step.ended, *step.updated) != step.ended.end();
    // Dispatches of a list are run again and again, so none of them overwrites its own input.
    if (is_last && old->storage().use_count() == 1 && !records_) {
      memory_[slot] = *std::exchange(old, std::nullopt);
    } else {
      memory_[slot] = allocate(bytes);
      queue_->copy(*memory_[slot], *old);
    }
  }
  for (KernelCall& call : step.kernels) {
    if (call.threadgroups > 0) launch(call);
  }
}

void ExecutionPlan::launch(KernelCall& call) {
  std::vector<Buffer> buffers;
  buffers.reserve(call.slots.size());
  for (const Slot slot : call.slots) buffers.push_back(*memory_[slot]);
  if (records_) {
    recorded_.push_back(bind_call(call, buffers));
    return;
  }
  if (call.launch == nullptr) call.launch = queue_->prepare(bind_call(call, buffers));
  queue_->launch(*call.launch, buffers);
}

std::int64_t ExecutionPlan::read_scalar(Slot slot, std::uint32_t bytes, bool is_signed) {
  std::byte raw[8] = {};
  queue_->read(raw, memory_[slot]->slice(0, bytes));
  std::int64_t value = 0;
  std::memcpy(&value, raw, sizeof value);
  const unsigned unused = 64 - 8 * bytes;
  // The sign bit of a narrow type becomes that of the result.
  if (is_signed && unused > 0) value = value << unused >> unused;
  return value;
}

// Return nothing if the counter would leave the range of its type, where it wraps around.
std::optional<std::uint64_t> ExecutionPlan::count_iterations(const LoopCounter& counter) {
  const auto value_of = [&](const LoopCounter::Number& number) -> __int128 {
    if (const auto* slot = std::get_if<Slot>(&number)) {
      const std::int64_t value = read_scalar(*slot, counter.bytes, counter.is_signed);
      return counter.is_signed ? __int128{value} : __int128{static_cast<std::uint64_t>(value)};
    }
    return std::get<std::int64_t>(number);
  };
  const __int128 start = value_of(counter.start), bound = value_of(counter.bound);
  const __int128 step = counter.step;
  const __int128 distance = step > 0 ? bound - start : start - bound;
  const __int128 size = step > 0 ? step : -step;
  if (distance < 0 || (distance == 0 && !counter.is_inclusive)) return 0;
  const __int128 count = counter.is_inclusive ? distance / size + 1 : (distance + size - 1) / size;
  const __int128 last = start + count * step;
  const unsigned bits = 8 * counter.bytes - (counter.is_signed ? 1 : 0);
  const __int128 most = (__int128{1} << bits) - 1, least = counter.is_signed ? -most - 1 : 0;
  if (last > most || last < least) return std::nullopt;
  return static_cast<std::uint64_t>(count);
}

void ExecutionPlan::poll() {
  if (++polls_ % iterations_per_look == 0) poll_now();
}

void ExecutionPlan::poll_now() {
  const auto now = SteadyClock::now();
  if (now - last_poll_ < poll_period) return;
  last_poll_ = now;
  queue_->check_limits();
}

void ExecutionPlan::run_loop(PlanStep& step) {
  std::optional<std::uint64_t> known;
  if (step.counter) known = count_iterations(*step.counter);
  std::vector<Buffer> state;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    std::optional<Buffer>& buffer = memory_[step.operands[i]];
    state.push_back(step.is_moved[i] ? *std::exchange(buffer, std::nullopt) : *buffer);
  }
  PlanBlock &condition = step.blocks[0], &body = step.blocks[1];
  loops_.push_back({&step, 0});
  if (known) {
    const std::uint64_t per_graph = count_iterations_of_graph(step, *known);
    if (per_graph > 0) run_graphs(step, state, *known, per_graph);
  }
  const bool may_run_ahead = !known && can_run_ahead(step);
  for (std::size_t ahead = 1;;) {
    if (ahead > 1) {
      if (!run_ahead(step, state, ahead)) break;
    } else {
      if (known ? loops_.back().second == *known : !condition_holds(condition, state)) break;
      run_iteration(body, state);
      ++loops_.back().second;
    }
    poll();
    // At most as many iterations are in vain as were needed.
    if (may_run_ahead) ahead = std::min(2 * ahead, most_iterations_ahead);
  }
  loops_.pop_back();
  current_ = &step;
  for (std::size_t i = 0; i < state.size(); ++i) memory_[step.results[i].first] = state[i];
}

void ExecutionPlan::run_iteration(PlanBlock& body, std::vector<Buffer>& state) {
  for (std::size_t i = 0; i < state.size(); ++i) memory_[body.arguments[i]] = std::move(state[i]);
  run_block(body);
  state = take_returned(body);
  clear(body);
}

// Return 0 if the loop is not worth graphs, or cannot be recorded.
std::uint64_t ExecutionPlan::count_iterations_of_graph(const PlanStep& step,
                                                       std::uint64_t iterations) const {
  // An outer loop's graph has the work of its inner loops.
  if (!options_.groups_iterations || options_.checked || records_ || is_in_graph_) return 0;
  if (!step.launches || *step.launches == 0) return 0;
  std::uint64_t count = std::min(iterations_per_graph, most_launches_per_graph / *step.launches);
  // Most bodies write to the memory of the iteration before the last.
  count -= count % 2;
  return iterations > count * least_graphs ? count : 0;
}

// Run iterations of a loop, all but fewer than `per_graph`. The first one makes the launches, and
// copies what the host has written.
void ExecutionPlan::run_graphs(PlanStep& step, std::vector<Buffer>& state, std::uint64_t iterations,
                               std::uint64_t per_graph) {
  if (step.graph == nullptr) step.graph = queue_->make_graph();
  if (step.graph == nullptr) return;
  PlanBlock& body = step.blocks[1];
  LoopMemory memory(*this);
  run_iteration(body, state);
  ++loops_.back().second;
  std::vector<Buffer> begin;  // state before the graph
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (body.returned[i] == body.arguments[i]) {
      begin.push_back(state[i]);
      continue;
    }
    begin.push_back(memory.own(state[i]));
  }
  is_in_graph_ = true;
  queue_->record(*step.graph, [&] {
    for (std::uint64_t i = 0; i < per_graph; ++i) run_iteration(body, state);
  });
  is_in_graph_ = false;
  const std::uint64_t count = (iterations - 1) / per_graph;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) move_state(state, begin);
    queue_->launch_graph(*step.graph);
    loops_.back().second += per_graph;
    poll_now();
  }
}

// Copy the state to the memory where a graph reads it, if it is in other memory.
void ExecutionPlan::move_state(const std::vector<Buffer>& from, const std::vector<Buffer>& to) {
  std::vector<std::pair<Buffer, Buffer>> copies;  // from, to
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].storage().get() != to[i].storage().get()) copies.push_back({from[i], to[i]});
  }
  const bool is_permuted = std::ranges::any_of(copies, [&](const auto& copy) {
    return std::ranges::any_of(from, [&](const Buffer& each) {
      return each.storage().get() == copy.second.storage().get();
    });
  });
  for (auto& [source, target] : copies) {
    if (!is_permuted) break;
    const Buffer moved = queue_->allocate(source.size());
    queue_->copy(moved, source);
    source = moved;
  }
  for (const auto& [source, target] : copies) queue_->copy(target, source);
}

ExecutionPlan::LoopMemory::~LoopMemory() {
  plan_.loop_memory_ = outer_;
  // Buffers of results refer to the cache, which must not keep other memory.
  cache_->clear();
}

Buffer ExecutionPlan::LoopMemory::allocate(std::size_t bytes) {
  const auto make = [this](std::size_t size) {
    all_.push_back(plan_.queue_->allocate(size).storage());
    return all_.back();
  };
  return Buffer(cache_->take(bytes, make), false).slice(0, bytes);
}

Buffer ExecutionPlan::LoopMemory::own(Buffer& buffer) {
  if (buffer.storage().use_count() != 1 || buffer.offset() != 0) {
    const Buffer copy = allocate(buffer.size());
    plan_.queue_->copy(copy, buffer);
    buffer = copy;
  }
  const auto is_same = [&](const auto& each) { return each.get() == buffer.storage().get(); };
  auto found = std::ranges::find_if(all_, is_same);
  if (found == all_.end()) {
    found = all_.insert(all_.end(), buffer.storage());
    const std::size_t size = buffer.size();
    buffer = Buffer(cache_->adopt(*found), false).slice(0, size);
  }
  return Buffer(*found, false).slice(0, buffer.size());
}

// Return whether iterations may be run before it is known that the loop reaches them. The host must
// do nothing else in them, and the states before them are kept.
bool ExecutionPlan::can_run_ahead(const PlanStep& step) {
  if (!options_.groups_iterations || options_.checked || records_ || !step.launches) return false;
  const std::optional<std::uint64_t> launches = count_launches(step.blocks[0]);
  if (!launches || *launches + *step.launches > most_launches_ahead) return false;
  if (std::ranges::any_of(step.blocks, has_large_kernel)) return false;
  const PlanBlock& body = step.blocks[1];
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < body.returned.size(); ++i) {
    if (body.returned[i] == body.arguments[i]) continue;
    bytes += step.results[i].second;
  }
  return bytes <= most_bytes_ahead;
}

// Submit this number of iterations, and only then read their conditions. Return false with the last
// state if the loop has ended.
bool ExecutionPlan::run_ahead(PlanStep& step, std::vector<Buffer>& state, std::size_t count) {
  PlanBlock &condition = step.blocks[0], &body = step.blocks[1];
  const Buffer conditions = allocate(count);
  std::vector<std::vector<Buffer>> states;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < state.size(); ++j) memory_[condition.arguments[j]] = state[j];
    run_block(condition);
    queue_->copy(conditions.slice(i, 1), memory_[condition.returned[0]]->slice(0, 1));
    clear(condition);
    states.push_back(state);
    run_iteration(body, state);
  }
  std::vector<std::byte> holds(count);
  queue_->read(holds.data(), conditions);
  const auto end = std::ranges::find(holds, std::byte{0}) - holds.begin();
  loops_.back().second += static_cast<std::uint64_t>(end);
  if (end == static_cast<std::ptrdiff_t>(count)) return true;
  state = std::move(states[static_cast<std::size_t>(end)]);
  return false;
}

bool ExecutionPlan::condition_holds(PlanBlock& condition, const std::vector<Buffer>& state) {
  for (std::size_t i = 0; i < state.size(); ++i) memory_[condition.arguments[i]] = state[i];
  run_block(condition);
  const bool holds = read_scalar(condition.returned[0], 1, false) != 0;
  clear(condition);
  return holds;
}

void ExecutionPlan::run_choice(PlanStep& step) {
  const std::int64_t chosen =
      read_scalar(step.operands[0], step.is_two_way ? 1 : 4, !step.is_two_way);
  const auto count = static_cast<std::int64_t>(step.blocks.size());
  // The first block of two is that of true. An index out of range selects the last block
  // (StableHLO specification, `case`).
  std::int64_t number = step.is_two_way ? (chosen != 0 ? 0 : 1) : chosen;
  if (number < 0 || number >= count) number = count - 1;
  PlanBlock& block = step.blocks[static_cast<std::size_t>(number)];
  run_block(block);
  std::vector<Buffer> found = take_returned(block);
  clear(block);
  current_ = &step;
  for (std::size_t i = 0; i < found.size(); ++i) {
    memory_[step.results[i].first] = std::move(found[i]);
  }
}

void ExecutionPlan::run_host_call(PlanStep& step) {
  if (records_) throw DispatchError(step.where + ": a list of dispatches has no calls of the host");
  // Also without operands: what the function does comes after all work before it.
  queue_->wait();
  std::vector<Bytes> arguments;
  for (const Slot slot : step.operands) {
    arguments.push_back(Bytes(memory_[slot]->size()));
    queue_->read(arguments.back().data(), *memory_[slot]);
  }
  // The function, or another thread that it waits for, may run programs, this one included.
  std::vector<std::optional<Buffer>> memory(memory_.size());
  memory.swap(memory_);
  std::vector<std::pair<const PlanStep*, std::uint64_t>> loops;
  loops.swap(loops_);
  std::map<std::uint32_t, HostRun> host_runs;
  host_runs.swap(host_runs_);
  const Queue::Limits limits = queue_->limits();
  std::vector<Bytes> found;
  {
    const Unlocked unlocked(queue_->mutex());
    found = step.function(std::move(arguments));
  }
  queue_->set_limits(limits);
  host_runs.swap(host_runs_);
  loops.swap(loops_);
  memory.swap(memory_);
  current_ = &step;
  if (found.size() != step.results.size()) {
    throw DispatchError(step.where + ": the function returned another number of results");
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& [slot, bytes] = step.results[i];
    if (found[i].size() != bytes) {
      throw DispatchError(step.where + ": the function returned a result of another size");
    }
    memory_[slot] = allocate(bytes);
    queue_->write(*memory_[slot], found[i].data());
    if (options_.checked) memory_[slot]->mark_written();
  }
  queue_->check_limits();
}

void ExecutionPlan::begin_host_run(PlanStep& step) {
  if (records_) throw DispatchError(step.where + ": a list of dispatches has no host regions");
  Queue& queue = *step.host_plan->queue();
  std::vector<Buffer> arguments;
  for (const Slot slot : step.operands) {
    const std::lock_guard lock(queue.mutex());
    arguments.push_back(queue.allocate(memory_[slot]->size()));
    queue_->read(arguments.back().bytes().data(), *memory_[slot]);
  }
  double run_limit = 0;
  if (const auto& deadline = queue_->limits().deadline) {
    const std::chrono::duration<double> left = *deadline - SteadyClock::now();
    run_limit = std::max(left.count(), 1e-9);
  }
  HostRun& run = host_runs_[step.host_run];
  run.results =
      std::async(std::launch::async, [plan = step.host_plan, run_limit, cancelled = run.cancelled,
                                      given = std::move(arguments)]() mutable {
        return plan->run(std::move(given), run_limit, [cancelled] { return cancelled->load(); });
      });
}

void ExecutionPlan::end_host_run(PlanStep& step) {
  const auto found = host_runs_.find(step.host_run);
  if (found == host_runs_.end()) throw DispatchError(step.where + ": the region has not begun");
  try {
    while (found->second.results.wait_for(poll_period) != std::future_status::ready) {
      queue_->check_limits();
    }
  } catch (const TimeLimitExceeded&) {
    // The region has the same limit, and its error names the operation.
  }
  const std::vector<Buffer> results = found->second.results.get();
  host_runs_.erase(found);
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    const auto& [slot, bytes] = step.results[i];
    memory_[slot] = allocate(bytes);
    queue_->write(*memory_[slot], results[i].bytes().data());
    if (options_.checked) memory_[slot]->mark_written();
  }
}

std::vector<Buffer> ExecutionPlan::take_returned(const PlanBlock& block) {
  std::vector<Buffer> found;
  found.reserve(block.returned.size());
  for (const Slot slot : block.returned) found.push_back(*memory_[slot]);
  return found;
}

void ExecutionPlan::clear(const PlanBlock& block) {
  for (const Slot slot : block.own) memory_[slot].reset();
}

}  // namespace metalbench
