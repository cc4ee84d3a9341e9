// Calls of PJRT's functions: check arguments, and convert errors to exceptions and to handles.
#pragma once

#include <stdexcept>
#include <string>

#include "c_api/loading.h"
#include "metalbench/hlo.h"
#include "pjrt/abi.h"

struct mb_hlo_error {
  mb_hlo_code code;
  std::string message;
};

namespace metalbench::c_api {

using pjrt::Function;

struct Failed {
  mb_hlo_code code;
  std::string message;
};

template <class Arguments>
Arguments made() {
  Arguments arguments{};
  arguments.head.size = sizeof(Arguments);
  return arguments;
}

template <class Arguments>
pjrt::Error* raw(Function function, Arguments& arguments) {
  return table().functions[static_cast<int>(function)](&arguments);
}

template <class Of>
void destroy(Function function, Of* of) {
  auto arguments = made<pjrt::Only<Of>>();
  arguments.of = of;
  raw(function, arguments);
}

inline Failed taken(pjrt::Error* error) {
  auto code = made<pjrt::Ask<pjrt::Error, mb_hlo_code>>();
  auto message = made<pjrt::Text<pjrt::Error>>();
  code.of = message.of = error;
  raw(Function::Error_GetCode, code);
  raw(Function::Error_Message, message);
  Failed found{code.out, std::string(message.text, message.size)};
  destroy(Function::Error_Destroy, error);
  return found;
}

template <class Arguments>
void call(Function function, Arguments& arguments) {
  if (pjrt::Error* error = raw(function, arguments)) throw taken(error);
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) {
    throw Failed{MB_HLO_INVALID_ARGUMENT, std::string("expected ") + what + ", got null"};
  }
  return *pointer;
}

template <class Body>
mb_hlo_error* guarded(Body body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Failed& failed) {
    return new mb_hlo_error{failed.code, failed.message};
  } catch (const std::exception& error) {
    return new mb_hlo_error{MB_HLO_INTERNAL, error.what()};
  }
}

// Wait for an event and destroy it. Throws Failed for its error.
inline void await(pjrt::Event* event) {
  auto arguments = made<pjrt::Only<pjrt::Event>>();
  arguments.of = event;
  pjrt::Error* error = raw(Function::Event_Await, arguments);
  destroy(Function::Event_Destroy, event);
  if (error != nullptr) throw taken(error);
}

// Copies are complete on return; their events are already ready.
inline void forget(pjrt::Event* event) {
  if (event != nullptr) destroy(Function::Event_Destroy, event);
}

}  // namespace metalbench::c_api
