#include "execute.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <variant>

#include "addresses.h"
#include "control.h"
#include "core/errors.h"
#include "counters.h"
#include "data_types.h"
#include "driver_errors.h"
#include "engine.h"
#include "gpu_clock.h"
#include "replay.h"

namespace metal_double {
namespace {

using metalbench::Dispatch;

// The shortest list of which the order is a whole number of repetitions.
std::size_t period_of(const std::vector<std::uint32_t>& order) {
  for (std::size_t period = 1; period < order.size(); ++period) {
    if (order.size() % period != 0) continue;
    if (std::equal(order.begin() + static_cast<std::ptrdiff_t>(period), order.end(),
                   order.begin())) {
      return period;
    }
  }
  return order.size();
}

// Where a kernel may find addresses: not in arrays of numbers.
bool may_hold_addresses(const metalbench::Argument& argument) {
  if (argument.kind != metalbench::ArgumentKind::buffer) return false;
  const MTLDataType type = data_type(argument.type);
  return type == MTLDataTypeStruct || type == MTLDataTypeULong || type == MTLDataTypeLong;
}

// At least one element is the argument's own.
Region region_of(const metalbench::Argument& argument, metalbench::Value& value) {
  if (auto* bytes = std::get_if<metalbench::Bytes>(&value)) return {*bytes, bytes->size()};
  const auto& buffer = std::get<metalbench::Buffer>(value);
  const std::size_t own = own_bytes(*buffer.storage(), argument.element_bytes);
  return {buffer.bytes(), std::min(own, buffer.size())};
}

double run_on_engine(const Replay& replay) {
  const std::size_t period = period_of(replay.order);
  std::vector<Dispatch> dispatches;
  for (std::size_t i = 0; i < period; ++i) dispatches.push_back(replay.distinct[replay.order[i]]);
  metalbench::RunOptions options;
  options.passes = static_cast<std::uint32_t>(replay.order.size() / period);
  options.time_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(value(Switch::watchdog_s)));
  return engine().prepare(dispatches)->run(options).device_ns;
}

// How long work takes that begins at this tick and would take `ns` at the GPU's full clock. The
// clock falls when no queue has work, and rises again while one has.
double at_clock(std::int64_t begin, double ns) {
  static std::mutex mutex;
  static std::int64_t last_end = 0;
  static double busy_ns = 0;  // since the clock fell
  const std::scoped_lock lock(mutex);
  if (to_ns(begin - last_end) > value(Switch::idle_after_ns)) busy_ns = 0;
  const double slowdown = 1 + value(Switch::idle_slowdown);
  const double slow_ns = std::min(slowdown * ns, std::max(0.0, value(Switch::ramp_ns) - busy_ns));
  const double taken_ns = slow_ns + (ns - slow_ns / slowdown);
  busy_ns += taken_ns;
  last_end = std::max(last_end, begin + to_ticks(taken_ns));
  return taken_ns;
}

// Command buffers of Metal 4 make nothing resident themselves.
void require_resident(const Replay& replay, const std::vector<DoubleResidencySet*>& sets) {
  const std::vector<const void*> resident = resident_allocations(sets);
  for (const Use& use : replay.uses) {
    if (std::ranges::find(resident, use.resource) != resident.end()) continue;
    throw InvalidUse("a resource is in no residency set of the queue");
  }
}

// With the GPU's addresses such that the engine can follow them.
double run(Replay& replay, const std::vector<DoubleResidencySet*>& residency_sets) {
  count(Count::dispatches, static_cast<double>(replay.order.size()));
  if (replay.order.empty()) return 0;
  if (is_on(Switch::no_engine)) {
    return value(Switch::no_engine) * static_cast<double>(replay.order.size());
  }
  std::optional<Translation> translation;
  for (Dispatch& dispatch : replay.distinct) {
    const auto& arguments = dispatch.pipeline->info().arguments;
    for (metalbench::Binding& binding : dispatch.bindings) {
      const auto argument = std::ranges::find(arguments, binding.name, &metalbench::Argument::name);
      if (!may_hold_addresses(*argument)) continue;
      if (!translation) translation.emplace(replay.resident, resident_buffers(residency_sets));
      translation->enter(region_of(*argument, binding.value));
    }
  }
  return run_on_engine(replay);
}

}  // namespace

Outcome execute(const Pass& pass, const Surroundings& surroundings, std::int64_t earliest,
                double setup_ns) {
  const auto failed = [earliest](int code, std::string text) {
    return Outcome{earliest, earliest + 1, code, std::move(text)};
  };
  try {
    Replay recorded = replay(pass);
    if (pass.is_metal4) {
      for (Use& use : recorded.uses) use.tracked = false;
      require_resident(recorded, surroundings.residency_sets);
    }
    const std::int64_t begin = surroundings.timeline.begin_pass(pass, recorded.uses, earliest);
    setup_ns += value(Switch::encoder_ns);
    setup_ns += value(Switch::fence_ns) * static_cast<double>(pass.waited_for.size());
    const double ns = setup_ns + run(recorded, surroundings.residency_sets) + pass.extra_ns;
    const std::int64_t end = begin + std::max<std::int64_t>(1, to_ticks(at_clock(begin, ns)));
    surroundings.timeline.end_pass(pass, std::move(recorded.uses), end);
    return {begin, end, 0, ""};
  } catch (const metalbench::KernelFault& fault) {
    return failed(MTLCommandBufferErrorPageFault, fault.what());
  } catch (const metalbench::TimeLimitExceeded& hang) {
    return failed(MTLCommandBufferErrorTimeout, hang.what());
  } catch (const InvalidUse& problem) {
    violation("[" + pass.label + "] " + problem.what());
    return failed(MTLCommandBufferErrorInvalidResource, problem.what());
  } catch (...) {
    return failed(MTLCommandBufferErrorInternal, current_exception_text());
  }
}

namespace {

Outcome execute_all(const std::vector<std::shared_ptr<Pass>>& passes,
                    const Surroundings& surroundings, std::int64_t begin) {
  Outcome all{begin, begin, 0, {}};
  double setup_ns = value(Switch::command_buffer_ns);
  if (surroundings.timeline.residency_lapsed()) setup_ns += value(Switch::residency_ns);
  for (const auto& pass : passes) {
    Outcome outcome = execute(*pass, surroundings, begin, setup_ns);
    setup_ns = 0;
    if (pass->samples != nil) {
      [static_cast<DoubleCounterSampleBuffer*>(pass->samples) sampleFrom:outcome.begin
                                                                      to:outcome.end
                                                                 atIndex:pass->start_sample
                                                                     and:pass->end_sample];
    }
    all.end = std::max(all.end, outcome.end);
    all.error_code = outcome.error_code;
    all.text = std::move(outcome.text);
    if (all.error_code != 0) break;
  }
  return all;
}

}  // namespace

Outcome run_passes(const std::vector<std::shared_ptr<Pass>>& passes, std::uint64_t committed_ns,
                   const Surroundings& surroundings) {
  Timeline& timeline = surroundings.timeline;
  if (take(Switch::hang_command_buffer)) {
    wait_for_reset();
    committed_ns = host_ns();
  }
  int error = take_command_buffer_error();
  if (error == 0) error = timeline.consequence(committed_ns);
  const double arrival_ns = static_cast<double>(committed_ns) + value(Switch::latency_in_ns);
  // Nothing is written before the GPU begins, so that a missing wait shows.
  if (is_on(Switch::latency_in_ns)) wait_until_ns(static_cast<std::uint64_t>(arrival_ns));
  const std::int64_t begin = timeline.begin_buffer(to_ticks(arrival_ns));
  Outcome outcome =
      error == 0 ? execute_all(passes, surroundings, begin) : Outcome{begin, begin, error, ""};
  outcome.end = std::max(outcome.end, begin + 1);
  return outcome;
}

void wait_for_news_of(std::int64_t end) {
  const double latency_ns = value(Switch::latency_out_ns);
  if (latency_ns == 0 && !is_on(Switch::latency_in_ns)) return;
  wait_until_ns(static_cast<std::uint64_t>(to_ns(end) + latency_ns));
}

}  // namespace metal_double
