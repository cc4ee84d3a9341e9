#include "cuda/gpu.h"

#include "core/errors.h"

namespace metalbench::cuda {
namespace {

constexpr int memory_type = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr const char* lost_to_process =
    "the CUDA context is unusable now: open the device again in another process";

}  // namespace

bool is_fault(Result result) {
  return (result >= result::illegal_address && result <= result::launch_failed &&
          result != result::illegal_address + 1) ||  // out of resources: the launch did not happen
         result == result::ecc_uncorrectable;
}

Gpu::Gpu() {
  const DriverLookup& found = find_driver();
  if (found.driver == nullptr) throw Unsupported("cuda: " + found.why_absent);
  driver_ = found.driver;
  check(driver_->cuDeviceGet(&number_, 0), "find the GPU");
  check(driver_->cuDriverGetVersion(&driver_version_), "read the driver's version");
  const int major = attribute(attribute::capability_major);
  const int minor = attribute(attribute::capability_minor);
  if (major < 8) {
    throw Unsupported("cuda: expected a GPU of compute capability 8.0 or later, got " +
                      std::to_string(major) + "." + std::to_string(minor) +
                      "; use the `cpu` device");
  }
  architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
}

int Gpu::attribute(int which) const {
  int value = 0;
  check(driver_->cuDeviceGetAttribute(&value, which, number_), "read an attribute of the GPU");
  return value;
}

void Gpu::use() const {
  if (const std::string why = lost(); !why.empty()) {
    throw MachineError("cuda: this process has lost the GPU: " + why +
                       "; open the device again in another process");
  }
  std::call_once(made_, [this] { make_context(); });
  check(driver_->cuCtxSetCurrent(context_), "use the GPU");
}

void Gpu::make_context() const {
  check(driver_->cuDevicePrimaryCtxRetain(&context_, number_), "make a context");
  check(driver_->cuCtxSetCurrent(context_), "use the GPU");
  check(driver_->cuStreamCreate(&stream_, non_blocking_stream), "make a stream");
}

void Gpu::check(Result result, const std::string& what) const {
  if (result == result::success) return;
  const std::string text = driver_->text(result);
  if (result == result::out_of_memory) {
    throw OutOfMemoryError("cuda: cannot " + what + ": " + text +
                           "; take smaller sizes, or free what else is on the GPU");
  }
  if (is_fault(result)) {
    lose(text);
    const std::string failed = "cuda: cannot " + what + ": " + text;
    if (completed_ == launches_) {
      throw Disturbed(
          failed +
          ", and no kernel of metalbench was running: another library in this process, "
          "such as MLX, is at fault, or an earlier kernel has overwritten its memory; " +
          lost_to_process);
    }
    throw KernelFault(failed + ", by a kernel that ran before; " + lost_to_process);
  }
  throw Error("cuda: cannot " + what + ": " + text);
}

void Gpu::launch(GraphExec graph) const {
  check(driver_->cuGraphLaunch(graph, stream_), "launch kernels");
  launched();
}

void Gpu::completed(std::uint64_t launches) const {
  std::uint64_t known = completed_;
  while (known < launches && !completed_.compare_exchange_weak(known, launches)) {
  }
}

void Gpu::copy_in(Address to, const void* from, std::size_t bytes) const {
  const std::uint64_t before = launches_;
  check(driver_->cuMemcpyHtoDAsync_v2(to, from, bytes, stream_), "copy to the GPU");
  check(driver_->cuStreamSynchronize(stream_), "wait for a copy to the GPU");
  completed(before);
}

void Gpu::copy_out(void* to, Address from, std::size_t bytes) const {
  const std::uint64_t before = launches_;
  check(driver_->cuMemcpyDtoHAsync_v2(to, from, bytes, stream_), "copy from the GPU");
  check(driver_->cuStreamSynchronize(stream_), "wait for a copy from the GPU");
  completed(before);
}

void Gpu::enqueue_copy_in(Address to, const void* from, std::size_t bytes) const {
  check(driver_->cuMemcpyHtoDAsync_v2(to, from, bytes, stream_), "copy to the GPU");
  // The driver has copied pageable memory to a staging buffer. It has not yet read memory that
  // is page-locked, which alone has this attribute.
  unsigned kind = 0;
  if (driver_->cuPointerGetAttribute(&kind, memory_type, reinterpret_cast<Address>(from)) ==
      result::success) {
    check(driver_->cuStreamSynchronize(stream_), "wait for a copy to the GPU");
  }
}

void Gpu::enqueue_copy(Address to, Address from, std::size_t bytes, Stream stream) const {
  check(driver_->cuMemcpyDtoDAsync_v2(to, from, bytes, stream), "copy on the GPU");
}

void Gpu::enqueue_zeros(Address to, std::size_t bytes) const {
  check(driver_->cuMemsetD8Async(to, 0, bytes, stream_), "clear memory of the GPU");
}

void Gpu::lose(const std::string& why) const {
  const std::lock_guard lock(mutex_);
  if (lost_.empty()) lost_ = why;
}

std::string Gpu::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace metalbench::cuda
