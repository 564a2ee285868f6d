#include "stages.hpp"

#include "digest.hpp"
#include "tree.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/channel.hpp>
#include <rubato/scope.hpp>
#include <rubato/task.hpp>
#include <rubato/when.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pipeline {
namespace {

using parts = rubato::channel<part>;

/// A file on its way from its reader to the stage that sums it up. Most are read in one part; a longer one
/// brings the channel through which the rest comes.
struct content {
  std::string path;
  part first;
  std::shared_ptr<parts> rest;
};

/// The copies of one stage, which run in parallel. When all have ended, the stage's output ends.
template<class Channel>
rubato::task<> stage(std::vector<rubato::task<>> copies, Channel& out) {
  co_await rubato::when_all(std::move(copies));
  out.close();
}

/// A stop ends every wait for a channel, as if it were closed. A stage that need not wait looks at the token.
class stages {
  tree_walk tree_;
  progress& meter_;
  catalogue result_;
  rubato::channel<found_file> found_{64};
  rubato::channel<content> contents_{16};
  rubato::channel<outcome> outcomes_{64};

public:
  stages(const std::string& root, progress& meter)
      : tree_(root)
      , meter_(meter) {}

  rubato::task<> walk() {
    const std::stop_token stop = rubato::this_task_stop_token();
    while (!stop.stop_requested()) {
      auto files = rubato::blocking([this] { return tree_.next(); });
      if (!files) break;
      meter_.found(files->size());
      for (found_file& file : *files) {
        const bool sent = co_await found_.send(std::move(file));
        if (!sent) co_return;
      }
    }
    found_.close();
  }

  rubato::task<> read() {
    const std::stop_token stop = rubato::this_task_stop_token();
    while (!stop.stop_requested()) {
      const std::optional<found_file> file = co_await found_.receive();
      if (!file) break;
      std::optional<source> from;
      content next;
      next.path = file->path;
      rubato::blocking([&] { next.first = from.emplace(*file).next(); });
      meter_.read(next.first.size);
      const std::shared_ptr<parts> rest = from->over() ? nullptr : std::make_shared<parts>(std::size_t{4});
      next.rest = rest;
      bool wanted = co_await contents_.send(std::move(next));
      while (wanted && !from->over()) {
        part more = rubato::blocking([&] { return from->next(); });
        meter_.read(more.size);
        wanted = co_await rest->send(std::move(more));
      }
      if (rest) rest->close();
    }
  }

  rubato::task<> sum_up() {
    digest sums;
    const std::stop_token stop = rubato::this_task_stop_token();
    while (!stop.stop_requested()) {
      std::optional<content> file = co_await contents_.receive();
      if (!file) break;
      sums.begin();
      bool more = sums.feed(file->first) && file->rest;
      while (more) {
        const std::optional<part> next = co_await file->rest->receive();
        more = next && sums.feed(*next);
      }
      if (file->rest) file->rest->close(); // its reader need not go on with a corrupt file
      outcome about = sums.end(std::move(file->path));
      const bool sent = co_await outcomes_.send(std::move(about));
      if (!sent) break;
    }
  }

  rubato::task<> collect() {
    for (;;) {
      std::optional<outcome> about = co_await outcomes_.receive();
      if (!about) break;
      meter_.finished_one();
      result_.add(*std::move(about));
    }
    rubato::sort(result_.files, by_path);
  }

  /// When all stages have ended.
  catalogue result() {
    result_.finish(tree_.met());
    return std::move(result_);
  }

  void start(rubato::scope& scope, unsigned readers, unsigned summers) {
    std::vector<rubato::task<>> reading;
    std::vector<rubato::task<>> summing;
    for (unsigned i = 0; i != readers; ++i) reading.push_back(read());
    for (unsigned i = 0; i != summers; ++i) summing.push_back(sum_up());
    scope.spawn(walk());
    scope.spawn(stage(std::move(reading), contents_));
    scope.spawn(stage(std::move(summing), outcomes_));
    scope.spawn(collect());
  }
};

} // namespace

catalogue take_catalogue(rubato::pool& pool, const std::string& root, unsigned readers, std::stop_token stop,
                         progress& meter) {
  stages all(root, meter);
  rubato::with_scope(pool, [&](rubato::scope& scope) {
    const std::stop_callback stops(std::move(stop), [&] { scope.request_stop(); });
    all.start(scope, readers, std::max(1U, pool.size()));
    scope.wait();
  });
  return all.result();
}

} // namespace pipeline
