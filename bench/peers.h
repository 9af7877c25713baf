// What Cubby is measured against, on the same host and root file system.
#ifndef CUBBY_BENCH_PEERS_H_
#define CUBBY_BENCH_PEERS_H_

#include <string>

#include "workshop.h"

namespace cubby::bench {

// `RUNTIME run` of `true` with the isolation that Cubby's containers have (same config.json but for
// the program), on a writable copy of the root file system. Runs it once.
class RuntimePeer {
 public:
  RuntimePeer(const Workshop& workshop, const std::string& runtime);
  [[nodiscard]] bool available() const { return available_; }
  void RunTrue();

 private:
  std::string runtime_;
  std::string bundle_;
  std::string state_;
  std::string hidden_;
  bool available_ = false;
  int next_ = 0;
};

// posix_spawn and wait of the root file system's busybox `true`.
void SpawnTrue(const Workshop& workshop);

// Whether a Docker engine answers here.
bool DockerAnswers();

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_PEERS_H_
