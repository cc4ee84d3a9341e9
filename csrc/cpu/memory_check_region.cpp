#include "cpu/memory_check_region.h"

namespace metalbench::cpu {

namespace {

// Kernels write to all bytes of small buffers, so up to this size memory is committed at once.
constexpr std::size_t small_bytes = 1 << 20;

}  // namespace

Region::Words::Words(std::size_t bytes, unsigned shift_, const Words* coarser_, bool is_watched)
    : shift(shift_),
      coarser(coarser_),
      plain(((bytes >> shift_) + 1) * sizeof(Cells), is_watched && bytes <= small_bytes),
      atomic(((bytes >> shift_) + 1) * sizeof(Cells)) {}

Region::Region(const std::byte* begin, const std::byte* end, std::size_t word_bytes,
               bool is_watched)
    : begin_(begin),
      end_(end),
      origin_(begin - reinterpret_cast<std::uintptr_t>(begin) % largest_word),
      is_watched_(is_watched) {
  const auto shift = static_cast<unsigned>(std::countr_zero(word_bytes | largest_word));
  all_.push_back(std::make_unique<Words>(end_ - origin_, shift, nullptr, is_watched));
  words_ = all_.back().get();
}

const Region::Words& Region::refine(unsigned shift) {
  const std::lock_guard lock(mutex_);
  if (shift < all_.back()->shift) {
    all_.push_back(std::make_unique<Words>(end_ - origin_, shift, all_.back().get(), true));
    words_.store(all_.back().get(), std::memory_order_release);
  }
  return *all_.back();
}

}  // namespace metalbench::cpu
