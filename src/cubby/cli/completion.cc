#include "cubby/cli/completion.h"

#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace cubby::cli {
namespace {

// The word by which the scripts know what to offer for a value.
std::string Kind(Completes completes, const std::vector<std::string>& choices) {
  if (!choices.empty()) return absl::StrCat("choices:", absl::StrJoin(choices, ","));
  switch (completes) {
    case Completes::kNothing:
      return "nothing";
    case Completes::kFile:
      return "file";
    case Completes::kFolder:
      return "folder";
    case Completes::kSandbox:
      return "sandbox";
    case Completes::kImage:
      return "image";
    case Completes::kExecution:
      return "execution";
    case Completes::kSandboxOrFile:
      return "sandbox-or-file";
  }
  return "nothing";
}

using Visit = std::function<void(const Verb& verb, const std::string& path)>;

void EachVerb(const Verb& verb, const std::string& path, const Visit& visit) {
  visit(verb, path);
  for (const Verb& below : verb.verbs) {
    EachVerb(below, absl::StrCat(path, path.empty() ? "" : " ", below.name), visit);
  }
}

std::string AllNames(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) {
    for (const std::string& name : option.NameList()) names.push_back(name);
  }
  return absl::StrJoin(names, " ");
}

// The tables that both shells share: what each verb and option takes. bash and zsh read the same
// `case` syntax.
std::string Tables(const Verb& root) {
  std::string verbs;
  std::string options;
  std::string values;
  std::string positionals;
  EachVerb(root, "", [&](const Verb& verb, const std::string& path) {
    std::vector<std::string> names;
    for (const Verb& below : verb.verbs) names.push_back(below.name);
    if (!names.empty()) {
      absl::StrAppend(&verbs, "    '", path, "') echo '", absl::StrJoin(names, " "), "' ;;\n");
    }
    absl::StrAppend(&options, "    '", path, "') echo '", AllNames(verb.options), "' ;;\n");
    for (const Option& option : verb.options) {
      if (option.is_flag()) continue;
      for (const std::string& name : option.NameList()) {
        absl::StrAppend(&values, "    '", path, "|", name, "') echo '",
                        Kind(option.completes, option.choices), "' ;;\n");
      }
    }
    for (size_t i = 0; i < verb.positionals.size(); ++i) {
      const Positional& positional = verb.positionals[i];
      absl::StrAppend(&positionals, "    '", path, "|",
                      positional.occurs == Occurs::kRepeatedly ? "'*" : absl::StrCat(i, "'"),
                      ") echo '", Kind(positional.completes, {}), "' ;;\n");
    }
  });
  std::string root_values;
  for (const Option& option : root.options) {
    if (option.is_flag()) continue;
    for (const std::string& name : option.NameList()) {
      absl::StrAppend(&root_values, "    *'|", name, "') echo '",
                      Kind(option.completes, option.choices), "' ;;\n");
    }
  }
  return absl::StrCat(
      "_cubby_verbs() {\n  case \"$1\" in\n", verbs, "  esac\n}\n\n",
      "_cubby_options() {\n  case \"$1\" in\n", options, "  esac\n  echo '", AllNames(root.options),
      "'\n}\n\n", "# What the value of an option is; nothing for a flag.\n",
      "_cubby_value() {\n  case \"$1|$2\" in\n", values, root_values, "  esac\n}\n\n",
      "_cubby_positional() {\n  case \"$1|$2\" in\n", positionals, "  esac\n}\n\n");
}

// Walks the words before the cursor; sets path, index (of the positional), id and kind.
constexpr char kWalk[] = R"sh(
# Reads the words before the cursor: the verb, how many positionals it has, the first of them.
_cubby_walk() {
  path='' index=0 id='' kind=''
  local word value='' verb
  for word in "$@"; do
    if [ -n "$value" ]; then value=''; continue; fi
    case "$word" in
      --) kind='command'; return ;;
      --*=*) ;;
      -*) value=$(_cubby_value "$path" "$word") ;;
      *)
        verb=" $(_cubby_verbs "$path") "
        case "$verb" in
          *" $word "*) path="${path:+$path }$word" ;;
          *) [ "$index" -eq 0 ] && id=$word; index=$((index + 1)) ;;
        esac ;;
    esac
  done
  kind=$value
}
)sh";

constexpr char kBash[] = R"sh(
_cubby_offer() {
  local IFS=$' \t\n'
  case "$1" in
    choices:*) COMPREPLY=($(compgen -W "$(echo "${1#choices:}" | tr ',' ' ')" -- "$current")) ;;
    file) compopt -o filenames; COMPREPLY=($(IFS=$'\n' compgen -f -- "$current")) ;;
    folder) compopt -o filenames; COMPREPLY=($(IFS=$'\n' compgen -d -- "$current")) ;;
    sandbox) COMPREPLY=($(compgen -W "$(cubby ps --quiet 2>/dev/null)" -- "$current")) ;;
    image) COMPREPLY=($(compgen -W "$(cubby image ls --quiet 2>/dev/null)" -- "$current")) ;;
    execution)
      COMPREPLY=($(compgen -W "$(cubby executions --quiet "$id" 2>/dev/null)" -- "$current")) ;;
    sandbox-or-file)
      compopt -o filenames
      COMPREPLY=($(IFS=$'\n' compgen -f -- "$current")
        $(compgen -S : -W "$(cubby ps --quiet 2>/dev/null)" -- "$current"))
      [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace ;;
    command) compopt -o filenames; COMPREPLY=($(IFS=$'\n' compgen -f -- "$current")) ;;
  esac
}

_cubby() {
  local current=${COMP_WORDS[COMP_CWORD]} path index id kind verbs
  COMPREPLY=()
  _cubby_walk "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [ -n "$kind" ]; then _cubby_offer "$kind"; return; fi
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_cubby_options "$path")" -- "$current"))
    return
  fi
  verbs=$(_cubby_verbs "$path")
  if [ -n "$verbs" ]; then COMPREPLY=($(compgen -W "$verbs" -- "$current")); return; fi
  _cubby_offer "$(_cubby_positional "$path" "$index")"
}
complete -F _cubby cubby
)sh";

constexpr char kZsh[] = R"sh(
_cubby_offer() {
  case "$1" in
    choices:*) compadd -- ${(s:,:)${1#choices:}} ;;
    file|command) _files ;;
    folder) _files -/ ;;
    sandbox) compadd -- ${(f)"$(cubby ps --quiet 2>/dev/null)"} ;;
    image) compadd -- ${(f)"$(cubby image ls --quiet 2>/dev/null)"} ;;
    execution) compadd -- ${(f)"$(cubby executions --quiet "$id" 2>/dev/null)"} ;;
    sandbox-or-file) _files; compadd -S : -- ${(f)"$(cubby ps --quiet 2>/dev/null)"} ;;
  esac
}

_cubby() {
  local path index id kind verbs
  _cubby_walk "${(@)words[2,CURRENT-1]}"
  if [ -n "$kind" ]; then _cubby_offer "$kind"; return; fi
  if [[ ${words[CURRENT]} == -* ]]; then
    compadd -- ${=$(_cubby_options "$path")}
    return
  fi
  verbs=$(_cubby_verbs "$path")
  if [ -n "$verbs" ]; then compadd -- ${=verbs}; return; fi
  _cubby_offer "$(_cubby_positional "$path" "$index")"
}

if [ "$funcstack[1]" = "_cubby" ]; then _cubby "$@"; else compdef _cubby cubby; fi
)sh";

}  // namespace

std::string BashCompletion(const Verb& root) {
  return absl::StrCat("# bash completion for cubby; made by `cubby completion bash`\n\n",
                      Tables(root), kWalk, kBash);
}

std::string ZshCompletion(const Verb& root) {
  // `path` is bound to $PATH in zsh, so the word has another name there.
  const std::string body = absl::StrCat(Tables(root), kWalk, kZsh);
  return absl::StrCat(
      "#compdef cubby\n# zsh completion for cubby; made by `cubby completion zsh`\n\n",
      absl::StrReplaceAll(body, {{"$path", "$verb_path"},
                                 {"path=", "verb_path="},
                                 {"${path", "${verb_path"},
                                 {"local path", "local verb_path"}}));
}

}  // namespace cubby::cli
