#include "executor/serve.h"

#include <sys/mman.h>

#include <map>
#include <set>
#include <utility>

#include "core/errors.h"
#include "cpu/host.h"
#include "cpu/library.h"
#include "cpu/pool.h"
#include "cpu/program.h"
#include "executor/arena.h"
#include "executor/channel.h"
#include "executor/finding_messages.h"
#include "executor/prebuilt_kernel.h"
#include "executor/texture_messages.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t most_request_bytes = std::size_t{1} << 30;

// A part of an arena, as kernels and reports use it.
class MappedStorage final : public Storage {
 public:
  MappedStorage(std::shared_ptr<Arena> arena, std::span<std::byte> bytes,
                std::shared_ptr<cpu::Storages> storages)
      : arena_(std::move(arena)), bytes_(bytes), storages_(std::move(storages)) {
    storages_->add(bytes_, {bytes_.data() - gap_bytes, bytes_.size() + 2 * gap_bytes}, true);
  }
  ~MappedStorage() override {
    (void)allow_writes(true);
    storages_->remove(bytes_);
  }
  // Permit or prohibit writes of kernels, which then fault. Its pages are not shared with others.
  bool allow_writes(bool allow) {
    if (allow == writable_) return true;
    const int protection = allow ? PROT_READ | PROT_WRITE : PROT_READ;
    if (mprotect(bytes_.data(), bytes_.size(), protection) != 0) return false;
    writable_ = allow;
    return true;
  }
  [[nodiscard]] std::span<std::byte> bytes() override { return bytes_; }
  using Storage::share_marks;

 private:
  std::shared_ptr<Arena> arena_;
  std::span<std::byte> bytes_;
  std::shared_ptr<cpu::Storages> storages_;
  bool writable_ = true;
};

// Return whether a kernel declares writes to the binding's argument.
bool writes(const Pipeline& pipeline, const Binding& binding) {
  for (const Argument& argument : pipeline.info().arguments) {
    if (argument.index != binding.index || argument.kind != ArgumentKind::buffer) continue;
    return argument.access != Access::read;
  }
  return true;  // unknown
}

class Server {
 public:
  Server(int socket, const std::function<void()>& seal) : channel_(socket), seal_(seal) {}

  void run() {
    while (true) {
      const Channel::Received request = channel_.receive(most_request_bytes, {}, true);
      channel_.send(answer(request).message());
    }
  }

 private:
  [[nodiscard]] Writer answer(const Channel::Received& request) {
    try {
      Reader message(request.message);
      return act(message, request.descriptor);
    } catch (const KernelFault& error) {
      return failure(Answer::kernel_fault, error);
    } catch (const TimeLimitExceeded& error) {
      return failure(Answer::time_limit, error);
    } catch (const DispatchError& error) {
      return failure(Answer::dispatch_error, error);
    } catch (const Unsupported& error) {
      return failure(Answer::unsupported, error);
    } catch (const OutOfMemoryError& error) {
      return failure(Answer::out_of_memory, error);
    } catch (const std::bad_alloc& error) {
      return failure(Answer::out_of_memory, error);
    } catch (const MachineError& error) {
      return failure(Answer::machine_error, error);
    } catch (const Error& error) {
      return failure(Answer::error, error);
    }
  }

  [[nodiscard]] Writer failure(Answer kind, const std::exception& error) {
    Writer message(kind);
    message.put_text(error.what());
    const FaultAddress place = front_end_->take_fault_address();
    message.put_text(place.path);
    message.put(place.offset);
    return message;
  }

  [[nodiscard]] Writer act(Reader& message, std::optional<int> descriptor) {
    switch (static_cast<Request>(message.get<std::uint32_t>())) {
      case Request::load:
        return load(message);
      case Request::shape:
        return shape(message);
      case Request::map:
        return map(message, descriptor);
      case Request::prepare:
        return prepare(message);
      case Request::run:
        return run(message);
      case Request::check:
        return check(message);
      case Request::ping:
        return ping(message);
      case Request::seal:
        seal_();
        break;
      case Request::drop:
        drop(message);
        break;
    }
    return Writer(Answer::done);
  }

  struct Loaded {
    std::shared_ptr<const cpu::CpuPipeline> pipeline;
    std::shared_ptr<PrebuiltShapes> shapes;
  };

  [[nodiscard]] Writer load(Reader& message) {
    const auto number = message.get<std::uint64_t>();
    PrebuiltKernel kernel = read_prebuilt(message);
    auto shapes = kernel.widths.empty() ? nullptr : std::make_shared<PrebuiltShapes>(kernel.widths);
    const std::string function = kernel.function;
    CompileOptions options;
    options.filename = kernel.filename;
    options.checked = kernel.checked;
    const auto library =
        cpu::make_library(make_prebuilt_source(std::move(kernel), shapes), options);
    auto pipeline =
        std::dynamic_pointer_cast<const cpu::CpuPipeline>(library->pipeline(function, {}));
    Writer told(Answer::done);
    put(told, pipeline->module()->info());
    loaded_.insert_or_assign(number, Loaded{std::move(pipeline), std::move(shapes)});
    return told;
  }

  [[nodiscard]] Writer shape(Reader& message) {
    const Loaded& loaded = loaded_.at(message.get<std::uint64_t>());
    const auto width = message.get<std::uint32_t>();
    const bool rows = message.get<std::uint32_t>() != 0;
    loaded.shapes->add({width, rows}, message.get_text());
    loaded.pipeline->load({width, rows});
    return Writer(Answer::done);
  }

  [[nodiscard]] Writer map(Reader& message, std::optional<int> descriptor) {
    const auto number = message.get<std::uint64_t>();
    const auto size = message.get<std::uint64_t>();
    arenas_[number] = std::make_shared<Arena>(number, size, descriptor.value_or(-1));
    return Writer(Answer::done);
  }

  [[nodiscard]] Writer prepare(Reader& message) {
    const auto number = message.get<std::uint64_t>();
    const bool null = message.get<std::uint32_t>() != 0;
    std::vector<Dispatch> dispatches(message.get<std::uint32_t>());
    for (Dispatch& dispatch : dispatches) dispatch = dispatch_from(message);
    constant_[number] = constant_of(dispatches);
    const cpu::ProgramContext context{pool_, front_end_, storages_};
    programs_[number] =
        null ? cpu::make_null_program(dispatches, context) : cpu::make_program(dispatches, context);
    return Writer(Answer::done);
  }

  [[nodiscard]] Dispatch dispatch_from(Reader& message) {
    Dispatch dispatch;
    dispatch.pipeline = loaded_.at(message.get<std::uint64_t>()).pipeline;
    const auto bindings = message.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < bindings; ++i) {
      const auto index = message.get<std::uint32_t>();
      std::string name = message.get_text();
      dispatch.bindings.push_back({index, std::move(name), value_from(message)});
    }
    const auto memories = message.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < memories; ++i) {
      const auto index = message.get<std::uint32_t>();
      dispatch.threadgroup_memory.push_back({index, message.get<std::uint32_t>()});
    }
    dispatch.grid = size_from(message);
    dispatch.grid_in_threads = message.get<std::uint32_t>() != 0;
    dispatch.threads = size_from(message);
    return dispatch;
  }

  // Read the alternative's index, then its value.
  [[nodiscard]] Value value_from(Reader& message) {
    switch (message.get<std::uint32_t>()) {
      case 0:
        return buffer_from(message);
      case 1: {
        const auto bytes = message.get_bytes();
        return Bytes(bytes.begin(), bytes.end());
      }
      case 2:
        return textures_from(message, [this](Reader& from) { return buffer_from(from); });
      default:
        return samplers_from(message);
    }
  }

  [[nodiscard]] static Size3 size_from(Reader& message) {
    Size3 size;
    size.x = message.get<std::uint32_t>();
    size.y = message.get<std::uint32_t>();
    size.z = message.get<std::uint32_t>();
    return size;
  }

  [[nodiscard]] Buffer buffer_from(Reader& message) {
    const auto arena = arenas_.at(message.get<std::uint64_t>());
    const auto begin = message.get<std::uint64_t>();
    const auto size = message.get<std::uint64_t>();
    std::shared_ptr<MappedStorage>& storage = stored_[{arena->number(), begin}];
    if (storage == nullptr) {
      storage = std::make_shared<MappedStorage>(
          arena, std::span(arena->begin() + begin, static_cast<std::size_t>(size)), storages_);
    }
    const auto offset = message.get<std::uint64_t>();
    const auto length = message.get<std::uint64_t>();
    const std::string dtype = message.get_text();
    if (message.get<std::uint32_t>() != 0) {
      const auto of_marks = arenas_.at(message.get<std::uint64_t>());
      std::byte* marks = of_marks->begin() + message.get<std::uint64_t>();
      storage->share_marks({of_marks, reinterpret_cast<Storage::Unwritten*>(marks)});
    }
    return Buffer(storage, false, dtype).slice(offset, length);
  }

  using Stored = std::pair<std::uint64_t, std::uint64_t>;

  // Return the buffers that no kernel of a list declares to write to. Checked builds detect such
  // writes themselves, with the argument's name, and continue.
  [[nodiscard]] static std::set<const Storage*> constant_of(std::span<const Dispatch> dispatches) {
    std::set<const Storage*> constant, written;
    for (const Dispatch& dispatch : dispatches) {
      const auto* pipeline = dynamic_cast<const cpu::CpuPipeline*>(dispatch.pipeline.get());
      for (const Binding& binding : dispatch.bindings) {
        if (const auto* textures = std::get_if<Textures>(&binding.value)) {
          for (const Texture& texture : *textures) written.insert(texture.buffer().storage().get());
        }
        const auto* buffer = std::get_if<Buffer>(&binding.value);
        if (buffer == nullptr) continue;
        const bool is_constant =
            pipeline != nullptr && !pipeline->checked() && !writes(*pipeline, binding);
        (is_constant ? constant : written).insert(buffer->storage().get());
      }
    }
    for (const Storage* each : written) constant.erase(each);
    return constant;
  }

  void protect(const std::set<const Storage*>& constant) {
    for (const auto& each : stored_) {
      (void)each.second->allow_writes(!constant.contains(each.second.get()));
    }
  }

  [[nodiscard]] Writer run(Reader& message) {
    const auto number = message.get<std::uint64_t>();
    protect(constant_.at(number));
    return make_time_answer(programs_.at(number)->run(options_from(message)));
  }

  [[nodiscard]] Writer check(Reader& message) {
    protect({});
    Program& program = *programs_.at(message.get<std::uint64_t>());
    RunOptions options = options_from(message);
    options.inputs.resize(message.get<std::uint32_t>());
    for (std::string& each : options.inputs) each = message.get_text();
    const std::vector<Finding> found = program.check(options);
    Writer told(Answer::done);
    put(told, found);
    return told;
  }

  [[nodiscard]] static RunOptions options_from(Reader& message) {
    RunOptions options;
    options.passes = message.get<std::uint32_t>();
    options.time_limit = std::chrono::nanoseconds(message.get<std::int64_t>());
    return options;
  }

  // A window of known length: the judge sleeps meanwhile, as in a window of work.
  [[nodiscard]] Writer ping(Reader& message) {
    const std::chrono::nanoseconds time(message.get<std::int64_t>());
    pool_->occupy(time);
    return make_time_answer({.device_ns = static_cast<double>(time.count())});
  }

  [[nodiscard]] static Writer make_time_answer(const Timing& timing) {
    Writer told(Answer::done);
    told.put(timing.device_ns);
    return told;
  }

  void drop(Reader& message) {
    for (auto left = message.get<std::uint32_t>(); left > 0; --left) {
      const auto program = message.get<std::uint64_t>();
      programs_.erase(program);
      constant_.erase(program);
    }
    for (auto left = message.get<std::uint32_t>(); left > 0; --left) {
      const auto arena = message.get<std::uint64_t>();
      stored_.erase({arena, message.get<std::uint64_t>()});
    }
    for (auto left = message.get<std::uint32_t>(); left > 0; --left) {
      arenas_.erase(message.get<std::uint64_t>());
    }
  }

  Channel channel_;
  const std::function<void()>& seal_;
  std::shared_ptr<cpu::Pool> pool_ = std::make_shared<cpu::Pool>(cpu::usable_cores());
  std::shared_ptr<PrebuiltFrontEnd> front_end_ = std::make_shared<PrebuiltFrontEnd>();
  std::shared_ptr<cpu::Storages> storages_ = std::make_shared<cpu::Storages>();
  std::map<std::uint64_t, Loaded> loaded_;
  std::map<std::uint64_t, std::shared_ptr<Arena>> arenas_;
  std::map<Stored, std::shared_ptr<MappedStorage>> stored_;
  std::map<std::uint64_t, std::set<const Storage*>> constant_;  // of each program
  std::map<std::uint64_t, std::unique_ptr<Program>> programs_;
};

}  // namespace

void serve(int socket, const std::function<void()>& seal) {
  try {
    Server(socket, seal).run();
  } catch (const ChannelClosed&) {
    // The judge is gone: no report is possible.
    return;
  }
}

}  // namespace metalbench::executor
