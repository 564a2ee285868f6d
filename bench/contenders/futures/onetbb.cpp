// oneTBB has no futures: a task enqueued into an arena keeps a std::promise.
#include "../../harness/futures.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <future>
#include <memory>

namespace {

class onetbb {
  tbb::global_control threads_;
  tbb::task_arena arena_; ///< no place reserved for a caller that never comes

public:
  static constexpr const char* name = "onetbb";
  static std::string version() { return TBB_runtime_version(); }
  using promise = std::promise<std::uint64_t>;

  explicit onetbb(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers + 1)
      , arena_(static_cast<int>(workers), 0) {}

  template<class F>
  void enqueue(F f) {
    arena_.enqueue(f);
  }
  template<class F>
  auto spawn(F f) {
    // enqueue copies what it is given
    auto kept = std::make_shared<std::promise<decltype(f())>>();
    auto future = kept->get_future();
    arena_.enqueue([f, kept = std::move(kept)] { kept->set_value(f()); });
    return future;
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_futures<onetbb>(argc, argv); }
