#include "cubby/backend/doctor.h"

#include <algorithm>

#include "cubby/base/file.h"
#include "gtest/gtest.h"

namespace cubby {
namespace {

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() : folder_(*TemporaryDirectory::Create("/tmp", "cubby-doctor-")) {
    options_.state_dir = folder_.path();
  }
  Check Find(const std::string& name) const {
    for (const Check& check : ProbeHost(options_)) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(MakeDirectories(Path(name.substr(0, name.rfind('/')))).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  TemporaryDirectory folder_;
  DoctorOptions options_;
};

TEST_F(DoctorTest, ThisHostCanRunContainersAndNothingIsLeftBehind) {
  for (const Check& check : ProbeHost(options_)) {
    EXPECT_NE(check.verdict, Verdict::kMissing) << check.name << ": " << check.detail;
    EXPECT_FALSE(check.detail.empty());
    EXPECT_EQ(check.verdict == Verdict::kOk, check.remedy.empty()) << check.name;
  }
  EXPECT_TRUE(ListDirectory(folder_.path())->empty());
}

TEST_F(DoctorTest, MissingRuntimeIsNamedWithItsRemedy) {
  options_.runtime = "no-such-runtime";
  EXPECT_EQ(Find("runtime").verdict, Verdict::kMissing);
  EXPECT_EQ(Find("runtime").remedy, "apt-get install crun");
}

TEST_F(DoctorTest, ControlGroupsWithoutTheMemoryControllerAreMissing) {
  Write("cg/cgroup.controllers", "cpu pids\n");
  options_.cgroup_root = Path("cg");
  EXPECT_EQ(Find("cgroup").verdict, Verdict::kMissing);
  EXPECT_NE(Find("cgroup").detail.find("memory"), std::string::npos);
  Write("cg/cgroup.controllers", "cpuset cpu io memory pids\n");
  EXPECT_EQ(Find("cgroup").verdict, Verdict::kOk);
  options_.cgroup_root = Path("nothing");
  EXPECT_EQ(Find("cgroup").verdict, Verdict::kMissing);
}

TEST_F(DoctorTest, SettingThatForbidsUserNamespacesIsNamed) {
  Write("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  options_.proc = Path("proc");
  const Check check = Find("user namespaces");
  EXPECT_EQ(check.verdict, Verdict::kWarning);
  EXPECT_EQ(check.remedy, "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
}

TEST_F(DoctorTest, DeviceThatIsNoKvmIsNotTakenForOne) {
  options_.kvm_device = "/dev/null";
  EXPECT_EQ(Find("kvm").verdict, Verdict::kWarning);
  options_.kvm_device = Path("missing");
  EXPECT_EQ(Find("kvm").verdict, Verdict::kWarning);
  EXPECT_NE(Find("kvm").detail.find("no KVM"), std::string::npos);
}

TEST_F(DoctorTest, StateDirectoryThatCannotHoldAnOverlayIsMissing) {
  options_.state_dir = "/proc";
  EXPECT_EQ(Find("overlay").verdict, Verdict::kMissing);
}

TEST_F(DoctorTest, AgentThatWouldRunInNoImageIsMissing) {
  options_.agent_path = "/bin/true";
  EXPECT_EQ(Find("agent").verdict, Verdict::kMissing);
  options_.agent_path = "/etc/passwd";
  EXPECT_EQ(Find("agent").verdict, Verdict::kMissing);
}

}  // namespace
}  // namespace cubby
