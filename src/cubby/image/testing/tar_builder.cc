#include "cubby/image/testing/tar_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

namespace cubby {

struct TarBuilder::Writer {
  archive* tar = nullptr;
  archive_entry* entry = archive_entry_new();

  archive_entry* Begin(const std::string& name, mode_t type, mode_t mode) {
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_mtime(entry, 1000000000, 0);
    return entry;
  }
  void Write() {
    if (archive_write_header(tar, entry) < ARCHIVE_WARN) abort();
  }
};

TarBuilder::TarBuilder(const std::string& path, Compression compression)
    : writer_(std::make_unique<Writer>()) {
  writer_->tar = archive_write_new();
  archive_write_set_format_pax(writer_->tar);
  if (compression == Compression::kGzip) archive_write_add_filter_gzip(writer_->tar);
  if (compression == Compression::kZstd) archive_write_add_filter_zstd(writer_->tar);
  if (archive_write_open_filename(writer_->tar, path.c_str()) != ARCHIVE_OK) abort();
}

TarBuilder::~TarBuilder() {
  Close();
  archive_entry_free(writer_->entry);
}

void TarBuilder::Close() {
  if (writer_->tar == nullptr) return;
  archive_write_free(writer_->tar);
  writer_->tar = nullptr;
}

void TarBuilder::File(const std::string& name, absl::string_view content) {
  File(name, content, {});
}

void TarBuilder::File(const std::string& name, absl::string_view content,
                      const Attributes& attributes) {
  archive_entry* entry = writer_->Begin(name, AE_IFREG, attributes.mode);
  archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
  archive_entry_set_uid(entry, attributes.uid);
  archive_entry_set_gid(entry, attributes.gid);
  archive_entry_set_mtime(entry, attributes.mtime, 0);
  if (!attributes.xattr_name.empty()) {
    archive_entry_xattr_add_entry(entry, attributes.xattr_name.c_str(),
                                  attributes.xattr_value.data(), attributes.xattr_value.size());
  }
  writer_->Write();
  archive_write_data(writer_->tar, content.data(), content.size());
}

void TarBuilder::Folder(const std::string& name, mode_t mode) {
  writer_->Begin(name, AE_IFDIR, mode);
  writer_->Write();
}

void TarBuilder::Symlink(const std::string& name, const std::string& target) {
  archive_entry_set_symlink(writer_->Begin(name, AE_IFLNK, 0777), target.c_str());
  writer_->Write();
}

void TarBuilder::HardLink(const std::string& name, const std::string& target) {
  archive_entry* entry = writer_->Begin(name, AE_IFREG, 0644);
  archive_entry_set_hardlink(entry, target.c_str());
  writer_->Write();
}

void TarBuilder::Device(const std::string& name, mode_t type, unsigned major, unsigned minor) {
  archive_entry* entry = writer_->Begin(name, type, 0600);
  archive_entry_set_rdevmajor(entry, major);
  archive_entry_set_rdevminor(entry, minor);
  writer_->Write();
}

}  // namespace cubby
