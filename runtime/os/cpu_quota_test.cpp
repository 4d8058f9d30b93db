// Oracle: files as cgroups(7) and the kernel's documentation of cpu.max and cpu.cfs_quota_us describe them.
#include "runtime/os/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/os/cpu.h"

namespace trident::os {
namespace {

class CpuQuota : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = "/tmp/trident-cgroup-XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(folder.data()));
    root_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::optional<unsigned> cpus(const char* groups) { return cgroup_cpus(groups, root_.string()); }

  std::filesystem::path root_;
};

TEST_F(CpuQuota, TheTightestGroupOfVersion2Counts) {
  write("a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(3u, cpus("0::/a/b\n"));
  write("a/cpu.max", "150000 100000\n");
  EXPECT_EQ(2u, cpus("0::/a/b\n"));
  write("cpu.max", "1000 100000\n");
  EXPECT_EQ(1u, cpus("0::/a/b\n"));
}

TEST_F(CpuQuota, NoLimitIsNone) {
  EXPECT_EQ(std::nullopt, cpus(""));
  EXPECT_EQ(std::nullopt, cpus("0::/\n"));
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(std::nullopt, cpus("0::/a\n"));
  write("cpu/a/cpu.cfs_quota_us", "-1\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(std::nullopt, cpus("4:cpu:/a\n"));
}

TEST_F(CpuQuota, GroupsOfVersion1) {
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(4u, cpus("5:memory:/a\n4:cpu,cpuacct:/a\n3:cpuset:/\n"));
  EXPECT_EQ(std::nullopt, cpus("4:cpuacct:/a\n3:cpuset:/a\n"));
}

// In a container the path is the host's, and the process's own group is the root of what is mounted.
TEST_F(CpuQuota, APathThatIsNotThere) {
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(2u, cpus("0::/docker/0123/init\n"));
}

TEST(AffordableCpus, StayWithinTheAffinityMask) {
  EXPECT_LE(affordable_cpus(), usable_cpus());
  unsigned alone = 0;
  std::thread([&] {
    ASSERT_TRUE(pin_to_current_cpu().ok());
    alone = affordable_cpus();
  }).join();
  EXPECT_EQ(1u, alone);
}

}  // namespace
}  // namespace trident::os
