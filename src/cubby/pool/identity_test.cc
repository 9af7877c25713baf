#include "cubby/pool/identity.h"

#include "cubby/base/ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

// L-10: the numbers are what sha256sum(1) says of the text.
TEST(IdentityTest, IdIsTheDigestOfUserAndThread) {
  EXPECT_EQ(SandboxIdOf({.user = "user", .thread = "thread"}), "03e5aee5d57d0e34");
  EXPECT_EQ(SandboxIdOf({.user = "ü", .thread = "é"}), "25caa89946c5d438");
  EXPECT_TRUE(IsSandboxId(SandboxIdOf({.user = "a\nb", .thread = std::string("\0/", 2)})));
}

TEST(IdentityTest, MissingUserIsTheEmptyText) {
  EXPECT_EQ(SandboxIdOf({.thread = "t"}), "983743815e8fe2ac");
  EXPECT_NE(SandboxIdOf({.thread = "t"}), SandboxIdOf({.user = "None", .thread = "t"}));
}

// L-11: these two have the same first eight digits.
TEST(IdentityTest, IdIsWideEnoughForTheKnownCollision) {
  const std::string one = SandboxIdOf({.user = "user-9721", .thread = "thread-9721"});
  const std::string two = SandboxIdOf({.user = "user-94361", .thread = "thread-94361"});
  EXPECT_EQ(one, "7f7b984ccf326330");
  EXPECT_EQ(two, "7f7b984c6fc4f156");
}

// D-69: without escapes these would be one text.
TEST(IdentityTest, ColonsAndPercentSignsDoNotMakeTwoIdentitiesOne) {
  EXPECT_EQ(SandboxIdOf({.user = "a:b", .thread = "c"}), "76f1c2de1d30d9a7");
  EXPECT_NE(SandboxIdOf({.user = "a:b", .thread = "c"}),
            SandboxIdOf({.user = "a", .thread = "b:c"}));
  EXPECT_NE(SandboxIdOf({.user = "a:b", .thread = "c"}),
            SandboxIdOf({.user = "a%3Ab", .thread = "c"}));
}

TEST(IdentityTest, IdentityWithoutThreadIsRefused) {
  EXPECT_TRUE(CheckIdentity({.thread = "t"}).ok());
  EXPECT_EQ(CheckIdentity({.user = "u"}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(IdentityTest, DescriptionKeepsToOneLine) {
  EXPECT_EQ(Describe({.user = "a\nb", .thread = "t"}), R"(user "a\nb" thread "t")");
}

}  // namespace
}  // namespace cubby
