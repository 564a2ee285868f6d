// Where the process's control groups are mounted, and the least quota on the way up.
#include "os/cpus/cpus.hpp"

#include "os/cpus/affinity.hpp"
#include "os/io/file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::os {

namespace {

enum class version { v1, v2 };

using quota = std::optional<double>;

quota least(quota a, quota b) { return a && b ? std::min(a, b) : a ? a : b; }

/// Whether `item` stands in a list like "rw,cpu,cpuacct".
bool lists(std::string_view list, std::string_view item) {
  while (!list.empty())
    if (cut(list, ',') == item) return true;
  return false;
}

/// The process's own group of that version, from lines HIERARCHY:CONTROLLERS:PATH. A machine that does not
/// tell is taken to have one group only.
std::string own_group(std::string_view self_cgroup, version v) {
  while (!self_cgroup.empty()) {
    auto line = cut(self_cgroup, '\n');
    auto const hierarchy = cut(line, ':');
    auto const controllers = cut(line, ':');
    if (v == version::v2 ? hierarchy == "0" && controllers.empty() : lists(controllers, "cpu"))
      return std::string(line);
  }
  return "/";
}

struct mount {
  std::string root;  ///< the group that is seen at the point
  std::string point; ///< a directory
};

/// The kernel writes blanks and backslashes in paths as \040 and the like.
std::string unescape(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    auto const is_octal = [](char c) { return c >= '0' && c <= '7'; };
    if (text.size() >= 4 && text[0] == '\\' && std::ranges::all_of(text.substr(1, 3), is_octal)) {
      result += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
      text.remove_prefix(4);
    } else {
      result += text[0];
      text.remove_prefix(1);
    }
  }
  return result;
}

/// The mounts on which that version keeps its CPU controller, from lines
/// ID PARENT DEVICE ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS.
std::vector<mount> mounts(std::string_view mountinfo, version v) {
  std::vector<mount> result;
  while (!mountinfo.empty()) {
    auto line = cut(mountinfo, '\n');
    auto const dash = line.find(" - ");
    if (dash == line.npos) continue;
    auto right = line.substr(dash + 3);
    auto const type = cut(right, ' ');
    cut(right, ' ');
    if (v == version::v2 ? type != "cgroup2" : type != "cgroup" || !lists(right, "cpu")) continue;
    for (int i = 0; i < 3; ++i) cut(line, ' ');
    auto const root = cut(line, ' ');
    auto const point = cut(line, ' ');
    if (root.starts_with('/') && point.starts_with('/')) result.push_back({unescape(root), unescape(point)});
  }
  return result;
}

/// Where mounts usually are, if nothing better is known.
std::span<std::string_view const> usual_points(version v) {
  static constexpr std::array<std::string_view, 3> v1{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
                                                      "/sys/fs/cgroup/cpuacct,cpu"};
  static constexpr std::array<std::string_view, 2> v2{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
  return v == version::v1 ? std::span<std::string_view const>(v1) : v2;
}

/// `group` as seen from `ancestor`, without a slash in front; nothing if it does not lie below. What lies
/// outside the process's cgroup namespace is written with "..", and no path leads there from inside.
std::optional<std::string_view> relative(std::string_view group, std::string_view ancestor) {
  if (ancestor.ends_with('/')) ancestor.remove_suffix(1);
  if (!group.starts_with(ancestor)) return {};
  group.remove_prefix(ancestor.size());
  if (!group.empty() && !group.starts_with('/')) return {};
  group.remove_prefix(std::min(group.find_first_not_of('/'), group.size()));
  for (std::string_view rest = group; !rest.empty();)
    if (cut(rest, '/') == "..") return {};
  return group;
}

/// The limit that one directory sets on its group.
quota read_quota(std::string const& directory, version v) {
  std::optional<long long> time, period;
  if (v == version::v1) {
    time = read_number<long long>(path_in(directory, "cpu.cfs_quota_us"));
    period = read_number<long long>(path_in(directory, "cpu.cfs_period_us"));
  } else {
    auto const text = read_file(path_in(directory, "cpu.max")).value_or("");
    std::string_view rest = text;
    time = parse_number<long long>(cut(rest, ' '));
    period = parse_number<long long>(rest);
  }
  // No limit is "max" in v2 and -1 in v1.
  if (!time || !period || *time <= 0 || *period <= 0) return {};
  return static_cast<double>(*time) / static_cast<double>(*period);
}

/// The least limit from the group up to the mount point. A directory that is not there sets none: inside a
/// container the group may be named as the host sees it, and then only the mount point is there.
quota least_upwards(std::string const& point, std::string_view group, version v) {
  quota result;
  for (;;) {
    result = least(result, read_quota(path_in(point, group), v));
    if (group.empty()) return result;
    auto const slash = group.rfind('/');
    group = group.substr(0, slash == group.npos ? 0 : slash);
  }
}

quota least_of(std::string const& root, version v) {
  auto const group = own_group(read_file(path_in(root, "proc/self/cgroup")).value_or(""), v);
  auto const below_root = [&](std::string_view point) {
    return path_in(root, point.substr(std::min(point.find_first_not_of('/'), point.size())));
  };

  quota result;
  bool known = false;
  for (auto const& [mount_root, point] :
       mounts(read_file(path_in(root, "proc/self/mountinfo")).value_or(""), v))
    if (auto const below = relative(group, mount_root)) {
      known = true;
      result = least(result, least_upwards(below_root(point), *below, v));
    }
  if (known) return result;
  // Any other mount may show other processes' groups; but a container's mount in the usual place is its own.
  for (auto const point : usual_points(v))
    result = least(result, least_upwards(below_root(point), relative(group, "/").value_or(""), v));
  return result;
}

} // namespace

std::optional<double> cgroup_quota(std::string const& root) {
  // Both versions may be mounted; the CPU controller belongs to one of them, and the other has no such files.
  return least(least_of(root, version::v1), least_of(root, version::v2));
}

unsigned usable_cpus(std::size_t cpus, std::optional<double> quota) noexcept {
  auto const most = std::max<double>(1, static_cast<double>(cpus));
  return static_cast<unsigned>(std::clamp(std::ceil(quota.value_or(most)), 1.0, most));
}

unsigned usable_cpus(std::string const& root) {
  return usable_cpus(affinity_cpus().size(), cgroup_quota(root));
}

} // namespace rubato::os
