#include "made_up_root.hpp"
#include "os/cpus/cpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using rubato::os::cgroup_quota;
using testing::Optional;
using namespace std::string_literals;

constexpr auto none = std::nullopt;

/// A machine whose process is in the given groups.
class cgroups : public rubato_test::made_up_root {
  std::string mountinfo_ = "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n";

public:
  explicit cgroups(std::string_view self_cgroup) { write("/proc/self/cgroup", self_cgroup); }

  void mount(std::string_view type, std::string_view root, std::string_view point,
             std::string_view options = "rw") {
    // One of the optional tags is there, as on any machine with systemd.
    mountinfo_ += "31 22 0:28 "s.append(root).append(" ").append(point).append(" rw,nosuid shared:9 - ");
    mountinfo_ += std::string(type).append(" ").append(type).append(" ").append(options).append("\n");
    write("/proc/self/mountinfo", mountinfo_);
  }
  void v1(std::string_view directory, std::string_view quota, std::string_view period = "100000\n") const {
    write(std::string(directory) + "/cpu.cfs_quota_us", quota);
    write(std::string(directory) + "/cpu.cfs_period_us", period);
  }
  void v2(std::string_view directory, std::string_view max) const {
    write(std::string(directory) + "/cpu.max", max);
  }

  [[nodiscard]] std::optional<double> quota() const { return cgroup_quota(path()); }
};

class v2_machine : public cgroups {
public:
  explicit v2_machine(std::string_view group = "/app")
      : cgroups("0::"s.append(group).append("\n")) {
    mount("cgroup2", "/", "/sys/fs/cgroup");
  }
};

TEST(cgroup_quota, empty_machine_has_none) {
  rubato_test::made_up_root const root;
  EXPECT_EQ(cgroup_quota(root.path()), none);
  EXPECT_EQ(cgroup_quota(root.path() / "missing"), none);
}

TEST(cgroup_quota, v2) {
  v2_machine const m;
  EXPECT_EQ(m.quota(), none);
  m.v2("/sys/fs/cgroup/app", "50000 100000\n");
  EXPECT_THAT(m.quota(), Optional(0.5));
  m.v2("/sys/fs/cgroup/app", "max 100000\n");
  EXPECT_EQ(m.quota(), none);
  m.v2("/sys/fs/cgroup/app", "250000 100000");
  EXPECT_THAT(m.quota(), Optional(2.5));
  m.v2("/sys/fs/cgroup/app", "30000 10000\n");
  EXPECT_THAT(m.quota(), Optional(3.0));
}

TEST(cgroup_quota, v2_least_of_all_ancestors) {
  v2_machine const m("/a/b/c");
  m.v2("/sys/fs/cgroup/a/b/c", "800000 100000\n");
  EXPECT_THAT(m.quota(), Optional(8.0));
  m.v2("/sys/fs/cgroup/a/b", "max 100000\n");
  EXPECT_THAT(m.quota(), Optional(8.0));
  m.v2("/sys/fs/cgroup/a", "150000 100000\n");
  EXPECT_THAT(m.quota(), Optional(1.5));
  m.v2("/sys/fs/cgroup", "100000 100000\n"); // not on a host, but in a container with a namespace
  EXPECT_THAT(m.quota(), Optional(1.0));
  m.v2("/sys/fs/cgroup/a/b/c", "70000 100000\n");
  EXPECT_THAT(m.quota(), Optional(0.7));
}

TEST(cgroup_quota, other_groups_do_not_count) {
  v2_machine const m("/a/b");
  m.v2("/sys/fs/cgroup/a/b/child", "10000 100000\n");
  m.v2("/sys/fs/cgroup/a/sibling", "10000 100000\n");
  m.v2("/sys/fs/cgroup/ab", "10000 100000\n");
  EXPECT_EQ(m.quota(), none);
}

TEST(cgroup_quota, v2_in_the_root_group) {
  v2_machine const m("/");
  EXPECT_EQ(m.quota(), none);
  m.v2("/sys/fs/cgroup", "400000 100000\n");
  EXPECT_THAT(m.quota(), Optional(4.0));
}

TEST(cgroup_quota, garbage) {
  v2_machine const m;
  for (auto const* const garbage :
       {"", "\n", " ", "max", "max max\n", "50000", "50000 ", "50000 0\n", "50000 -1\n", "0 100000\n",
        "-1 100000\n", "x 100000\n", "50000x 100000\n", "50000 100000 7\n", "5.5 10\n",
        "99999999999999999999999 100000\n", "\xff\xfe", "50000 99999999999999999999999\n"}) {
    m.v2("/sys/fs/cgroup/app", garbage);
    EXPECT_EQ(m.quota(), none) << '"' << garbage << '"';
  }
  m.v2("/sys/fs/cgroup", "200000 100000\n"); // garbage further down does not hide it
  EXPECT_THAT(m.quota(), Optional(2.0));
}

TEST(cgroup_quota, directories_in_place_of_files) {
  v2_machine const m;
  m.write("/sys/fs/cgroup/app/cpu.max/x", "");
  EXPECT_EQ(m.quota(), none);
  cgroups const n("0::/\n");
  n.write("/proc/self/mountinfo/x", "");
  n.v2("/sys/fs/cgroup", "200000 100000\n");
  EXPECT_THAT(n.quota(), Optional(2.0));
}

TEST(cgroup_quota, garbage_in_proc) {
  for (auto const* const garbage :
       {"", "\n\n\n", "nonsense", ":::::", "0:", "0::", "1:cpu", "0:x:/app\n", "\xff\0"}) {
    cgroups const m(garbage);
    EXPECT_EQ(m.quota(), none);
    m.write("/proc/self/mountinfo", garbage);
    EXPECT_EQ(m.quota(), none);
    m.write("/proc/self/mountinfo", " - cgroup2 \n - \n31 - cgroup2\n31 22 0:28 / - cgroup cgroup cpu\n");
    EXPECT_EQ(m.quota(), none);
    m.v2("/sys/fs/cgroup", "50000 100000\n"); // the usual place still serves
    EXPECT_THAT(m.quota(), Optional(0.5)) << garbage;
  }
}

TEST(cgroup_quota, v1) {
  for (auto const* const point : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/somewhere/else"}) {
    cgroups m("11:memory:/m\n4:cpu,cpuacct:/app\n3:cpuset:/other\n1:name=systemd:/s\n");
    m.mount("cgroup", "/", "/sys/fs/cgroup/memory", "rw,memory");
    m.mount("cgroup", "/", point, "rw,cpu,cpuacct");
    auto const at = [&](std::string_view group) { return std::string(point).append(group); };
    EXPECT_EQ(m.quota(), none);
    m.v1(at("/app"), "-1\n");
    EXPECT_EQ(m.quota(), none);
    m.v1(at("/app"), "50000\n");
    EXPECT_THAT(m.quota(), Optional(0.5));
    m.v1(at("/app"), "125000\n", "50000\n");
    EXPECT_THAT(m.quota(), Optional(2.5));
    m.v1(at("/other"), "1000\n");
    m.v1("/sys/fs/cgroup/memory/m", "1000\n");
    EXPECT_THAT(m.quota(), Optional(2.5));
    m.v1(at("/"), "-1\n");
    EXPECT_THAT(m.quota(), Optional(2.5));
  }
}

TEST(cgroup_quota, v1_least_of_all_ancestors) {
  cgroups m("4:cpuacct,cpu:/a/b/c\n");
  m.mount("cgroup", "/", "/cg", "rw,cpuacct,cpu");
  m.v1("/cg/a/b/c", "-1\n");
  m.v1("/cg/a/b", "300000\n");
  m.v1("/cg/a", "600000\n");
  EXPECT_THAT(m.quota(), Optional(3.0));
  m.v1("/cg/a/b/c", "400000\n");
  EXPECT_THAT(m.quota(), Optional(3.0));
  m.v1("/cg/a", "20000\n", "20000\n");
  EXPECT_THAT(m.quota(), Optional(1.0));
}

TEST(cgroup_quota, v1_garbage) {
  cgroups m("4:cpu:/app\n");
  m.mount("cgroup", "/", "/cg", "rw,cpu");
  struct {
    char const *quota, *period;
  } const all[] = {{"", ""},        {"100000", ""},     {"", "100000"},  {"100000", "0"}, {"0", "100000"},
                   {"max", "1000"}, {"100000", "-100"}, {"1 1", "1000"}, {"x", "y"}};
  for (auto const& [quota, period] : all) {
    m.v1("/cg/app", quota, period);
    EXPECT_EQ(m.quota(), none) << quota << ' ' << period;
  }
  cgroups half("4:cpu:/app\n");
  half.mount("cgroup", "/", "/cg", "rw,cpu");
  half.write("/cg/app/cpu.cfs_quota_us", "50000\n"); // without its period
  EXPECT_EQ(half.quota(), none);
}

TEST(cgroup_quota, only_the_cpu_controller_of_v1_counts) {
  cgroups m("5:cpuset:/app\n4:cpuacct:/app\n");
  m.mount("cgroup", "/", "/cpuset", "rw,cpuset");
  m.mount("cgroup", "/", "/cpuacct", "rw,cpuacct");
  m.v1("/cpuset/app", "1000\n");
  m.v1("/cpuacct/app", "1000\n");
  EXPECT_EQ(m.quota(), none);
}

TEST(cgroup_quota, hybrid_with_the_controller_in_v1) {
  cgroups m("4:cpu,cpuacct:/app\n1:name=systemd:/app.slice\n0::/app.slice\n");
  m.mount("cgroup2", "/", "/sys/fs/cgroup/unified");
  m.mount("cgroup", "/", "/sys/fs/cgroup/systemd", "rw,xattr,name=systemd");
  m.mount("cgroup", "/", "/sys/fs/cgroup/cpu,cpuacct", "rw,cpu,cpuacct");
  m.write("/sys/fs/cgroup/unified/app.slice/cgroup.procs", "1\n");
  EXPECT_EQ(m.quota(), none);
  m.v1("/sys/fs/cgroup/cpu,cpuacct/app", "150000\n");
  EXPECT_THAT(m.quota(), Optional(1.5));
}

TEST(cgroup_quota, hybrid_with_the_controller_in_v2) {
  cgroups m("11:memory:/m\n0::/app.slice\n");
  m.mount("cgroup", "/", "/sys/fs/cgroup/memory", "rw,memory");
  m.mount("cgroup2", "/", "/sys/fs/cgroup/unified");
  m.v2("/sys/fs/cgroup/unified/app.slice", "150000 100000\n");
  EXPECT_THAT(m.quota(), Optional(1.5));
}

TEST(cgroup_quota, least_of_both_versions) {
  cgroups m("4:cpu:/one\n0::/two\n");
  m.mount("cgroup", "/", "/v1", "rw,cpu");
  m.mount("cgroup2", "/", "/v2");
  m.v1("/v1/one", "300000\n");
  m.v2("/v2/two", "200000 100000\n");
  EXPECT_THAT(m.quota(), Optional(2.0));
  m.v1("/v1/one", "100000\n");
  EXPECT_THAT(m.quota(), Optional(1.0));
}

// A container without a cgroup namespace: its own group is mounted, and both files name it as the host does.
TEST(cgroup_quota, container_with_host_names) {
  cgroups m("4:cpu,cpuacct:/docker/1234/inner\n");
  m.mount("cgroup", "/docker/1234", "/sys/fs/cgroup/cpu,cpuacct", "ro,cpu,cpuacct");
  m.v1("/sys/fs/cgroup/cpu,cpuacct", "200000\n");
  EXPECT_THAT(m.quota(), Optional(2.0));
  m.v1("/sys/fs/cgroup/cpu,cpuacct/inner", "50000\n");
  EXPECT_THAT(m.quota(), Optional(0.5));
}

// A container that sees the host's name of its group, while the mount shows that group as the root.
TEST(cgroup_quota, group_that_is_not_below_the_mount) {
  for (auto const* const group : {"/docker/1234", "/../1234", "/..", "/docker/12345"}) {
    cgroups v2("0::"s.append(group).append("\n"));
    v2.mount("cgroup2", "/docker/1234/x", "/sys/fs/cgroup");
    v2.v2("/sys/fs/cgroup", "150000 100000\n");
    EXPECT_THAT(v2.quota(), Optional(1.5)) << group;

    cgroups named("0::"s.append(group).append("\n"));
    named.mount("cgroup2", "/", "/sys/fs/cgroup");
    named.v2("/sys/fs/cgroup", "150000 100000\n");
    EXPECT_THAT(named.quota(), Optional(1.5)) << group;

    cgroups v1("7:cpu,cpuacct:"s.append(group).append("\n"));
    v1.mount("cgroup", "/elsewhere", "/sys/fs/cgroup/cpu,cpuacct", "rw,cpu,cpuacct");
    v1.v1("/sys/fs/cgroup/cpu,cpuacct", "150000\n");
    EXPECT_THAT(v1.quota(), Optional(1.5)) << group;
  }
}

TEST(cgroup_quota, never_leaves_the_mount_upwards) {
  v2_machine const m("/../../app");
  m.v2("/sys/app", "10000 100000\n");
  m.v2("/sys", "10000 100000\n");
  m.v2("/", "10000 100000\n");
  EXPECT_EQ(m.quota(), none);
}

// Mounts made outside the namespace are named relative to it as well.
TEST(cgroup_quota, mount_from_outside_the_namespace) {
  cgroups m("0::/../sibling/app\n");
  m.mount("cgroup2", "/..", "/cg");
  m.v2("/cg/sibling", "70000 100000\n");
  EXPECT_THAT(m.quota(), Optional(0.7));
}

// A container runtime's host sees the containers' groups mounted all over the place.
TEST(cgroup_quota, other_peoples_mounts_do_not_count) {
  cgroups m("0::/user\n");
  m.mount("cgroup2", "/docker/a", "/var/lib/a/cgroup");
  m.mount("cgroup2", "/", "/sys/fs/cgroup");
  m.mount("cgroup2", "/use", "/var/lib/b/cgroup");
  m.v2("/var/lib/a/cgroup", "10000 100000\n");
  m.v2("/var/lib/b/cgroup", "10000 100000\n");
  EXPECT_EQ(m.quota(), none);
  m.v2("/sys/fs/cgroup/user", "100000 100000\n");
  EXPECT_THAT(m.quota(), Optional(1.0));
}

TEST(cgroup_quota, without_mountinfo) {
  for (auto const* const point : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    cgroups const m("0::/a/b\n");
    m.v2(std::string(point) + "/a", "250000 100000\n");
    EXPECT_THAT(m.quota(), Optional(2.5));
  }
  for (auto const* const point :
       {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuacct,cpu"}) {
    cgroups const m("2:cpu,cpuacct:/a/b\n");
    m.v1(std::string(point) + "/a/b", "250000\n");
    EXPECT_THAT(m.quota(), Optional(2.5));
  }
}

TEST(cgroup_quota, without_proc) {
  cgroups const m("");
  std::filesystem::remove_all(m.path() / "proc");
  EXPECT_EQ(m.quota(), none);
  m.v2("/sys/fs/cgroup", "250000 100000\n");
  EXPECT_THAT(m.quota(), Optional(2.5));
}

TEST(cgroup_quota, awkward_names) {
  cgroups m("0::/a:b/with blank \\ (deleted)\n");
  m.mount("cgroup2", "/a:b", "/c\\040g\\134");
  m.v2("/c g\\/with blank \\ (deleted)", "50000 100000\n");
  EXPECT_THAT(m.quota(), Optional(0.5));

  v2_machine const slashes("//a//b/");
  slashes.v2("/sys/fs/cgroup/a", "50000 100000\n");
  EXPECT_THAT(slashes.quota(), Optional(0.5));

  cgroups odd("0::/x\n"); // not an escape, though it begins like one
  odd.mount("cgroup2", "/", "/c\\09");
  odd.v2("/c\\09/x", "50000 100000\n");
  EXPECT_THAT(odd.quota(), Optional(0.5));
}

TEST(cgroup_quota, long_mountinfo) {
  cgroups const m("0::/x\n");
  std::string mountinfo;
  for (int i = 0; i < 2'000; ++i)
    mountinfo += "31 22 0:28 / /mnt/" + std::to_string(i) + " rw - tmpfs tmpfs rw,cpu\n";
  m.write("/proc/self/mountinfo", mountinfo + "31 22 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
  m.v2("/cg/x", "50000 100000\n");
  EXPECT_THAT(m.quota(), Optional(0.5));
}

TEST(cgroup_quota, this_machine) {
  if (auto const quota = cgroup_quota()) {
    EXPECT_GT(*quota, 0);
  }
}

} // namespace
