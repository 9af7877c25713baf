#include "cubby/pool/registry.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cubby/base/file.h"
#include "cubby/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

using testing::HasSubstr;

MachineRow Row(const std::string& id) {
  return {.machine_id = id,
          .sandbox_id = id,
          .tenancy = Tenancy::kThread,
          .identity = {.user = "ü:%", .thread = std::string("a\0b\n", 4)},
          .state = MachineState::kCreating,
          .backend = "container",
          .image = "debian:12",
          .owner = {.id = "o1", .process = {.pid = 7, .start_time = 1u << 31, .boot_id = "boot"}},
          .fence = 5,
          .nonce = "nonce",
          .intent = "create",
          .created = absl::FromUnixNanos(1234567890123456789),
          .since = absl::Nanoseconds(42),
          .since_boot = "boot",
          .removal_attempts = 1,
          .retry_at = absl::Seconds(3)};
}

class RegistryTest : public testing::Test {
 protected:
  RegistryTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-registry-")) {}

  std::string path() const { return folder_.path() + "/registry.db"; }
  std::unique_ptr<Registry> Open() {
    absl::StatusOr<std::shared_ptr<Database>> database = Registry::OpenDatabase(path());
    EXPECT_TRUE(database.ok()) << database.status();
    return std::make_unique<Registry>(*database);
  }
  absl::Status OpenStatus() { return Registry::OpenDatabase(path()).status(); }
  static absl::Status Insert(Registry& registry, const MachineRow& row) {
    return registry.Transact([&](Registry::View& view) { return view.Insert(row); });
  }
  static absl::Status Update(Registry& registry, const MachineRow& row) {
    return registry.Transact([&](Registry::View& view) { return view.Update(row); });
  }

  TemporaryDirectory folder_;
};

TEST_F(RegistryTest, RowIsReadBackWholeByAnotherProcess) {
  ASSERT_TRUE(Insert(*Open(), Row("m")).ok());
  const std::unique_ptr<Registry> other = Open();
  EXPECT_EQ(**other->Find("m"), Row("m"));
  EXPECT_EQ(**other->FindSandbox("m"), Row("m"));
  EXPECT_EQ(*other->Find("n"), std::nullopt);
}

TEST_F(RegistryTest, OneMachinePerSandboxAndAnyNumberOfBlanks) {
  const std::unique_ptr<Registry> registry = Open();
  ASSERT_TRUE(Insert(*registry, Row("m")).ok());
  MachineRow twin = Row("n");
  twin.sandbox_id = "m";
  EXPECT_EQ(Insert(*registry, twin).code(), absl::StatusCode::kAlreadyExists);
  for (const char* id : {"b1", "b2"}) {
    MachineRow blank = Row(id);
    blank.sandbox_id = "";
    blank.tenancy = Tenancy::kNobody;
    EXPECT_TRUE(Insert(*registry, blank).ok());
  }
  EXPECT_EQ(registry->List()->size(), 3u);
  MachineRow claimed = **registry->Find("b1");
  claimed.tenancy = Tenancy::kThread;
  claimed.sandbox_id = "m";
  EXPECT_EQ(Update(*registry, claimed).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(registry->List()->size(), 3u) << "the other's row is still there, and so is the blank";
}

TEST_F(RegistryTest, IllegalMoveAndStaleFenceAndForeignTenantAreRefused) {
  const std::unique_ptr<Registry> registry = Open();
  ASSERT_TRUE(Insert(*registry, Row("m")).ok());
  MachineRow row = Row("m");
  row.state = MachineState::kWarm;
  EXPECT_EQ(Update(*registry, row).code(), absl::StatusCode::kFailedPrecondition);
  row.state = MachineState::kActive;
  row.fence = 4;
  EXPECT_EQ(Update(*registry, row).code(), absl::StatusCode::kAborted);
  row.fence = 6;
  row.identity.user = "somebody else";
  EXPECT_EQ(Update(*registry, row).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(**registry->Find("m"), Row("m")) << "a refusal changes nothing";
  const absl::Status erased =
      registry->Transact([](Registry::View& view) { return view.Erase("m", 4); });
  EXPECT_EQ(erased.code(), absl::StatusCode::kAborted);
}

TEST_F(RegistryTest, FailedTransactionLeavesNothing) {
  const std::unique_ptr<Registry> registry = Open();
  EXPECT_FALSE(registry
                   ->Transact([](Registry::View& view) -> absl::Status {
                     EXPECT_TRUE(view.Insert(Row("m")).ok());
                     return absl::InternalError("no");
                   })
                   .ok());
  EXPECT_TRUE(registry->List()->empty());
}

// Many processes open a new file at once, and count in it.
TEST_F(RegistryTest, ProcessesShareOneFileWithoutLosingWrites) {
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      absl::StatusOr<std::shared_ptr<Database>> database = Registry::OpenDatabase(path());
      if (!database.ok()) _exit(1);
      Registry registry(*database);
      for (int i = 0; i < 25; ++i) {
        MachineRow row = Row(std::to_string(process) + "-" + std::to_string(i));
        if (!Insert(registry, row).ok()) _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Open()->List()->size(), 100u);
}

TEST_F(RegistryTest, WhatAKilledProcessCommittedIsThereAndTheRestIsNot) {
  const pid_t child = fork();
  if (child == 0) {
    Registry registry(*Registry::OpenDatabase(path()));
    Insert(registry, Row("kept")).IgnoreError();
    registry
        .Transact([](Registry::View& view) -> absl::Status {
          view.Insert(Row("lost")).IgnoreError();
          kill(getpid(), SIGKILL);
          return absl::OkStatus();
        })
        .IgnoreError();
  }
  waitpid(child, nullptr, 0);
  const std::unique_ptr<Registry> registry = Open();
  EXPECT_TRUE(registry->Find("kept")->has_value());
  EXPECT_FALSE(registry->Find("lost")->has_value());
}

TEST_F(RegistryTest, DamagedFileIsRefusedAndLeftAsItIs) {
  for (const std::string& content :
       {std::string(8192, 'x'), std::string("not a database at all")}) {
    ASSERT_TRUE(WriteFileAtomically(path(), content).ok());
    const absl::Status status = OpenStatus();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(path()), HasSubstr("move it away")));
    EXPECT_EQ(*ReadSmallFile(path()), content);
  }
}

TEST_F(RegistryTest, FileWithADamagedPageIsRefused) {
  {
    const std::unique_ptr<Registry> registry = Open();
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(Insert(*registry, Row(std::to_string(i))).ok());
  }
  std::string content = *ReadSmallFile(path());
  ASSERT_GT(content.size(), 4 * 4096u);
  for (size_t page = 1; page * 4096 < content.size(); ++page) {
    content.replace(page * 4096, 64, std::string(64, '\xff'));
  }
  ASSERT_TRUE(WriteFileAtomically(path(), content).ok());
  EXPECT_EQ(OpenStatus().code(), absl::StatusCode::kDataLoss) << OpenStatus();
  EXPECT_EQ(*ReadSmallFile(path()), content);
}

TEST_F(RegistryTest, NewerVersionAndForeignDatabaseAreRefused) {
  {
    const std::shared_ptr<Database> database = *Registry::OpenDatabase(path());
    ASSERT_TRUE(database->Execute("PRAGMA user_version=99").ok());
  }
  const absl::Status newer = OpenStatus();
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.message()), HasSubstr("has version 99"));
  {
    unlink(path().c_str());
    const std::shared_ptr<Database> database = *Registry::OpenDatabase(path());
    ASSERT_TRUE(database->Execute("PRAGMA application_id=1").ok());
  }
  const absl::Status foreign = OpenStatus();
  EXPECT_EQ(foreign.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("no registry of cubby"));
}

TEST_F(RegistryTest, FullAndReadOnlyFoldersAreOneClearError) {
  if (mount("none", folder_.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "mounting is not permitted";
  }
  absl::Status full;
  {
    const std::unique_ptr<Registry> registry = Open();
    for (int i = 0; i < 2000 && full.ok(); ++i) full = Insert(*registry, Row(std::to_string(i)));
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
    EXPECT_THAT(std::string(full.message()), HasSubstr(path()));
    EXPECT_FALSE(registry->List()->empty()) << "it can still be read";
  }
  EXPECT_EQ(mount("none", folder_.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  const absl::Status read_only = OpenStatus();
  EXPECT_EQ(read_only.code(), absl::StatusCode::kPermissionDenied) << read_only;
  EXPECT_EQ(umount(folder_.path().c_str()), 0);
}

}  // namespace
}  // namespace cubby
