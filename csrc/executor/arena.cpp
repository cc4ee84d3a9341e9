#include "executor/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/errors.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t small_arena_bytes = std::size_t{16} << 20;
constexpr std::size_t most_small_bytes = std::size_t{2} << 20;
// A multiple of every supported page size.
constexpr std::size_t page_bytes = 16 * 1024;

std::size_t whole_pages(std::size_t size) {
  return (size + page_bytes - 1) / page_bytes * page_bytes;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

#ifdef __linux__
int nameless_file() { return memfd_create("metalbench", MFD_CLOEXEC); }
#else
int nameless_file() {
  const std::string name =
      "/metalbench." + std::to_string(getpid()) + "." + std::to_string(next_number());
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor >= 0) shm_unlink(name.c_str());
  return descriptor;
}
#endif

[[noreturn]] void fail(std::size_t size) {
  throw OutOfMemoryError("cpu device: cannot allocate " + std::to_string(size) + " bytes: " +
                         std::strerror(errno) + "; take smaller sizes, or raise `ulimit -v`");
}

}  // namespace

Arena::Arena(std::size_t size) : number_(next_number()), size_(whole_pages(size)) {
  descriptor_ = nameless_file();
  if (descriptor_ < 0) fail(size_);
  if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    close(descriptor_);
    fail(size_);
  }
  map();
}

Arena::Arena(std::uint64_t number, std::size_t size, int descriptor)
    : number_(number), size_(size), descriptor_(descriptor) {
  map();
  close(std::exchange(descriptor_, -1));
}

void Arena::map() {
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    close(descriptor_);
    errno = reason;
    fail(size_);
  }
  begin_ = static_cast<std::byte*>(memory);
}

Arena::~Arena() {
  munmap(begin_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::byte* Arena::take(std::size_t size) {
  const std::size_t wanted = gap_bytes + whole_pages(size) + gap_bytes;
  if (wanted > size_ - taken_) return nullptr;
  std::byte* found = begin_ + taken_ + gap_bytes;
  taken_ += wanted;
  return found;
}

void Arena::forget(std::byte* begin, std::size_t size) const {
#ifdef __linux__
  // Including the gaps, which only wild pointers touch.
  (void)fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  begin - gap_bytes - begin_,
                  static_cast<off_t>(whole_pages(size) + 2 * gap_bytes));
#else
  (void)begin, (void)size;
#endif
}

SharedStorage::SharedStorage(std::shared_ptr<Arenas> arenas, std::shared_ptr<Arena> arena,
                             std::byte* begin, std::size_t size)
    : arenas_(std::move(arenas)), arena_(std::move(arena)), begin_(begin), size_(size) {}

SharedStorage::~SharedStorage() {
  // The last storage releases the whole arena.
  if (arena_.use_count() > 1) arena_->forget(begin_, size_);
}

std::shared_ptr<Storage::Unwritten[]> SharedStorage::make_marks(std::size_t size) {
  static_assert(sizeof(Unwritten) == 1 && Unwritten::is_always_lock_free);
  marks_ = arenas_->allocate(size);
  return {marks_, reinterpret_cast<Unwritten*>(marks_->bytes().data())};
}

std::shared_ptr<SharedStorage> Arenas::allocate(std::size_t size) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Arena> arena;
  std::byte* begin = nullptr;
  if (size > most_small_bytes) {
    arena = std::make_shared<Arena>(whole_pages(size) + 2 * gap_bytes);
    begin = arena->take(size);
  } else {
    arena = small_;
    begin = arena == nullptr ? nullptr : arena->take(size);
    if (begin == nullptr) {
      small_ = arena = std::make_shared<Arena>(small_arena_bytes);
      begin = arena->take(size);
    }
  }
  return std::make_shared<SharedStorage>(shared_from_this(), std::move(arena), begin, size);
}

}  // namespace metalbench::executor
