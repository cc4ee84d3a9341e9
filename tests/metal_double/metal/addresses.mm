#include "addresses.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

namespace metal_double {
namespace {

// No host memory is there, and neither indices nor floating-point numbers look like it.
constexpr std::uint64_t first_address = 0x01C7'5A00'0000;
// Makes a host address invalid, on x86-64 and aarch64.
constexpr std::uint64_t nowhere = std::uint64_t{1} << 50;

struct Addresses {
  std::mutex mutex;
  std::map<std::uint64_t, std::span<std::byte>> taken;
  std::uint64_t next = first_address;
};

Addresses& addresses() {
  static Addresses& only = *new Addresses;
  return only;
}

std::mutex& translating() {
  static std::mutex& only = *new std::mutex;
  return only;
}

// Most words are none, and are not looked up.
bool may_be_address(std::uint64_t word) { return word >> 32 != 0 && word >> 48 == 0; }

std::uint64_t address_of(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

// The GPU's address of the host's, when it is within a buffer.
std::optional<std::uint64_t> to_gpu(std::uint64_t word) {
  const std::scoped_lock lock(addresses().mutex);
  for (const auto& [gpu, memory] : addresses().taken) {
    const std::uint64_t begin = address_of(memory.data());
    if (word >= begin && word < begin + memory.size()) return gpu + (word - begin);
  }
  return std::nullopt;
}

// The last pages of memory that was lent may be unmapped. The kernel is asked itself: a sanitizer
// takes the C library's call for a use of the byte, which may be between two of the heap's blocks.
bool is_readable(const std::byte* byte) {
  static const int file = memfd_create("metal double", MFD_CLOEXEC);
  return syscall(SYS_pwrite64, file, byte, 1, 0) == 1;
}

// Calls `change` for each aligned word of memory that can be read.
template <class Change>
void for_words(std::span<std::byte> memory, const Change& change) {
  const auto page = static_cast<std::uint64_t>(getpagesize());
  const std::uint64_t end = address_of(memory.data() + memory.size());
  std::uint64_t at = (address_of(memory.data()) + 7) / 8 * 8;
  while (at + 8 <= end) {
    const std::uint64_t page_end = std::min(end, (at / page + 1) * page);
    if (!is_readable(reinterpret_cast<const std::byte*>(at))) at = page_end;
    for (; at + 8 <= page_end; at += 8) change(*reinterpret_cast<std::uint64_t*>(at));
    at = (at + 7) / 8 * 8;
  }
}

}  // namespace

std::uint64_t give_address(std::span<std::byte> memory) {
  constexpr std::uint64_t alignment = 16 * 1024;
  const std::scoped_lock lock(addresses().mutex);
  const std::uint64_t address = addresses().next;
  addresses().taken.emplace(address, memory);
  // With an unmapped page between two.
  addresses().next += (memory.size() / alignment + 2) * alignment;
  return address;
}

void take_address_back(std::uint64_t address) {
  const std::scoped_lock lock(addresses().mutex);
  addresses().taken.erase(address);
}

Translation::Translation(const std::vector<DoubleBuffer*>& named,
                         const std::vector<DoubleBuffer*>& resident)
    : alone_(translating()) {
  for (const auto* const buffers : {&named, &resident}) {
    for (DoubleBuffer* buffer : *buffers) {
      const std::span<std::byte> memory = buffer->_storage->bytes();
      resident_.push_back({buffer->_gpuAddress, {memory, own_bytes(*buffer->_storage, 0)}});
    }
  }
}

std::uint64_t Translation::to_host(std::uint64_t word, bool is_own) {
  for (Place& place : resident_) {
    const std::span<std::byte> memory = place.host.memory;
    if (word < place.gpu || word >= place.gpu + memory.size()) continue;
    if (!place.entered) waiting_.push_back(place.host);
    place.entered = true;
    return address_of(memory.data()) + (word - place.gpu);
  }
  return is_own && to_gpu(word) ? word | nowhere : word;
}

void Translation::translate(std::uint64_t& word, bool is_own) {
  if (!may_be_address(word) || std::ranges::find(changed_, &word, &Changed::at) != changed_.end()) {
    return;
  }
  const std::uint64_t now = to_host(word, is_own);
  if (now == word) return;
  changed_.push_back({&word, word, now});
  word = now;
}

void Translation::enter(const Region& region) {
  waiting_.push_back(region);
  while (!waiting_.empty()) {
    const auto [memory, own_bytes] = waiting_.back();
    waiting_.pop_back();
    entered_.push_back({memory, own_bytes});
    for_words(memory.first(own_bytes), [this](std::uint64_t& word) { translate(word, true); });
    for_words(memory.subspan(own_bytes), [this](std::uint64_t& word) { translate(word, false); });
  }
}

Translation::~Translation() {
  for (const Changed& changed : changed_) {
    if (*changed.at == changed.now) *changed.at = changed.before;
  }
  for (const Region& region : entered_) {
    for_words(region.memory.first(region.own_bytes), [](std::uint64_t& word) {
      if (may_be_address(word)) word = to_gpu(word).value_or(word);
    });
  }
}

}  // namespace metal_double
