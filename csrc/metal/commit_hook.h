// Hears of every command buffer that is committed in this process, whoever does it.
#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <mutex>
#include <vector>

namespace metalbench::metal {

class CommitListener {
 public:
  virtual ~CommitListener() = default;
  // On the thread that commits, which waits. Nothing may be committed within.
  virtual void committing(id<MTLCommandBuffer> buffer) = 0;
};

// Puts a method of ours in the place of `commit` while at least one listener is there. Metal has no
// other way to learn of command buffers that somebody else made.
class CommitHook {
 public:
  // A process has but one, as it has but one of each class.
  [[nodiscard]] static CommitHook& only();

  // For command buffers of the classes that `queue` makes: of the driver's, or of the validation
  // layer's, whatever stands before the program. False where these have no `commit` to replace.
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

  std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<CommitListener>> listeners_;
  std::vector<Replaced> replaced_;
};

}  // namespace metalbench::metal
