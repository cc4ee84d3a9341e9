#include "metal/in_flight.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "core/errors.h"
#include "metal/failure.h"
#include "metal/pool.h"

namespace metalbench::metal {
namespace {

using namespace std::chrono_literals;

constexpr auto poll_period = 20ms;
// Time for a command buffer to end after Ctrl-C, the deadline or a failure before it.
constexpr auto time_to_end = 1s;

enum class Outcome { ended, interrupted, late };

Outcome wait_for(Completion& completion, const Queue::Limits& limits) {
  while (!completion.wait_until(Clock::now() + poll_period)) {
    if (limits.interrupted && limits.interrupted()) return Outcome::interrupted;
    if (limits.deadline && Clock::now() >= *limits.deadline) return Outcome::late;
  }
  return Outcome::ended;
}

[[noreturn]] void throw_outcome(Outcome outcome) {
  if (outcome == Outcome::interrupted) throw Interrupted();
  throw TimeLimitExceeded("the time limit of the run is reached");
}

}  // namespace

void CommittedBuffer::check() {
  try {
    with_pool([this] {
      metal::check(*completion, names);
      return true;
    });
  } catch (...) {
    is_reported = true;
    // Metal may ignore later work on a queue that had a fault.
    ordered_queue->closed = true;
    throw;
  }
}

InFlight::~InFlight() {
  if (buffers_.empty()) return;
  const std::shared_ptr<Completion> last = buffers_.back()->completion;
  auto owners = std::make_shared<std::vector<std::shared_ptr<void>>>(take_owners());
  if (!last->ended()) gpu_->keep_until_ended(last, std::move(owners));
}

void InFlight::add(std::shared_ptr<CommittedBuffer> buffer) {
  staged_bytes_ += buffer->staged_bytes;
  buffers_.push_back(std::move(buffer));
}

bool InFlight::has_ended(std::uint64_t number) const {
  if (buffers_.empty() || number < buffers_.front()->number) return true;
  const auto place = std::min<std::uint64_t>(number - buffers_.front()->number, buffers_.size());
  if (place == buffers_.size() && number != all) return false;
  return buffers_[std::min<std::size_t>(place, buffers_.size() - 1)]->completion->ended();
}

void InFlight::await(std::uint64_t number, const Limits& limits) {
  while (!buffers_.empty() && buffers_.front()->number <= number) {
    const std::shared_ptr<CommittedBuffer> first = buffers_.front();
    const Outcome outcome = wait_for(*first->completion, limits);
    if (outcome == Outcome::ended) {
      remove_first();
      continue;
    }
    if (!first->completion->wait_until(Clock::now() + time_to_end)) {
      const std::string text = "[" + first->names + "] the run was ended by ";
      const bool by_user = outcome == Outcome::interrupted;
      lose(by_user ? std::make_exception_ptr(Disturbed(text + "Ctrl-C; run it again"))
                   : std::make_exception_ptr(TimeLimitExceeded(text + "its time limit")));
    }
    throw_outcome(outcome);
  }
}

void InFlight::await(Completion& completion, const Limits& limits) {
  const Outcome outcome = wait_for(completion, limits);
  if (outcome != Outcome::ended) throw_outcome(outcome);
}

void InFlight::check(std::uint64_t number) const {
  for (const Lost& lost : lost_) {
    if (lost.first <= number && number <= lost.last) std::rethrow_exception(lost.error);
  }
}

// Throws its failure.
void InFlight::remove_first() {
  const std::shared_ptr<CommittedBuffer> first = buffers_.front();
  const bool was_reported = first->is_reported;
  try {
    first->check();
  } catch (...) {
    // Metal discards the rest.
    static_cast<void>(buffers_.back()->completion->wait_until(Clock::now() + time_to_end));
    lose(std::current_exception());
    if (was_reported) return;
    throw;
  }
  staged_bytes_ -= first->staged_bytes;
  first->owners.clear();
  buffers_.pop_front();
}

// Forget all buffers. No later program gets memory with lost results, or memory that buffers which
// were abandoned may still write to.
void InFlight::lose(std::exception_ptr error) {
  lost_.push_back({buffers_.front()->number, buffers_.back()->number, std::move(error)});
  const std::shared_ptr<CommittedBuffer> last = buffers_.back();
  last->ordered_queue->closed = true;
  auto owners = std::make_shared<std::vector<std::shared_ptr<void>>>(take_owners());
  owners->push_back(retire_memory_());
  buffers_.clear();
  staged_bytes_ = 0;
  if (last->completion->ended()) return;
  last->ordered_queue->hangs = true;
  gpu_->keep_until_ended(last->completion, std::move(owners));
}

std::vector<std::shared_ptr<void>> InFlight::take_owners() {
  std::vector<std::shared_ptr<void>> owners;
  for (const auto& buffer : buffers_) {
    std::ranges::move(buffer->owners, std::back_inserter(owners));
    buffer->owners.clear();
  }
  return owners;
}

}  // namespace metalbench::metal
