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
                             std::vector<Constant> constants, std::size_t slots, bool checked)
    : queue_(std::move(queue)),
      program_(std::move(program)),
      constants_(std::move(constants)),
      checked_(checked),
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
  }
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
  Buffer buffer = queue_->allocate(bytes);
  if (checked_) buffer.mark_unwritten();
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
  if (++polls_ % iterations_per_look != 0) return;
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
  while (known ? loops_.back().second < *known : condition_holds(condition, state)) {
    for (std::size_t i = 0; i < state.size(); ++i) memory_[body.arguments[i]] = std::move(state[i]);
    run_block(body);
    state = take_returned(body);
    clear(body);
    ++loops_.back().second;
    poll();
  }
  loops_.pop_back();
  current_ = &step;
  for (std::size_t i = 0; i < state.size(); ++i) memory_[step.results[i].first] = state[i];
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
    if (checked_) memory_[slot]->mark_written();
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
    if (checked_) memory_[slot]->mark_written();
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
