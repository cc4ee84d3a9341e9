#include "cuda/ptx.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "core/errors.h"
#include "core/header_mismatch.h"

namespace metalbench::cuda {
namespace {

constexpr const char* entry_name = "mb_entry";
// CUjit_option and CUjitInputType.
constexpr int error_log = 5;
constexpr int error_log_bytes = 6;
constexpr int line_numbers = 13;
constexpr int input_ptx = 1;
constexpr std::size_t log_bytes = 8192;
// CUfunction_attribute.
constexpr int local_size_bytes = 3;
constexpr int num_regs = 4;
constexpr int max_dynamic_shared_size_bytes = 8;
// Limits of a multiprocessor for compute capability 8.0 to 12.0, from NVIDIA's table of technical
// specifications; the minimum for threads and threadgroup memory. Warps get registers in units of
// eight per lane.
constexpr std::uint32_t all_registers = 65536, by_eights = 8, warp = 32;
constexpr std::uint32_t most_threads = 1536, all_threadgroup_bytes = 100 << 10, own_bytes = 1024;
// More blocks do not hide more latency, and register spills cost time.
constexpr std::uint32_t most_blocks = 4, most_spilled = 64;

std::uint32_t number_after(const std::string& text, std::size_t at) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + at, nullptr, 10));
}

// Sum over all variables such as `.shared .align 16 .b8 name[64];`
std::uint32_t threadgroup_bytes(const std::string& ptx) {
  constexpr const char* word = ".shared .align ";
  std::uint32_t bytes = 0;
  for (std::size_t at = ptx.find(word); at != std::string::npos; at = ptx.find(word, at + 1)) {
    const std::size_t line = ptx.rfind('\n', at) + 1, end = ptx.find('\n', at);
    const std::size_t bracket = ptx.find('[', at);
    if (bracket > end || ptx.compare(line, at - line, ".extern ") == 0) continue;
    const std::uint32_t alignment = std::max(number_after(ptx, at + std::strlen(word)), 1U);
    bytes = (bytes + alignment - 1) / alignment * alignment + number_after(ptx, bracket + 1);
  }
  return bytes;
}

// The largest number in a comment such as `// mb_product_bytes 98304` (msl/mb/gpu).
std::uint32_t largest_product_bytes(const std::string& ptx) {
  constexpr const char* word = "// mb_product_bytes ";
  std::uint32_t bytes = 0;
  for (std::size_t at = ptx.find(word); at != std::string::npos; at = ptx.find(word, at + 1)) {
    bytes = std::max(bytes, number_after(ptx, at + std::strlen(word)));
  }
  return bytes;
}

std::optional<std::string> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Write atomically, because other processes read the file.
void keep(const std::string& path, const std::string& contents) {
  const std::string written = path + "." + std::to_string(getpid());
  std::ofstream file(written, std::ios::binary);
  file << contents;
  file.close();
  std::error_code failed;
  if (file) std::filesystem::rename(written, path, failed);
  if (!file || failed) std::filesystem::remove(written, failed);
}

}  // namespace

mb::Info info_of(const std::string& ptx) {
  std::size_t at = ptx.find(" mb_info[");
  if (at != std::string::npos) at = ptx.find('{', at);
  if (at == std::string::npos) {
    throw Error(
        "cuda: expected the PTX of a kernel, got a text without mb_info; remove it from "
        "the cache");
  }
  std::array<unsigned char, sizeof(mb::Info)> bytes{};
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(number_after(ptx, ++at));
    at = ptx.find_first_of(",}", at);
    if (ptx[at] == '}') break;
  }
  mb::Info info{};
  std::memcpy(&info, bytes.data(), sizeof info);
  if (info.abi != mb::abi_version) throw header_mismatch("cuda", info.abi);
  info.threadgroup_bytes = threadgroup_bytes(ptx);
  return info;
}

std::string for_threads(const std::string& ptx, std::uint32_t threads, std::uint32_t blocks) {
  const std::size_t entry = ptx.find(std::string(".entry ") + entry_name);
  const std::size_t end = entry == std::string::npos ? entry : ptx.find(')', entry);
  if (end == std::string::npos) throw Error("cuda: the PTX has no entry; remove it from the cache");
  const std::string room = blocks == 0 ? "" : " .minnctapersm " + std::to_string(blocks);
  return ptx.substr(0, end + 1) + "\n.maxntid " + std::to_string(threads) + ", 1, 1" + room +
         ptx.substr(end + 1);
}

std::uint32_t blocks_with_less(const ModuleResources& resources, std::uint32_t threads,
                               std::uint32_t threadgroup_bytes) {
  const std::uint32_t lanes = (threads + warp - 1) / warp * warp;
  const std::uint32_t own = (resources.registers + by_eights - 1) / by_eights * by_eights;
  if (own == 0 || lanes == 0) return 0;
  const std::uint32_t blocks = all_registers / (own * lanes) + 1;
  const std::uint32_t fewer = all_registers / (blocks * lanes) / by_eights * by_eights;
  const bool fits = blocks > 1 && blocks <= most_blocks && blocks * lanes <= most_threads &&
                    blocks * (threadgroup_bytes + own_bytes) <= all_threadgroup_bytes;
  return fits && fewer * 10 >= own * 9 ? blocks : 0;
}

const std::string& empty_kernel() {
  static const std::string text =
      ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry mb_entry(\n"
      "\t.param .align 8 .b8 mb_entry_param_0[" +
      std::to_string(sizeof(mb::gpu::Launch)) + "]\n)\n{\n\tret;\n}\n";
  return text;
}

Module::Module(std::shared_ptr<const Gpu> gpu, const std::string& image) : gpu_(std::move(gpu)) {
  gpu_->check(gpu_->driver().cuModuleLoadData(&handle_, image.c_str()), "load a compiled kernel");
  const Result found = gpu_->driver().cuModuleGetFunction(&function_, handle_, entry_name);
  if (found == result::success) return;
  (void)gpu_->driver().cuModuleUnload(handle_);
  gpu_->check(found, "find the kernel in the compiled module");
}

ModuleResources Module::resources() const {
  int registers = 0, bytes = 0;
  gpu_->check(gpu_->driver().cuFuncGetAttribute(&registers, num_regs, function_),
              "query the kernel's registers");
  gpu_->check(gpu_->driver().cuFuncGetAttribute(&bytes, local_size_bytes, function_),
              "query the kernel's local memory");
  return {static_cast<std::uint32_t>(registers), static_cast<std::uint32_t>(bytes)};
}

void Module::allow_dynamic_bytes(std::uint32_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (bytes <= allowed_bytes_) return;
  gpu_->check(gpu_->driver().cuFuncSetAttribute(function_, max_dynamic_shared_size_bytes,
                                                static_cast<int>(bytes)),
              "reserve " + std::to_string(bytes) + " bytes of threadgroup memory");
  allowed_bytes_ = bytes;
}

Module::~Module() {
  if (gpu_->lost().empty()) (void)gpu_->driver().cuModuleUnload(handle_);
}

Modules::Modules(std::shared_ptr<const Gpu> gpu, std::shared_ptr<ArtifactCache> cache,
                 std::string ptx, std::string kernel)
    : gpu_(std::move(gpu)),
      cache_(std::move(cache)),
      ptx_(std::move(ptx)),
      kernel_(std::move(kernel)),
      product_bytes_(largest_product_bytes(ptx_)) {}

std::shared_ptr<const Module> Modules::of_threads(std::uint32_t threads) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Module>& known = modules_[threads];
  if (known == nullptr) known = load(threads);
  return known;
}

std::shared_ptr<const Module> Modules::load(std::uint32_t threads) const {
  gpu_->use();
  const std::string text = for_threads(ptx_, threads);
  const std::string path = cache_->path({"cubin with lines and room", text, gpu_->architecture(),
                                         std::to_string(gpu_->driver_version())},
                                        ".cubin");
  if (const auto image = contents_of(path)) {
    try {
      return std::make_shared<const Module>(gpu_, *image);
    } catch (const Error&) {
      // A damaged file is built again. If the GPU itself is lost, this throws.
      gpu_->use();
    }
  }
  std::string image = compile(text);
  const std::shared_ptr<const Module> module = made(threads, image);
  keep(path, image);
  return module;
}

std::shared_ptr<const Module> Modules::made(std::uint32_t threads, std::string& image) const {
  auto module = std::make_shared<const Module>(gpu_, image);
  const ModuleResources resources = module->resources();
  const std::uint32_t blocks =
      blocks_with_less(resources, threads, threadgroup_bytes(ptx_) + product_bytes_);
  if (blocks == 0) return module;
  std::string closer = compile(for_threads(ptx_, threads, blocks));
  auto other = std::make_shared<const Module>(gpu_, closer);
  if (other->resources().local_bytes > resources.local_bytes + most_spilled) return module;
  image = std::move(closer);
  return other;
}

std::string Modules::compile(const std::string& ptx) const {
  const Driver& driver = gpu_->driver();
  std::string log(log_bytes, '\0');
  // Line information costs no run time, and NVIDIA's tools use it.
  int options[] = {error_log, error_log_bytes, line_numbers};
  void* values[] = {log.data(), reinterpret_cast<void*>(log_bytes), reinterpret_cast<void*>(1)};
  LinkState state = nullptr;
  gpu_->check(driver.cuLinkCreate_v2(std::size(options), options, values, &state), "compile PTX");
  std::string text = ptx;
  void* image = nullptr;
  std::size_t size = 0;
  Result compiled = driver.cuLinkAddData_v2(state, input_ptx, text.data(), text.size() + 1,
                                            kernel_.c_str(), 0, nullptr, nullptr);
  if (compiled == result::success) compiled = driver.cuLinkComplete(state, &image, &size);
  const std::string made(static_cast<const char*>(image), compiled == result::success ? size : 0);
  (void)driver.cuLinkDestroy(state);
  if (compiled == result::success) return made;
  if (compiled == result::out_of_memory) gpu_->check(compiled, "compile PTX");
  throw CompileError("[" + kernel_ + "] NVIDIA's driver does not compile its PTX: " +
                     driver.text(compiled) + "\n" + log.c_str());
}

}  // namespace metalbench::cuda
