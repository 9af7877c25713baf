#include "cubby/cli/verbs/image.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cubby/base/status_macros.h"
#include "cubby/cli/json_output.h"
#include "cubby/cli/output.h"
#include "cubby/cli/pull.h"
#include "cubby/cli/units.h"
#include "cubby/cli/verbs/verbs.h"

namespace cubby::cli {
namespace {

Json ToJson(const ImageInfo& image) {
  Json object = {{"reference", image.reference},
                 {"digest", image.digest},
                 {"compressed_bytes", image.compressed_bytes}};
  if (image.created == absl::InfinitePast()) {
    object["created"] = nullptr;
  } else {
    object["created"] = IsoTime(image.created);
  }
  object["layers"] = image.layers;
  object["config"] = {{"architecture", image.config.architecture},
                      {"os", image.config.os},
                      {"environment", image.config.environment},
                      {"user", image.config.user},
                      {"working_directory", image.config.working_directory},
                      {"entrypoint", image.config.entrypoint},
                      {"command", image.config.command},
                      {"labels", image.config.labels}};
  return object;
}

absl::StatusOr<int> List(Context& context, bool quiet) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  CUBBY_ASSIGN_OR_RETURN(const std::vector<ImageInfo> list, images->List());
  if (context.global.json) {
    Json array = Json::array();
    for (const ImageInfo& image : list) array.push_back(ToJson(image));
    CUBBY_RETURN_IF_ERROR(PrintJson(context, array));
    return 0;
  }
  if (quiet) {
    std::string text;
    for (const ImageInfo& image : list) absl::StrAppend(&text, image.reference, "\n");
    CUBBY_RETURN_IF_ERROR(context.Print(text));
    return 0;
  }
  Table table({"IMAGE", "DIGEST", "SIZE", "LAYERS", "AGE"});
  const absl::Time now = absl::Now();
  for (const ImageInfo& image : list) {
    table.Add(
        {Escape(image.reference), image.digest.substr(0, sizeof("sha256:") - 1 + 12),
         FormatSize(image.compressed_bytes), absl::StrCat(image.layers.size()),
         image.created == absl::InfinitePast() ? "unknown" : FormatSpan(now - image.created)});
  }
  CUBBY_RETURN_IF_ERROR(context.Print(table.ToString()));
  return 0;
}

struct PullChoice {
  std::string reference;
  std::string architecture;
  bool plain_http = false;
};

struct Transfer {
  std::string reference;
  std::string path;
  std::string format = "oci-archive";
};

absl::StatusOr<int> Export(Context& context, const Transfer& transfer) {
  using Format = ImageStore::ExportFormat;
  const Format format = transfer.format == "oci-layout"    ? Format::kOciLayout
                        : transfer.format == "oci-archive" ? Format::kOciArchive
                                                           : Format::kDockerArchive;
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  CUBBY_RETURN_IF_ERROR(images->Export(transfer.reference, transfer.path, format));
  if (context.global.json) {
    CUBBY_RETURN_IF_ERROR(
        PrintJson(context, {{"reference", transfer.reference}, {"path", transfer.path}}));
  }
  return 0;
}

absl::StatusOr<int> Remove(Context& context, const std::vector<std::string>& references) {
  CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
  Json removed = Json::array();
  for (const std::string& reference : references) {
    CUBBY_RETURN_IF_ERROR(images->Remove(reference));
    removed.push_back(reference);
  }
  if (context.global.json) CUBBY_RETURN_IF_ERROR(PrintJson(context, {{"removed", removed}}));
  return 0;
}

}  // namespace

absl::Status PrintImage(const Context& context, const ImageInfo& image) {
  if (context.global.json) return PrintJson(context, ToJson(image));
  return context.Print(absl::StrCat(Escape(image.reference), " ", image.digest, "\n"));
}

Verb ImageLsVerb() {
  auto quiet = std::make_shared<bool>(false);
  return {.name = "ls",
          .summary = "List the images in the store",
          .options = {Flag("-q,--quiet", quiet.get(), "print the references alone")},
          .run = [quiet](Context& context) { return List(context, *quiet); }};
}

Verb ImagePullVerb() {
  auto choice = std::make_shared<PullChoice>();
  return {.name = "pull",
          .summary = "Fetch an image from its registry",
          .description =
              "Prints the full reference and the digest. An interrupted pull goes on "
              "where it was.",
          .options = {Flag("--plain-http", &choice->plain_http, "allow a registry without TLS"),
                      Text("--arch", "ARCHITECTURE", &choice->architecture,
                           "such as amd64 or arm64; this machine's if not given")},
          .positionals = {Word("IMAGE", &choice->reference, Completes::kImage, "the reference")},
          .run = [choice](Context& context) -> absl::StatusOr<int> {
            CUBBY_ASSIGN_OR_RETURN(const ImageInfo image,
                                   PullWithProgress(context, choice->reference,
                                                    {.allow_plain_http = choice->plain_http,
                                                     .architecture = choice->architecture}));
            CUBBY_RETURN_IF_ERROR(PrintImage(context, image));
            return 0;
          }};
}

Verb ImageRmVerb() {
  auto references = std::make_shared<std::vector<std::string>>();
  return {.name = "rm",
          .summary = "Forget images",
          .description = "Their files go with the next 'cubby image prune'.",
          .positionals = {Words("IMAGE", references.get(), Completes::kImage, "the references")},
          .run = [references](Context& context) { return Remove(context, *references); }};
}

Verb ImageImportVerb() {
  auto transfer = std::make_shared<Transfer>();
  return {.name = "import",
          .summary = "Read an image from a file or folder",
          .description = "An OCI layout (folder or tarball) or a docker-archive tarball.",
          .positionals = {Word("PATH", &transfer->path, Completes::kFile, "the file or folder"),
                          Word("IMAGE", &transfer->reference, Completes::kImage,
                               "its name here; the one it carries if not given", Need::kOptional)},
          .run = [transfer](Context& context) -> absl::StatusOr<int> {
            CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
            CUBBY_ASSIGN_OR_RETURN(const ImageInfo image,
                                   images->Import(transfer->path, transfer->reference));
            CUBBY_RETURN_IF_ERROR(PrintImage(context, image));
            return 0;
          }};
}

Verb ImageExportVerb() {
  auto transfer = std::make_shared<Transfer>();
  return {.name = "export",
          .summary = "Write an image to a file or folder",
          .options = {Choice("--format", "FORMAT", &transfer->format,
                             {"oci-archive", "oci-layout", "docker-archive"}, "its form")},
          .positionals = {Word("IMAGE", &transfer->reference, Completes::kImage, "the reference"),
                          Word("PATH", &transfer->path, Completes::kFile, "the file or folder")},
          .run = [transfer](Context& context) { return Export(context, *transfer); }};
}

Verb ImageInspectVerb() {
  auto reference = std::make_shared<std::string>();
  return {.name = "inspect",
          .summary = "Print all that is known about an image, as JSON",
          .positionals = {Word("IMAGE", reference.get(), Completes::kImage, "the reference")},
          .run = [reference](Context& context) -> absl::StatusOr<int> {
            CUBBY_ASSIGN_OR_RETURN(ImageStore * images, context.Images());
            CUBBY_ASSIGN_OR_RETURN(const ImageInfo image, images->Inspect(*reference));
            const Json json = ToJson(image);
            CUBBY_RETURN_IF_ERROR(context.global.json
                                      ? PrintJson(context, json)
                                      : context.Print(absl::StrCat(json.dump(2), "\n")));
            return 0;
          }};
}

Verb ImageVerb() {
  return {.name = "image",
          .summary = "Work with images",
          .verbs = {ImageLsVerb(), ImagePullVerb(), ImageRmVerb(), ImageImportVerb(),
                    ImageExportVerb(), ImageInspectVerb(), ImagePruneVerb()}};
}

}  // namespace cubby::cli
