// The verbs below `cubby image`.
#ifndef CUBBY_CLI_VERBS_IMAGE_H_
#define CUBBY_CLI_VERBS_IMAGE_H_

#include "cubby/cli/context.h"
#include "cubby/cli/declaration.h"
#include "cubby/image/store.h"

namespace cubby::cli {

Verb ImageLsVerb();
Verb ImagePullVerb();
Verb ImageRmVerb();
Verb ImageImportVerb();
Verb ImageExportVerb();
Verb ImageInspectVerb();
Verb ImagePruneVerb();

// What a verb that made or found an image prints: its reference and digest, or all under --json.
absl::Status PrintImage(const Context& context, const ImageInfo& image);

}  // namespace cubby::cli

#endif  // CUBBY_CLI_VERBS_IMAGE_H_
