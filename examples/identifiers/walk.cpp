#include "walk.hpp"

#include "scan.hpp"
#include "shared/path.hpp"
#include "shared/system.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <system_error>
#include <utility>

namespace identifiers {
namespace {

using namespace example;

/// Each directory is a child of one flat scope, so a deep tree nests no deeper than a shallow one; within a
/// directory its files are a loop, and within a large file its pieces are.
class walker {
  per_thread<tally>& tallies_;
  progress& meter_;

  void report(std::string path, const std::error_code& reason) {
    tallies_.local().problems.push_back({std::move(path), reason.message()});
  }

  void visit_directory(rubato::scope& scope, const std::string& path, links mode) {
    try {
      directory opened(path, mode);
      const listing found = opened.list();
      tally& mine = tallies_.local();
      ++mine.seen.directories;
      mine.seen.symlinks += found.symlinks;
      mine.seen.special += found.special;
      if (found.error) report(path, found.error);
      for (const auto& name : found.directories)
        scope.spawn(
            [this, &scope, child = join_path(path, name)] { visit_directory(scope, child, links::refuse); });
      rubato::for_each(found.files, [&](const std::string& name) { visit_file(opened, path, name); });
    } catch (const std::system_error& error) {
      report(path, error.code());
    }
  }

  void visit_file(const directory& parent, const std::string& path, const std::string& name) {
    try {
      const descriptor file = parent.open(name);
      const file_status status = status_of(file);
      if (status.kind == file_kind::special) { // it was a file when the directory was listed
        ++tallies_.local().seen.special;
        return;
      }
      scan_file(file, status.size, tallies_, meter_);
      count_file();
    } catch (const std::system_error& error) {
      report(join_path(path, name), error.code());
    }
  }

  void count_file() {
    ++tallies_.local().seen.files;
    meter_.add(1, 0);
  }

public:
  walker(per_thread<tally>& tallies, progress& meter)
      : tallies_(tallies)
      , meter_(meter) {}

  /// A path of the command line is read whatever it is, a link or a FIFO too.
  void visit(rubato::scope& scope, const std::string& path) {
    try {
      const file_status status = status_of(path);
      if (status.kind == file_kind::directory) {
        visit_directory(scope, path, links::follow);
      } else if (status.kind == file_kind::regular) {
        scan_file(open_file(path), status.size, tallies_, meter_);
        count_file();
      } else {
        // Only here may a read wait for another process, without limit; reads of a file system end soon.
        rubato::blocking([&] { scan_stream(open_file(path), tallies_, meter_); });
        ++tallies_.local().seen.streams;
        count_file();
      }
    } catch (const std::system_error& error) {
      report(path, error.code());
    }
  }
};

} // namespace

void walk(const std::vector<std::string>& paths, per_thread<tally>& tallies, progress& meter) {
  walker visitor(tallies, meter);
  rubato::with_scope([&](rubato::scope& scope) {
    rubato::for_each(paths, [&](const std::string& path) { visitor.visit(scope, path); });
  });
}

} // namespace identifiers
