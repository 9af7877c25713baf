// The verbs of `cubby`; one file each.
#ifndef CUBBY_CLI_VERBS_VERBS_H_
#define CUBBY_CLI_VERBS_VERBS_H_

#include "cubby/cli/declaration.h"

namespace cubby::cli {

Verb RunVerb();
Verb CreateVerb();
Verb ExecVerb();
Verb ExecutionsVerb();
Verb AttachVerb();
Verb SignalVerb();
Verb PsVerb();
Verb RmVerb();
Verb LogsVerb();
Verb StatsVerb();
Verb CpVerb();
Verb LsVerb();
Verb GlobVerb();
Verb GrepVerb();
Verb WatchVerb();
Verb ReadVerb();
Verb WriteVerb();
Verb DownloadVerb();
Verb ImageVerb();
Verb McpVerb();
Verb DoctorVerb();
Verb VersionVerb();
// These print what is made of all declarations: `root` gives them when they run.
Verb CompletionVerb(std::function<const Verb&()> root);
Verb ManVerb(std::function<const Verb&()> root);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_VERBS_VERBS_H_
