// One execution at a time: which thread runs, which sleep, and what each access does. The policy's other
// side.
#pragma once

#include "explore/choices.hpp"
#include "explore/explore.hpp"
#include "explore/failure.hpp"
#include "explore/fiber.hpp"
#include "explore/memory.hpp"
#include "explore/sites.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <vector>

namespace rubato_test {

class scheduler {
public:
  using location = std::source_location;
  using order = std::memory_order;

  scheduler(options const& o, test const& t, std::string const& schedule);
  ~scheduler();
  scheduler(scheduler const&) = delete;
  scheduler& operator=(scheduler const&) = delete;

  /// The scheduler under which the caller runs; ends the program outside of an execution.
  static scheduler& current();
  /// The same, or null.
  static scheduler* active() noexcept;

  // For run()

  void execute(bool tracing);
  [[nodiscard]] verdict outcome() const noexcept { return outcome_; }
  [[nodiscard]] std::string const& message() const noexcept { return message_; }
  [[nodiscard]] std::vector<std::string> const& trace() const noexcept { return trace_; }
  [[nodiscard]] std::vector<site> const& sites() const noexcept { return sites_.sites(); }
  [[nodiscard]] choices& decisions() noexcept { return choices_; }

  // For the code under test

  void create(void const* address, std::uint64_t bits);
  void destroy(void const* address);
  void plain_read(void const* address, location const& where);
  void plain_write(void const* address, location const& where);

  std::uint64_t load(void const* address, order o, location const& where);
  void store(void const* address, std::uint64_t bits, order o, location const& where);
  using function = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);
  std::uint64_t modify(void const* address, function f, std::uint64_t operand, char const* name, order o,
                       location const& where);
  bool compare_exchange(void const* address, std::uint64_t& expected, std::uint64_t desired, bool weak,
                        order success, order failure, location const& where);

  void fence(location const& where);
  void light_barrier(location const& where);
  void heavy_barrier(location const& where);
  void futex_wait(void const* address, std::uint64_t expected, location const& where);
  void futex_wake(void const* address, unsigned count, location const& where);
  void pause(location const& where);

  void* lend(std::size_t size, std::align_val_t alignment);
  void bury(void const* address, std::size_t size);
  [[noreturn]] void fail(verdict v, std::string message);

private:
  enum class status : std::uint8_t {
    absent,
    runnable,
    spinning, // not scheduled until another thread has changed something
    asleep,   // on a futex
    joining,  // the first thread, until the others have ended
    ended
  };
  struct thread {
    scheduler* owner = nullptr;
    std::unique_ptr<fiber> stack;
    status state = status::absent;
    bool fresh = false;        // has done nothing since it was chosen: need not be asked again
    unsigned changes_seen = 0; // when it paused last
    void const* futex = nullptr;
    location where;
  };
  struct loan {
    void const* address;
    std::size_t size;
    bool buried;
  };

  struct remains;

  static void thread_main(void* self);
  void main_body();
  void count_step();
  void step(location const& where);
  void reschedule();
  void switch_to(unsigned next);
  [[nodiscard]] bool enabled(unsigned t) const noexcept;
  [[noreturn]] void report_deadlock();
  void changed() noexcept;
  unsigned choose(unsigned count, unsigned allowed);
  template<class Possible>
  unsigned choose_write(unsigned count, Possible possible);
  bool choose_spurious();
  site passed(site s);
  void abandon();
  template<class... Parts>
  void note(location const& where, Parts const&... parts);

  options options_;
  test const& test_;
  choices choices_;
  memory memory_;
  site_set sites_;
  execution execution_;

  fiber driver_;
  std::array<thread, max_threads> threads_;
  unsigned count_ = 0; // threads in this execution, the first one included
  unsigned self_ = 0;
  unsigned alive_ = 0; // threads beside the first that have not ended
  unsigned steps_ = 0, changes_ = 0, preemptions_ = 0, stale_ = 0, spurious_ = 0;
  std::vector<loan> loans_;
  // Frames, one behind the other: their addresses have the same order in each execution, and code under test
  // may lock in that order.
  std::unique_ptr<std::byte[]> lent_memory_;
  std::size_t lent_ = 0;

  bool tracing_ = false;
  std::vector<std::string> trace_;
  verdict outcome_ = verdict::ok;
  std::string message_;
};

} // namespace rubato_test
