// Hook on the commits of all command buffers in this process, from any library.
#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <mutex>
#include <vector>

namespace metalbench::metal {

class CommitListener {
 public:
  virtual ~CommitListener() = default;
  // Called on the committing thread, which waits. It must not commit.
  virtual void committing(id<MTLCommandBuffer> buffer) = 0;
};

// Replaces the method `commit` while at least one listener exists. Metal has no other interface
// that reports command buffers of other libraries.
class CommitHook {
 public:
  // Return the process's only hook; classes are unique in a process as well.
  [[nodiscard]] static CommitHook& only();

  // Hook the classes of the command buffers that `queue` makes: the driver's, or the validation
  // layer's. Return false if they have no `commit` to replace.
  [[nodiscard]] bool add(const std::shared_ptr<CommitListener>& listener,
                         id<MTLCommandQueue> queue);
  void remove(const std::shared_ptr<CommitListener>& listener);

 private:
  struct Replaced {
    Class type;
    IMP ours;
    IMP original;  // may be inherited
  };

  [[nodiscard]] bool replace(Class type);
  void restore();
  [[nodiscard]] IMP method_before(IMP original);
  [[nodiscard]] std::vector<std::shared_ptr<CommitListener>> listeners();

  std::mutex mutex_;  // guards the following members
  std::vector<std::shared_ptr<CommitListener>> listeners_;
  std::vector<Replaced> replaced_;
};

}  // namespace metalbench::metal
