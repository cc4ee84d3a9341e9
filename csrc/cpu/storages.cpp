#include "cpu/storages.h"

#include <algorithm>

namespace metalbench::cpu {
namespace {

constexpr std::size_t most_freed = 1024;

}  // namespace

void Storages::add(std::span<const std::byte> bytes, std::span<const std::byte> taken,
                   bool is_own) {
  const std::lock_guard lock(mutex_);
  std::erase_if(freed_, [&](const Entry& freed) {
    return taken.data() < freed.bytes.data() + freed.bytes.size() &&
           freed.bytes.data() < taken.data() + taken.size();
  });
  live_.push_front({bytes, is_own, false, taken});
}

void Storages::remove(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(live_, [&](const Entry& entry) {
    return entry.bytes.data() == bytes.data() && entry.bytes.size() == bytes.size();
  });
  if (found == live_.end()) return;
  if (found->is_own) freed_.push_front({bytes, true, true, found->taken});
  if (freed_.size() > most_freed) freed_.pop_back();
  live_.erase(found);
}

std::optional<Storages::Entry> Storages::find(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  const auto holds = [&](const Entry& entry) {
    return address >= entry.bytes.data() && address < entry.bytes.data() + entry.bytes.size();
  };
  if (const auto found = std::ranges::find_if(live_, holds); found != live_.end()) return *found;
  if (const auto found = std::ranges::find_if(freed_, holds); found != freed_.end()) return *found;
  return std::nullopt;
}

bool Storages::holds(const std::byte* begin, const std::byte* end) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(live_, [&](const Entry& entry) {
    const std::byte* first = entry.taken.data();
    return entry.is_own && begin >= first && end <= first + entry.taken.size();
  });
}

}  // namespace metalbench::cpu
