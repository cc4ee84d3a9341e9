// Objects behind the handles of metalbench/hlo.h.
#pragma once

#include <memory>
#include <string>

#include "c_api/calls.h"

namespace metalbench::c_api {

// Shared with buffers and executables, which may outlive the client's handle.
struct Session {
  pjrt::Client* client = nullptr;
  pjrt::Device* device = nullptr;  // the client's
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
};

// Run a program and wait for its end; `keeps_arguments` also keeps those that it donates. Throws
// Failed.
void run(const mb_hlo_executable& executable, pjrt::Buffer* const* arguments,
         std::size_t argument_count, pjrt::Buffer** results, bool keeps_arguments);

}  // namespace metalbench::c_api

struct mb_hlo_client {
  std::shared_ptr<metalbench::c_api::Session> session;
  std::string device;
};

struct mb_hlo_executable {
  std::shared_ptr<metalbench::c_api::Session> session;
  metalbench::pjrt::LoadedExecutable* loaded;
  metalbench::pjrt::Executable* program;  // its properties
  std::size_t results;
};

struct mb_hlo_buffer {
  std::shared_ptr<metalbench::c_api::Session> session;
  metalbench::pjrt::Buffer* buffer;
};
