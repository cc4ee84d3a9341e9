#include "cpu/memory_check_segments.h"

#include <algorithm>
#include <tuple>

namespace metalbench::cpu {

Segments::Segments() : entries_(std::size_t{most} * sizeof(Segment)) {}

std::uint32_t Segments::enter(std::uint64_t run) {
  const std::lock_guard lock(mutex_);
  if (run != run_) {
    run_ = run;
    first_ = next_.load();
    objects_.clear();
  }
  return first_;
}

void Segments::publish(const std::byte* object, const KnownReleases& known) {
  const std::lock_guard lock(mutex_);
  objects_[object].join(known);
}

void Segments::learn(const std::byte* object, KnownReleases& known) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(object);
  if (found != objects_.end()) known.join(found->second);
}

std::pair<std::uint32_t, std::uint32_t> Segments::take() {
  constexpr std::uint32_t block = 64;
  if (next_.load() >= most - block) return {0, 0};
  const std::uint32_t first = next_.fetch_add(block);
  if (first >= most - block) return {0, 0};
  return {first, first + block};
}

void GroupClock::enter(Segments& segments, std::uint64_t run) {
  segments_ = &segments;
  first_ = segments.enter(run);
  free_ = free_end_ = 0;
}

void GroupClock::start_group(std::uint64_t number) {
  group_ = number;
  epoch_ = 0;
  phase_ = 1;
  fenced_in_.clear();
  acquired_ = {};
  read_.clear();
  happens_before_.start();
  has_fenced_ = false;
  released_at_ = 0;
  unreleased_.clear();
  next_segment();
}

void GroupClock::next_segment() {
  if (free_ == free_end_) std::tie(free_, free_end_) = segments_->take();
  segment_ = free_ == free_end_ ? 0 : free_++;
  if (segment_ == 0) return;
  Segment& segment = segments_->at(segment_);
  segment.group = group_;
  segment.epoch = epoch_;
  segment.phase = phase_;
  unreleased_.push_back(segment_);
}

void GroupClock::acquire() {
  if (read_.are_many()) acquired_.add_all(segments_->now());
  for (const std::byte* object : read_.objects()) segments_->learn(object, acquired_);
}

void GroupClock::barrier(bool is_device) {
  if (is_device) {
    ++epoch_;
    happens_before_.start();
    has_fenced_ = true;
    acquire();
  } else if (std::ranges::find(fenced_in_, phase_) == fenced_in_.end()) {
    return;
  }
  ++phase_;
  next_segment();
}

void GroupClock::fence(std::uint32_t thread, Fence fence) {
  if (fenced_in_.empty()) fenced_in_.resize(mb::max_threads);
  fenced_in_[thread] = phase_;
  happens_before_.fence(thread, fence);
  if (fence.releases) has_fenced_ = true;
  if (fence.acquires) acquire();
}

void GroupClock::read_atomically(const std::byte* object, std::uint32_t thread, bool is_device) {
  if (is_device) read_.add(object);
  happens_before_.read(object, thread);
}

void GroupClock::write_atomically(const std::byte* object, std::uint32_t thread, bool is_device) {
  happens_before_.write(object, thread);
  if (!is_device) return;
  if (has_fenced_) {
    has_fenced_ = false;
    released_at_ = segments_->advance();
    for (const std::uint32_t segment : unreleased_) {
      segments_->at(segment).released.store(released_at_, std::memory_order_release);
    }
    unreleased_.clear();
    next_segment();
  }
  if (released_at_ == 0) return;
  KnownReleases known = acquired_;
  known.add(group_, released_at_);
  segments_->publish(object, known);
}

bool GroupClock::is_concurrent(std::uint32_t segment) const {
  if (segment == segment_) return true;
  if (segment < first_) return false;
  const Segment& other = segments_->at(segment);
  return other.group == group_ && other.epoch == epoch_;
}

bool GroupClock::is_ordered_by_atomics(const Mark& mark, std::uint32_t thread) const {
  if (fenced_in_.empty()) return false;
  const std::uint32_t phase = segments_->at(mark.segment()).phase;
  return fenced_in_[mark.thread()] >= phase && fenced_in_[thread] > phase;
}

bool GroupClock::is_over(const Mark& mark, std::uint32_t thread) const {
  if (mark.segment() < first_) return true;
  // The mark does not record the other threadgroups, so assume that they released.
  if (mark.by() == Mark::By::threadgroups && !acquired_.is_empty()) return true;
  if (mark.segment() == segment_) {
    return mark.by() != Mark::By::threadgroups && happens_before_.is_over(mark, thread);
  }
  const Segment& other = segments_->at(mark.segment());
  if (other.group == group_) {
    return mark.by() != Mark::By::threadgroups &&
           (other.epoch != epoch_ || is_ordered_by_atomics(mark, thread) ||
            happens_before_.is_over(mark, thread));
  }
  const std::uint32_t released = other.released.load(std::memory_order_acquire);
  return released != 0 && acquired_.holds(other.group, released);
}

}  // namespace metalbench::cpu
