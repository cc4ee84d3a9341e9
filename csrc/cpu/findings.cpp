#include "cpu/findings.h"

#include <tuple>

namespace metalbench::cpu {
namespace {

// Limit for one rule in one launch. Unrolled and inlined code has many places per source line, so
// this is far above the number of lines in a report.
constexpr std::size_t most_listed = 2048;

auto place_in_grid(const Fault& fault) {
  const mb::Dim3 &group = fault.threadgroup, &thread = fault.thread;
  return std::tuple(group.z, group.y, group.x, thread.z, thread.y, thread.x);
}

}  // namespace

void Findings::add(const Fault& fault, std::size_t launch) {
  const Key key{launch, fault.pc, rule_of(fault), fault.memory};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    std::size_t& listed = listed_[{launch, key.rule}];
    if (listed < most_listed) {
      ++listed;
      entries_.emplace(key, Entry{fault, launch, 1});
      return;
    }
    Unlisted& rest = unlisted_[{launch, key.rule}];
    rest.places.insert(key);
    ++rest.count;
    return;
  }
  Entry& entry = found->second;
  ++entry.count;
  if (place_in_grid(fault) < place_in_grid(entry.first)) entry.first = fault;
}

std::vector<Findings::Entry> Findings::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> all;
  for (const auto& [key, entry] : entries_) all.push_back(entry);
  return all;
}

std::vector<Findings::Rest> Findings::rests() const {
  const std::lock_guard lock(mutex_);
  std::vector<Rest> all;
  for (const auto& [of, rest] : unlisted_) {
    all.push_back({of.first, of.second, rest.places.size(), rest.count});
  }
  return all;
}

}  // namespace metalbench::cpu
