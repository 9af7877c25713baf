// The requests that look for things: list, glob, grep.
#ifndef CUBBY_AGENT_SEARCHES_H_
#define CUBBY_AGENT_SEARCHES_H_

#include <deque>

#include "absl/status/status.h"
#include "cubby/agent/background_search.h"
#include "cubby/agent/connection.h"
#include "cubby/agent/guest_files.h"
#include "cubby/agent/settings.h"
#include "cubby/agent/task.h"

namespace cubby::agent {

class Searches {
 public:
  Searches(EventLoop* loop, const GuestFiles* files, const Settings* settings)
      : loop_(loop), files_(files), settings_(settings) {}

  Task<absl::Status> List(StreamPtr stream, wire::List request);
  Task<absl::Status> Glob(StreamPtr stream, wire::Glob request);
  Task<absl::Status> Grep(StreamPtr stream, wire::Grep request);

 private:
  // Runs `work` beside the loop and sends what it delivers, then how it ended.
  Task<absl::Status> Run(StreamPtr stream, BackgroundSearch::Work work);
  Task<absl::Status> Forward(StreamPtr stream, BackgroundSearch* search);

  EventLoop* loop_;
  const GuestFiles* files_;
  const Settings* settings_;
  int running_ = 0;
  std::deque<StreamPtr> waiting_;  // for a search to end; in order
};

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_SEARCHES_H_
