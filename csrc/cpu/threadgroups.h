// One worker's share of a launch: takes threadgroups, and keeps those that wait for others
// resident.
#pragma once

#include <memory>
#include <vector>

#include "cpu/group_runner.h"
#include "cpu/pool.h"

namespace metalbench::cpu {

// What a worker can hold at a time. All but the first exist only once a threadgroup has waited.
using Residents = std::vector<std::unique_ptr<GroupRunner>>;

class Threadgroups {
 public:
  Threadgroups(Residents& residents, Pool::Job& job, std::size_t launch);

  // Takes and runs threadgroups until none are left. False when one had a fault.
  [[nodiscard]] bool run();
  [[nodiscard]] const Fault& fault() const { return fault_; }

 private:
  [[nodiscard]] bool run_scattered();
  [[nodiscard]] bool run_chunk(std::uint64_t first, std::uint64_t count);
  [[nodiscard]] bool settle(GroupRunner* runner, GroupRunner::Progress progress);
  // Lets those that wait have a turn, until at most `most` of them are left.
  [[nodiscard]] bool resume_until(std::size_t most);
  [[nodiscard]] GroupRunner* idle_runner();

  Residents& residents_;
  Pool::Job& job_;
  const Launch& launch_;
  std::uint64_t run_;
  std::vector<GroupRunner*> waiting_;
  Fault fault_;
};

}  // namespace metalbench::cpu
