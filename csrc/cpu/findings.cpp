#include "cpu/findings.h"

#include <tuple>

namespace metalbench::cpu {
namespace {

// A kernel has not so many lines that anybody would read more.
constexpr std::size_t most = 256;

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
    if (entries_.size() < most) entries_.emplace(key, Entry{fault, launch, 1});
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

}  // namespace metalbench::cpu
