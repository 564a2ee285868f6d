// Rubato's futures, as a user writes them.
#include "../../harness/futures.hpp"

#include <rubato/rubato.hpp>

namespace {

class rubato_pool {
  rubato::pool pool_;

public:
#ifdef __clang__
  static constexpr const char* name = "rubato-clang";
#else
  static constexpr const char* name = "rubato";
#endif
  static std::string version() { return __VERSION__; }
  using promise = rubato::promise<std::uint64_t>;

  explicit rubato_pool(unsigned workers)
      : pool_(workers) {}

  template<class F>
  void enqueue(F f) {
    pool_.enqueue(f);
  }
  template<class F>
  auto spawn(F f) {
    return pool_.spawn(f);
  }
  template<class Future>
  static bool ready(const Future& f) {
    return f.ready();
  }
  template<class... Futures>
  static auto when_all(Futures&&... futures) {
    return rubato::when_all(std::forward<Futures>(futures)...);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_futures<rubato_pool>(argc, argv); }
