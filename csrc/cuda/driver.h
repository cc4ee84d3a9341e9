// NVIDIA's driver, loaded on first use: build and installation need no CUDA toolkit. Types, values
// and functions follow the public reference of the CUDA Driver API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace metalbench::cuda {

using Result = int;  // CUresult
using DeviceNumber = int;
using Address = std::uint64_t;  // CUdeviceptr
using Context = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;
using LinkState = struct CUlinkState_st*;

// CUgraphExecUpdateResultInfo
struct GraphUpdate {
  int result = 0;
  struct CUgraphNode_st *node = nullptr, *source = nullptr;
};

inline constexpr unsigned non_blocking_stream = 1;  // CU_STREAM_NON_BLOCKING

// CUstreamCaptureMode: which calls a capture forbids.
namespace capture_mode {
inline constexpr int thread_local_calls = 1;
inline constexpr int relaxed = 2;
}  // namespace capture_mode

namespace result {
inline constexpr Result success = 0;
inline constexpr Result out_of_memory = 2;
inline constexpr Result ecc_uncorrectable = 214;
inline constexpr Result invalid_ptx = 218;
inline constexpr Result not_ready = 600;
inline constexpr Result illegal_address = 700;
inline constexpr Result launch_timeout = 702;
inline constexpr Result assertion = 710;
inline constexpr Result hardware_stack_error = 714;
inline constexpr Result launch_failed = 719;
}  // namespace result

namespace attribute {
inline constexpr int clock_khz = 13;
inline constexpr int multiprocessors = 16;
inline constexpr int memory_clock_khz = 36;
inline constexpr int memory_bus_bits = 37;
inline constexpr int l2_bytes = 38;
inline constexpr int capability_major = 75;
inline constexpr int capability_minor = 76;
}  // namespace attribute

// The driver's functions, by the names that the library exports.
#define MB_CUDA_FUNCTIONS(F)                                                               \
  F(cuInit, unsigned flags)                                                                \
  F(cuDriverGetVersion, int* version)                                                      \
  F(cuGetErrorName, Result, const char** name)                                             \
  F(cuGetErrorString, Result, const char** text)                                           \
  F(cuDeviceGetCount, int* count)                                                          \
  F(cuDeviceGet, DeviceNumber*, int ordinal)                                               \
  F(cuDeviceGetName, char* name, int size, DeviceNumber)                                   \
  F(cuDeviceGetAttribute, int* value, int attribute, DeviceNumber)                         \
  F(cuDeviceTotalMem_v2, std::size_t* bytes, DeviceNumber)                                 \
  F(cuDeviceGetPCIBusId, char* text, int size, DeviceNumber)                               \
  F(cuDevicePrimaryCtxRetain, Context*, DeviceNumber)                                      \
  F(cuCtxSetCurrent, Context)                                                              \
  F(cuMemAlloc_v2, Address*, std::size_t bytes)                                            \
  F(cuMemFree_v2, Address)                                                                 \
  F(cuMemHostAlloc, void** memory, std::size_t bytes, unsigned flags)                      \
  F(cuMemFreeHost, void* memory)                                                           \
  F(cuMemcpyHtoDAsync_v2, Address to, const void* from, std::size_t bytes, Stream)         \
  F(cuMemcpyDtoHAsync_v2, void* to, Address from, std::size_t bytes, Stream)               \
  F(cuMemcpyDtoDAsync_v2, Address to, Address from, std::size_t bytes, Stream)             \
  F(cuMemsetD8Async, Address to, unsigned char value, std::size_t bytes, Stream)           \
  F(cuPointerGetAttribute, void* value, int attribute, Address)                            \
  F(cuStreamCreate, Stream*, unsigned flags)                                               \
  F(cuStreamDestroy_v2, Stream)                                                            \
  F(cuStreamSynchronize, Stream)                                                           \
  F(cuStreamBeginCapture_v2, Stream, int mode)                                             \
  F(cuStreamEndCapture, Stream, Graph*)                                                    \
  F(cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long flags)              \
  F(cuGraphExecUpdate_v2, GraphExec, Graph, GraphUpdate*)                                  \
  F(cuGraphDestroy, Graph)                                                                 \
  F(cuGraphExecDestroy, GraphExec)                                                         \
  F(cuGraphLaunch, GraphExec, Stream)                                                      \
  F(cuEventCreate, Event*, unsigned flags)                                                 \
  F(cuEventDestroy_v2, Event)                                                              \
  F(cuEventRecord, Event, Stream)                                                          \
  F(cuEventQuery, Event)                                                                   \
  F(cuEventElapsedTime, float* ms, Event begin, Event end)                                 \
  F(cuLinkCreate_v2, unsigned count, int* options, void** values, LinkState*)              \
  F(cuLinkAddData_v2, LinkState, int kind, void* data, std::size_t size, const char* name, \
    unsigned count, int* options, void** values)                                           \
  F(cuLinkComplete, LinkState, void** image, std::size_t* size)                            \
  F(cuLinkDestroy, LinkState)                                                              \
  F(cuModuleLoadData, ModuleHandle*, const void* image)                                    \
  F(cuModuleUnload, ModuleHandle)                                                          \
  F(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char* name)                  \
  F(cuFuncGetAttribute, int* value, int attribute, FunctionHandle)                         \
  F(cuFuncSetAttribute, FunctionHandle, int attribute, int value)                          \
  F(cuLaunchKernel, FunctionHandle, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream,   \
    void** parameters, void** extra)

struct Driver {
#define MB_CUDA_MEMBER(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  MB_CUDA_FUNCTIONS(MB_CUDA_MEMBER)
#undef MB_CUDA_MEMBER

  // Return name and text: `CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered`.
  [[nodiscard]] std::string text(Result result) const;
};

struct DriverLookup {
  std::shared_ptr<const Driver> driver;  // null without a driver or a GPU
  std::string why_absent;
};

// Load the driver once per process.
[[nodiscard]] const DriverLookup& find_driver();

}  // namespace metalbench::cuda
