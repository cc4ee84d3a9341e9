#include "metal/archive.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <system_error>

#include "metal/strings.h"

namespace metalbench::metal {
namespace {

namespace fs = std::filesystem;

id<MTLBinaryArchive> open_archive(id<MTLDevice> device, NSURL* url) {
  MTLBinaryArchiveDescriptor* const descriptor = [[MTLBinaryArchiveDescriptor alloc] init];
  descriptor.url = url;
  return [device newBinaryArchiveWithDescriptor:descriptor error:nil];
}

NSURL* to_url(const std::string& path) { return [NSURL fileURLWithPath:to_ns(path)]; }

// Write atomically: concurrent readers see the whole file or none.
void write(id<MTLBinaryArchive> archive, const std::string& path) {
  static std::atomic<unsigned> count = 0;
  const std::string unfinished =
      path + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  std::error_code failure;
  if ([archive serializeToURL:to_url(unfinished) error:nil]) {
    fs::rename(unfinished, path, failure);
    if (!failure) return;
  }
  fs::remove(unfinished, failure);
}

}  // namespace

void use_archive(id<MTLDevice> device, MTLComputePipelineDescriptor* descriptor,
                 const std::string& path) {
  std::error_code failure;
  if (fs::exists(path, failure)) {
    const id<MTLBinaryArchive> stored = open_archive(device, to_url(path));
    if (stored != nil) {
      descriptor.binaryArchives = @[ stored ];
      return;
    }
    fs::remove(path, failure);
  }
  const id<MTLBinaryArchive> fresh = open_archive(device, nil);
  if (fresh == nil) return;
  if (![fresh addComputePipelineFunctionsWithDescriptor:descriptor error:nil]) return;
  // The pipeline uses the function that was just compiled.
  descriptor.binaryArchives = @[ fresh ];
  write(fresh, path);
}

}  // namespace metalbench::metal
