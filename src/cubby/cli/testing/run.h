// The command line run inside of the test's process, against an engine that the test chooses.
#ifndef CUBBY_CLI_TESTING_RUN_H_
#define CUBBY_CLI_TESTING_RUN_H_

#include <string>
#include <vector>

#include "cubby/cli/context.h"
#include "cubby/cli/testing/fake_provider.h"

namespace cubby::cli::testing {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// With standard input and output of the test's own; `out` stays empty.
Outcome RunWith(const Context::Engine& engine, const std::vector<std::string>& words, int in,
                int out);
// With `input` on standard input.
Outcome Run(const Context::Engine& engine, const std::vector<std::string>& words,
            const std::string& input = "");

// Everything in a file from its beginning.
std::string ContentOf(int fd);

// The fakes are borrowed, so that a test can look at them afterwards.
Context::Engine EngineOf(FakeProvider& provider, FakeImages& images);

}  // namespace cubby::cli::testing

#endif  // CUBBY_CLI_TESTING_RUN_H_
