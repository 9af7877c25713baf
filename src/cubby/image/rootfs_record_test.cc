#include "cubby/image/rootfs_record.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::ElementsAre;

TEST(RootfsRecordTest, EverythingOfAnImageComesBack) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::optional<RootfsRecord> back =
      ParseRootfsRecord(FormatRootfsRecord({.config = {.architecture = "amd64",
                                                       .os = "linux",
                                                       .environment = {"A=1", "B=\xff"},
                                                       .user = "agent",
                                                       .working_directory = "/w",
                                                       .entrypoint = {"/init"},
                                                       .command = {"sh", "-l"},
                                                       .labels = {{"k", "v"}}},
                                            .layer_digests = {digest}}));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->config.architecture, "amd64");
  EXPECT_EQ(back->config.os, "linux");
  EXPECT_EQ(back->config.environment.size(), 2u);
  EXPECT_EQ(back->config.user, "agent");
  EXPECT_EQ(back->config.working_directory, "/w");
  EXPECT_THAT(back->config.entrypoint, ElementsAre("/init"));
  EXPECT_THAT(back->config.command, ElementsAre("sh", "-l"));
  EXPECT_EQ(back->config.labels.at("k"), "v");
  EXPECT_THAT(back->layer_digests, ElementsAre(digest));
}

TEST(RootfsRecordTest, DamagedOnesAreNoRecord) {
  for (const char* text :
       {"", "[]", "{}", R"({"layers":[]})", R"({"config":{},"layers":1})",
        R"({"config":{},"layers":[1]})", R"({"config":{},"layers":["sha256:../../etc"]})"}) {
    EXPECT_FALSE(ParseRootfsRecord(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cubby
