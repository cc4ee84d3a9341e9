#include "execute.h"

#import <Metal/Metal.h>

#include <algorithm>
#include <chrono>

#include "control.h"
#include "core/errors.h"
#include "engine.h"
#include "errors.h"
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

double run(const Replay& replay) {
  count(Count::dispatches, static_cast<double>(replay.order.size()));
  if (replay.order.empty()) return 0;
  if (is_on(Switch::no_engine)) {
    return value(Switch::no_engine) * static_cast<double>(replay.order.size());
  }
  const std::size_t period = period_of(replay.order);
  std::vector<Dispatch> dispatches;
  for (std::size_t i = 0; i < period; ++i) dispatches.push_back(replay.distinct[replay.order[i]]);
  metalbench::RunOptions options;
  options.passes = static_cast<std::uint32_t>(replay.order.size() / period);
  options.time_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(value(Switch::watchdog_s)));
  return engine().prepare(dispatches)->run(options).device_ns;
}

constexpr int first_of_driver = 100;

const char* metals_words(int code) {
  switch (code) {
    case MTLCommandBufferErrorTimeout:
      return "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)";
    case MTLCommandBufferErrorPageFault:
      return "Caused GPU Address Fault Error "
             "(0000000b:kIOGPUCommandBufferCallbackErrorPageFault)";
    case MTLCommandBufferErrorAccessRevoked:
      return "Ignored (for causing prior/excessive GPU errors) "
             "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
    case MTLCommandBufferErrorOutOfMemory:
      return "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)";
    case MTLCommandBufferErrorInvalidResource:
      return "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)";
    case MTLCommandBufferErrorNotPermitted:
      return "Insufficient Permission (to submit GPU work from background) "
             "(00000006:kIOGPUCommandBufferCallbackErrorBackgroundExecutionNotPermitted)";
    case MTLCommandBufferErrorMemoryless:
      return "Memoryless Texture Overflow";
    case MTLCommandBufferErrorDeviceRemoved:
      return "Device Removed";
    case MTLCommandBufferErrorStackOverflow:
      return "Stack Overflow";
    case first_of_driver + 4:
      return "Ignored (for causing prior/excessive GPU errors) "
             "(00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
    case first_of_driver + 5:
      return "Discarded (victim of GPU error/recovery) "
             "(00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)";
    case first_of_driver + 14:
      return "Impacting Interactivity "
             "(0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)";
    default:
      return "Internal Error (0000000e:Internal Error)";
  }
}

}  // namespace

Outcome execute(const Pass& pass, std::int64_t start) {
  const auto failed = [start](int code, std::string text) {
    return Outcome{start + 1, code, std::move(text)};
  };
  try {
    const double ns = run(replay(pass)) + pass.extra_ns;
    return {start + std::max<std::int64_t>(1, to_ticks(ns)), 0, ""};
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

NSError* error_of(const Outcome& outcome) {
  std::string words = metals_words(outcome.error_code);
  if (!outcome.text.empty()) words += ": " + outcome.text;
  const bool is_drivers = outcome.error_code >= first_of_driver;
  NSString* const domain =
      is_on(Switch::foreign_errors) ? @"DoubleErrorDomain" : MTLCommandBufferErrorDomain;
  return make_error(domain, is_drivers ? MTLCommandBufferErrorInternal : outcome.error_code, words);
}

}  // namespace metal_double
