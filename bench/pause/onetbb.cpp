// A burst after a pause by oneTBB. bench/pause.py
#include "second_thread.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

#include <cstring>

namespace {

void tree(bench::burst& b, int n) {
  if (n == 1)
    b.task();
  else
    tbb::parallel_invoke([&b, n] { tree(b, n / 2); }, [&b, n] { tree(b, n - n / 2); });
}

} // namespace

int main(int argc, char** argv) {
  tbb::global_control const limit(tbb::global_control::max_allowed_parallelism, 2);
  return bench::drive(argc, argv, "onetbb", [&](char const* kind, bench::burst& b) {
    b.begin();
    if (std::strcmp(kind, "scope") == 0) {
      tbb::task_group g;
      for (int i = 0; i != b.tasks; ++i) g.run([&b] { b.task(); });
      g.wait();
    } else if (std::strcmp(kind, "join") == 0) {
      tree(b, b.tasks);
    } else {
      tbb::parallel_for(0, b.tasks, [&b](int) { b.task(); });
    }
  });
}
