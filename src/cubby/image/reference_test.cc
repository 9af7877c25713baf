#include "cubby/image/reference.h"

#include "gtest/gtest.h"

namespace cubby {
namespace {

constexpr char kDigest[] =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(Reference, ShortNamesAreCompleted) {
  EXPECT_EQ(ParseReference("python:3.12-slim")->ToString(), "docker.io/library/python:3.12-slim");
  EXPECT_EQ(ParseReference("me/tool")->ToString(), "docker.io/me/tool:latest");
  EXPECT_EQ(ParseReference("localhost:5000/z")->ToString(), "localhost:5000/z:latest");
  EXPECT_EQ(ParseReference("localhost/z:1")->ToString(), "localhost/z:1");
  EXPECT_EQ(ParseReference("ghcr.io/x/y/z:v1")->repository, "x/y/z");
  EXPECT_EQ(ParseReference("docker.io/python")->ToString(), "docker.io/library/python:latest");
}

TEST(Reference, DigestsArePinned) {
  const std::string text = std::string("ghcr.io/x/y@") + kDigest;
  EXPECT_EQ(ParseReference(text)->ToString(), text);
  EXPECT_EQ(ParseReference(text)->tag, "");
  EXPECT_EQ(ParseReference(std::string("x:1@") + kDigest)->tag, "1");
}

TEST(Reference, WhatIsNoNameIsRefused) {
  for (const char* bad : {"", "UPPER", "a//b", "a/../b", "a:", "a:b c", "a@sha256:12", "/a", "a/",
                          "-a", "a b", "reg.io/", "a@md5:0123", "a:-x", "h\nost.io/a"}) {
    EXPECT_EQ(ParseReference(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(ParseReference(std::string(1000, 'a')).ok());
}

}  // namespace
}  // namespace cubby
