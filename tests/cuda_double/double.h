// A double of NVIDIA's driver, for tests without a GPU: the functions that csrc/cuda/driver.h names. Here is
// what they share; device.cpp, execution.cpp and modules.cpp are the functions.
//
// Only copies and kernels can access device memory. A missing copy is thus found.
// What is put on a stream is done when somebody asks for it and no sooner, as late as a GPU might. Kernels
// run one thread after the other, from shared objects that build.py has made of the same text; what
// these do outside of device memory is the error that a GPU has for it, and sticks. One that takes longer
// than any of the tests' has no end. The clock advances by launch_ns with every launch, and, with
// CUDA_DOUBLE_CLOCK=host, by what its kernel took here.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "msl/mb/gpu/abi.h"

namespace cuda_double {

inline constexpr int ok = 0, invalid = 1, out_of_memory = 2, invalid_ptx = 218, not_ready = 600;
inline constexpr int illegal_address = 700, no_binary = 209, operating_system = 304;
inline constexpr int not_capturable = 900, not_updatable = 910;
inline constexpr int relaxed = 2;  // mode of a capture in which memory may be allocated
inline constexpr std::size_t page = 4096;

// Of one threadgroup.
using Entry = void (*)(const mb::gpu::Launch*, const unsigned* group, const unsigned* threads);

struct ModuleOf {
  void* library = nullptr;
  Entry entry = nullptr;  // null: it does nothing
  unsigned threads = 0, blocks = 0;
};

// By address, with their sizes.
inline std::map<std::uint64_t, std::size_t> memory;
inline std::deque<std::function<void()>> stream;
inline std::set<std::string> alive;  // what was made and not destroyed, in words
inline int sticky = ok;
inline bool hanging = false;
// Any thread may call the functions.
inline std::recursive_mutex mutex;
inline int patience = 0;  // queries that find the stream still working

// Lets copies and kernels, or nothing, access device memory.
void make_reachable(bool yes);
// Does all that was put on the stream.
void flush();
// Puts work on a stream, or into the graph that captures it. Graphs with the same kinds of work in
// the same order can be updated.
void enqueue(const void* on, char kind, std::function<void()> work);
[[nodiscard]] bool is_captured(const void* on);
[[nodiscard]] bool may_allocate();

// Counts a call, and returns what a test has asked for, or what has gone wrong before.
[[nodiscard]] int begin(const char* name);

template <typename T>
std::string word_of(const char* kind, const T* what) {
  return kind + std::to_string(reinterpret_cast<std::uintptr_t>(what));
}
template <typename T>
void born(const char* kind, const T* what) {
  alive.insert(word_of(kind, what));
}
template <typename T>
int gone(const char* kind, const T* what) {
  return alive.erase(word_of(kind, what)) == 1 ? ok : invalid;
}

}  // namespace cuda_double

#define BEGIN                                                             \
  const std::lock_guard<std::recursive_mutex> held(cuda_double::mutex);   \
  if (const int failed = cuda_double::begin(__func__); failed != cuda_double::ok) return failed
