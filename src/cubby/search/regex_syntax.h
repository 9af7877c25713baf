// What other regular expression engines take and ours does not, by name.
#ifndef CUBBY_SEARCH_REGEX_SYNTAX_H_
#define CUBBY_SEARCH_REGEX_SYNTAX_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cubby::search {

// INVALID_ARGUMENT that names the first such construct and where it stands (look-around, back
// references, possessive and atomic groups, a newline, ...). OK says nothing about the rest.
absl::Status RefuseUnsupportedSyntax(absl::string_view pattern);

// Whether `\A` or `\z` occur: they mean the line's ends, as `^` and `$` do.
bool HasTextAnchors(absl::string_view pattern);

}  // namespace cubby::search

#endif  // CUBBY_SEARCH_REGEX_SYNTAX_H_
