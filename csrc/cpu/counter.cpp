#include "cpu/counter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/errors.h"
#include "cpu/launch.h"

namespace metalbench::cpu {
namespace {

namespace counts = mb::counts;

constexpr std::uint64_t line_bytes = 128;
constexpr std::uint64_t word_bytes = 4;
constexpr std::uint32_t banks = 32;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit;
}

// Return a mask of `count` bits from `first`, which may be outside of the word.
std::uint64_t bits(std::uint64_t first, std::uint64_t count) {
  if (count == 0 || first >= 64) return 0;
  const std::uint64_t all = ~std::uint64_t{0};
  const std::uint64_t end = std::min<std::uint64_t>(first + count, 64);
  return (all << first) & (all >> (64 - end));
}

std::size_t first_row(std::uint32_t segments) {
  return counts::head_words + 2 * counts::buffers + 2 * std::size_t{segments};
}

}  // namespace

Counter::Counter(Buffer results, const std::string& kernel) : results_(std::move(results)) {
  std::array<std::uint64_t, counts::head_words> head{};
  const auto given = results_.bytes();
  if (given.size() >= sizeof head) std::memcpy(head.data(), given.data(), sizeof head);
  constexpr std::uint64_t most = 1 << 24;
  const bool is_sane = head[counts::sites] < most && head[counts::segments] < most &&
                       head[counts::trace_capacity] < (std::uint64_t{1} << 32);
  sites_ = static_cast<std::uint32_t>(head[counts::sites]);
  segments_ = static_cast<std::uint32_t>(head[counts::segments]);
  trace_capacity_ = head[counts::trace_capacity];
  const std::size_t rows = std::size_t{sites_} * counts::spaces * counts::columns;
  words_.resize(is_sane ? first_row(segments_) + rows : 0);
  const std::size_t needed =
      (words_.size() + trace_capacity_ * counts::trace_words) * sizeof(std::uint64_t);
  if (!is_sane || given.size() < std::max(needed, sizeof head)) {
    throw DispatchError("[" + kernel + "] (counts): expected a buffer of at least " +
                        std::to_string(needed) + " bytes for what is counted, got " +
                        std::to_string(given.size()));
  }
}

void Counter::begin(const Launch& launch) {
  std::ranges::fill(words_, 0);
  trace_.clear();
  memories_.clear();
  last_ = 0;
  arena_bytes_ = launch.arena_bytes;
  for (const Range& range : launch.ranges) {
    // A small constant has any address; a slice of a buffer has its storage's.
    const bool is_buffer = range.buffer.has_value();
    const std::uint64_t skew = is_buffer ? range.buffer->offset() % line_bytes : 0;
    const auto size = static_cast<std::uint64_t>(range.end - range.begin);
    const std::size_t words = 2 * rounded_up(size + skew, line_bytes);
    memories_.push_back({range.begin, range.end, skew, range.is_constant,
                         std::vector<std::uint64_t>(words), std::vector<std::uint64_t>(words)});
  }
}

void Counter::publish() {
  words_[counts::sites] = sites_;
  words_[counts::segments] = segments_;
  words_[counts::trace_capacity] = trace_capacity_;
  words_[counts::trace_records] = trace_.size() / counts::trace_words;
  const auto ones = [](const std::vector<std::uint64_t>& all) {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : all) sum += static_cast<std::uint64_t>(std::popcount(each));
    return sum;
  };
  for (std::size_t i = 0; i < std::min<std::size_t>(memories_.size(), counts::buffers); ++i) {
    words_[counts::head_words + 2 * i] = ones(memories_[i].read);
    words_[counts::head_words + 2 * i + 1] = ones(memories_[i].written);
  }
  std::byte* to = results_.bytes().data();
  std::memcpy(to, words_.data(), words_.size() * sizeof(std::uint64_t));
  if (trace_.empty()) return;
  std::memcpy(to + words_.size() * sizeof(std::uint64_t), trace_.data(),
              trace_.size() * sizeof(std::uint64_t));
}

std::uint64_t* Counter::row(std::uint32_t site, std::uint32_t space) {
  return words_.data() + first_row(segments_) +
         (std::size_t{site} * counts::spaces + space) * counts::columns;
}

void Counter::add_segment(std::uint32_t segment, std::uint64_t by_threads,
                          std::uint64_t by_simdgroups) {
  std::uint64_t* const sums = words_.data() + counts::head_words + 2 * counts::buffers;
  sums[2 * std::size_t{segment}] += by_threads;
  sums[2 * std::size_t{segment} + 1] += by_simdgroups;
}

void Counter::add_simdgroup(std::uint32_t threads) {
  words_[counts::threads] += threads;
  ++words_[counts::simdgroups];
}

void Counter::add_thread(const std::array<std::uint64_t, 4>& accesses) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    std::uint64_t& most = words_[counts::most_device_reads + i];
    most = std::max(most, accesses[i]);
  }
}

void Counter::trace(std::uint32_t site, std::uint64_t group, std::uint32_t thread,
                    const std::byte* address, const std::byte* arena) {
  if (trace_.size() >= trace_capacity_ * counts::trace_words) return;
  const std::uint32_t space = space_of(address, arena);
  if (space == counts::elsewhere) return;
  const bool is_shared = space == counts::threadgroup;
  const std::byte* begin = is_shared ? arena : memories_[last_].begin;
  const std::uint64_t buffer = is_shared ? 0 : last_;
  const auto offset = static_cast<std::uint64_t>(address - begin);
  trace_.insert(trace_.end(),
                {site, group, thread, std::uint64_t{space} << 56 | buffer << 48 | offset});
}

bool Counter::find(const std::byte* address) {
  const auto has = [&](std::size_t i) {
    return address >= memories_[i].begin && address < memories_[i].end;
  };
  if (last_ < memories_.size() && has(last_)) return true;
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    if (!has(i)) continue;
    last_ = static_cast<std::uint32_t>(i);
    return true;
  }
  return false;
}

std::uint32_t Counter::space_of(const std::byte* address, const std::byte* arena) {
  if (address >= arena && address < arena + arena_bytes_) return counts::threadgroup;
  if (!find(address)) return counts::elsewhere;
  return memories_[last_].is_constant ? counts::constant : counts::device;
}

void Counter::add_access(std::uint32_t site, const SimdAccess& access, const std::byte* arena) {
  std::array<std::uint32_t, counts::spaces + 1> lanes{};
  for (std::uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    lanes[space_of(access.address[lane], arena)] |= 1u << lane;
  }
  for (std::uint32_t space = 0; space < counts::spaces; ++space) {
    if (lanes[space] == 0) continue;
    std::uint64_t* const sums = row(site, space);
    const auto count = static_cast<std::uint64_t>(std::popcount(lanes[space]));
    sums[counts::by_threads] += count;
    ++sums[counts::by_simdgroups];
    sums[counts::bytes] += count * access.bytes;
    if (space == counts::threadgroup) {
      add_words(access, lanes[space], arena, sums);
    } else {
      add_lines(access, lanes[space], sums);
    }
    if (access.kind != mb::Counted::atomic) continue;
    std::array<const std::byte*, mb::simd_width> wanted{};
    std::size_t some = 0;
    for (std::uint32_t rest = lanes[space]; rest != 0; rest &= rest - 1) {
      wanted[some++] = access.address[static_cast<std::size_t>(std::countr_zero(rest))];
    }
    std::sort(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(some));
    const auto end =
        std::unique(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(some));
    sums[counts::contended] += count - static_cast<std::uint64_t>(end - wanted.begin());
  }
}

void Counter::mark(std::uint32_t memory, std::uint64_t number, std::uint64_t first,
                   std::uint64_t count) {
  const std::uint64_t low = bits(first, count);
  const std::uint64_t end = first + count;
  const std::uint64_t high =
      end <= 64 ? 0 : bits(first > 64 ? first - 64 : 0, end - std::max<std::uint64_t>(first, 64));
  // Neighbouring lanes mostly access the line that was accessed last.
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
    if (line->number != number || line->memory != memory) continue;
    line->low |= low;
    line->high |= high;
    return;
  }
  lines_.push_back({memory, number, low, high});
}

void Counter::take_bytes(const SimdAccess& access, std::uint32_t lane) {
  if (!find(access.address[lane])) return;
  const Memory& memory = memories_[last_];
  const auto offset = static_cast<std::uint64_t>(access.address[lane] - memory.begin);
  const std::uint64_t first = offset + memory.skew;
  const auto size = static_cast<std::uint64_t>(memory.end - memory.begin) + memory.skew;
  const std::uint64_t end = std::min(first + access.bytes, size);
  // Most accesses lie in one half of the line that was accessed last.
  if (!lines_.empty() && first / 64 == (end - 1) / 64 && first < end) {
    Line& line = lines_.back();
    if (line.number == first / line_bytes && line.memory == last_) {
      (first % line_bytes < 64 ? line.low : line.high) |= bits(first % 64, end - first);
      return;
    }
  }
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t next = std::min(end, (at / line_bytes + 1) * line_bytes);
    mark(last_, at / line_bytes, at % line_bytes, next - at);
    at = next;
  }
}

void Counter::add_lines(const SimdAccess& access, std::uint32_t lanes, std::uint64_t* sums) {
  lines_.clear();
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    take_bytes(access, static_cast<std::uint32_t>(std::countr_zero(rest)));
  }
  std::uint64_t distinct = 0;
  for (const Line& line : lines_) {
    Memory& memory = memories_[line.memory];
    distinct += static_cast<std::uint64_t>(std::popcount(line.low) + std::popcount(line.high));
    const std::size_t at = 2 * line.number;
    if (access.kind != mb::Counted::write) {
      memory.read[at] |= line.low;
      memory.read[at + 1] |= line.high;
    }
    if (access.kind != mb::Counted::read) {
      memory.written[at] |= line.low;
      memory.written[at + 1] |= line.high;
    }
  }
  sums[counts::transactions] += lines_.size();
  sums[counts::least_transactions] += rounded_up(distinct, line_bytes);
}

// Lanes with the same word are served in the same cycle.
void Counter::add_words(const SimdAccess& access, std::uint32_t lanes, const std::byte* arena,
                        std::uint64_t* sums) {
  wanted_.clear();
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const auto offset = static_cast<std::uint64_t>(access.address[lane] - arena);
    const std::uint64_t end = offset + access.bytes;
    for (std::uint64_t word = offset / word_bytes; word * word_bytes < end; ++word) {
      // Neighbouring lanes often access the same word.
      if (wanted_.empty() || wanted_.back() != word) wanted_.push_back(word);
    }
  }
  if (!std::ranges::is_sorted(wanted_)) std::ranges::sort(wanted_);
  wanted_.erase(std::ranges::unique(wanted_).begin(), wanted_.end());
  std::array<std::uint64_t, banks> of_bank{};
  for (const std::uint64_t word : wanted_) ++of_bank[word % banks];
  sums[counts::bank_turns] += *std::ranges::max_element(of_bank);
  sums[counts::least_bank_turns] += rounded_up(wanted_.size(), banks);
}

}  // namespace metalbench::cpu
