// A burst after a pause by Rubato. bench/pause.py
#include "second_thread.hpp"

#include <rubato/rubato.hpp>

#include <cstring>

namespace {

void tree(bench::burst& b, int n) {
  if (n == 1)
    b.task();
  else
    rubato::join([&b, n] { tree(b, n / 2); }, [&b, n] { tree(b, n - n / 2); });
}

} // namespace

int main(int argc, char** argv) {
  rubato::pool pool(2);
  return bench::drive(argc, argv, "rubato", [&](char const* kind, bench::burst& b) {
    pool.run([&] {
      b.begin();
      if (std::strcmp(kind, "scope") == 0)
        rubato::with_scope([&](rubato::scope& s) {
          for (int i = 0; i != b.tasks; ++i) s.spawn([&b] { b.task(); });
        });
      else if (std::strcmp(kind, "join") == 0)
        tree(b, b.tasks);
      else
        rubato::for_index(0, b.tasks, [&b](int) { b.task(); });
    });
  });
}
