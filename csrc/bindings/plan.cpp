#include "bindings/plan.h"

#include <nanobind/stl/string.h>

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "core/nearest.h"

namespace metalbench::bindings {
namespace {

// Times, ratios and counts must be finite and not negative.
template <typename T>
T option_of(const std::string& name, const nb::handle& object) {
  if constexpr (std::is_integral_v<T>) {
    const nb::object integer = integer_of(object);
    T count = 0;
    if (integer.is_valid() && nb::try_cast(integer, count)) return count;
  } else {
    double value = -1;
    const nb::object number = plain_number(nb::borrow(object));
    if (nb::isinstance<nb::float_>(number) || integer_of(number).is_valid()) {
      value = nb::cast<double>(nb::float_(number));
    }
    if (std::isfinite(value) && value >= 0) return value;
  }
  throw DispatchError("[sample] " + name + ": expected " +
                      (std::is_integral_v<T> ? "a count of 0 or more" : "a number of 0 or more") +
                      ", got " + described(object));
}

template <typename Fields>
[[noreturn]] void reject_option(const std::string& name, const Fields& fields) {
  std::vector<std::string> known;
  std::string listed;
  for (const auto& [each, field] : fields) {
    known.push_back(each);
    listed += (listed.empty() ? "" : ", ") + each;
  }
  const std::string near = did_you_mean(name, known);
  throw ArgumentTypeError("[sample] no option " + name + "; " +
                          (near.empty() ? "expected one of " + listed : near));
}

}  // namespace

SamplePlan plan_from(const nb::kwargs& options) {
  using Field =
      std::variant<double SamplePlan::*, std::uint32_t SamplePlan::*, std::uint64_t SamplePlan::*>;
  static const std::map<std::string, Field> fields = {
      {"max_pairs", &SamplePlan::max_pairs},
      {"min_pairs", &SamplePlan::min_pairs},
      {"window_ns", &SamplePlan::window_ns},
      {"max_window_ns", &SamplePlan::max_window_ns},
      {"candidate_window", &SamplePlan::candidate_window},
      {"reference_window", &SamplePlan::reference_window},
      {"passes_per_command_buffer", &SamplePlan::passes_per_command_buffer},
      {"warmup_ns", &SamplePlan::warmup_ns},
      {"time_limit_ns", &SamplePlan::time_limit_ns},
      {"seed", &SamplePlan::seed},
      {"candidate_repeats", &SamplePlan::candidate_repeats},
      {"reference_repeats", &SamplePlan::reference_repeats},
      {"probe_every", &SamplePlan::probe_every},
      {"probe_drop", &SamplePlan::probe_drop},
      {"best_probe_ns", &SamplePlan::best_probe_ns},
      {"retries", &SamplePlan::retries},
      {"cool_ns", &SamplePlan::cool_ns},
      {"long_windows", &SamplePlan::long_windows},
      {"tick_ns", &SamplePlan::tick_ns},
  };
  SamplePlan plan;
  for (const auto& [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    const auto field = fields.find(name);
    if (field == fields.end()) reject_option(name, fields);
    std::visit([&plan, &name, object = nb::handle(value)]<typename T>(
                   T SamplePlan::* member) { plan.*member = option_of<T>(name, object); },
               field->second);
  }
  return plan;
}

}  // namespace metalbench::bindings
