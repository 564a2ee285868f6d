#include "os/thread.hpp"

#include "os/cpus/affinity.hpp"
#include "os/die.hpp"
#include "os/io/file.hpp"
#include "os/io/process.hpp"
#include "os/scheduling.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <link.h>
#include <memory>
#include <optional>
#include <sched.h>
#include <span>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rubato::os {

namespace {

[[noreturn]] void fail(int error, char const* what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Stack size and the like of a thread to be, or of a thread that is.
class attributes {
  pthread_attr_t value_;
  int error_;

public:
  attributes() noexcept
      : error_(::pthread_attr_init(&value_)) {}
  explicit attributes(pthread_t of) noexcept
      : error_(::pthread_getattr_np(of, &value_)) {}
  attributes(attributes const&) = delete;
  attributes& operator=(attributes const&) = delete;
  ~attributes() {
    if (error_ == 0) ::pthread_attr_destroy(&value_);
  }

  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] pthread_attr_t* get() noexcept { return &value_; }
};

/// The arguments of a new thread.
struct start {
  void (*entry)(void*);
  void* arg;
  std::array<char, 16> name; // the kernel's limit, the final zero included
  cpu_mask cpus;             // empty: the creator's
  std::optional<scheduling> like;
};

extern "C" {
static void* rubato_thread_start(void* memory) {
  auto begin = std::unique_ptr<start>(static_cast<start*>(memory));
  if (begin->name[0] != '\0') ::pthread_setname_np(::pthread_self(), begin->name.data());
  if (!begin->cpus.empty())
    static_cast<void>(begin->cpus.apply()); // refused: its cpuset has changed, and the kernel knows better
  if (begin->like) begin->like->apply();
  auto const entry = begin->entry;
  auto* const arg = begin->arg;
  begin.reset();
  entry(arg);
  return nullptr;
}
}

/// The thread-local memory of the program and its libraries, which the C library puts into each thread's
/// stack.
std::size_t thread_local_bytes() noexcept {
  std::size_t all = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* sum) {
        for (auto const& part : std::span(object->dlpi_phdr, object->dlpi_phnum))
          if (part.p_type == PT_TLS) *static_cast<std::size_t*>(sum) += part.p_memsz + part.p_align;
        return 0;
      },
      &all);
  return all;
}

/// With what the system takes of a stack for itself, in whole pages.
std::size_t whole_stack_size(std::size_t bytes) noexcept {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t const of_system = thread_local_bytes() + static_cast<std::size_t>(PTHREAD_STACK_MIN);
  if (bytes > SIZE_MAX - page - of_system) return bytes;
  return (bytes + of_system + page - 1) / page * page;
}

/// As long as it lives, the calling thread has the signals blocked that a new one is to have blocked.
class signals_blocked {
  sigset_t before_{};
  bool const wanted_;

public:
  explicit signals_blocked(bool wanted) noexcept
      : wanted_(wanted) {
    if (!wanted_) return;
    sigset_t all;
    ::sigfillset(&all);
    for (int const own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&all, own);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;
  ~signals_blocked() {
    if (wanted_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
};

} // namespace

thread::thread(thread_options const& options, void (*entry)(void*), void* arg) {
  bool const told = options.cpus != nullptr && !options.cpus->empty();
  auto begin = std::make_unique<start>(start{entry, arg, {}, told ? *options.cpus : mask_before_pin(), {}});
  if (options.like != nullptr) begin->like = *options.like;
  options.name.copy(begin->name.data(), begin->name.size() - 1);

  attributes attr;
  int error = attr.error();
  if (error == 0 && options.stack_size != 0)
    error = ::pthread_attr_setstacksize(attr.get(), whole_stack_size(options.stack_size));
  if (error == 0) {
    // Until the new thread has the mask that it is to have: the creator may block other signals.
    signals_blocked const blocked(options.blocks_signals || options.like != nullptr);
    error = ::pthread_create(&handle_, attr.get(), rubato_thread_start, begin.get());
  }
  if (error != 0) fail(error, "cannot start a thread");
  begin.release(); // NOLINT(bugprone-unused-return-value): the thread has it
  joinable_ = true;
}

thread::thread(thread&& other) noexcept
    : handle_(other.handle_)
    , joinable_(std::exchange(other.joinable_, false)) {}

thread& thread::operator=(thread&& other) noexcept {
  if (joinable_) die("a thread is assigned to that was neither joined nor detached");
  handle_ = other.handle_;
  joinable_ = std::exchange(other.joinable_, false);
  return *this;
}

thread::~thread() {
  if (joinable_) die("a thread is destroyed that was neither joined nor detached");
}

bool thread::try_join() {
  if (!joinable_) fail(EINVAL, "join");
  int const error = ::pthread_tryjoin_np(handle_, nullptr);
  if (error == EBUSY) return false;
  if (error != 0) fail(error, "join");
  joinable_ = false;
  return true;
}

void thread::join() {
  if (!joinable_) fail(EINVAL, "join");
  if (::pthread_equal(handle_, ::pthread_self()) != 0) fail(EDEADLK, "join");
  if (int const error = ::pthread_join(handle_, nullptr); error != 0) fail(error, "join");
  joinable_ = false;
}

void thread::detach() {
  if (!joinable_) fail(EINVAL, "detach");
  if (int const error = ::pthread_detach(handle_); error != 0) fail(error, "detach");
  joinable_ = false;
}

thread_id this_thread_id() noexcept { return static_cast<thread_id>(::syscall(SYS_gettid)); }

int current_cpu() noexcept { return ::sched_getcpu(); }

std::size_t stack_bytes() noexcept {
  constexpr std::size_t least = std::size_t{64} << 10;
  constexpr std::size_t usual = std::size_t{8} << 20;
  constexpr std::size_t most = std::size_t{1} << 30;
  // For a main thread without a limit this is the room up to the next mapping, which may be all of the
  // address space.
  attributes attr(::pthread_self());
  std::size_t size = 0;
  if (attr.error() != 0 || ::pthread_attr_getstacksize(attr.get(), &size) != 0)
    return usual; // it takes /proc to learn of the main thread's
  return std::clamp(size, least, most);
}

std::uintptr_t middle_of_stack() noexcept {
  constexpr std::size_t least = std::size_t{128} << 10;
  attributes attr(::pthread_self());
  void* low = nullptr;
  std::size_t size = 0;
  if (attr.error() != 0 || ::pthread_attr_getstack(attr.get(), &low, &size) != 0) return ~std::uintptr_t{0};
  return reinterpret_cast<std::uintptr_t>(low) + std::max(size / 2, least);
}

thread_state state_of(thread_id thread) noexcept {
  std::array<char, 48> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(thread));
  std::array<char, 64> buffer;
  auto const text = read_start(path.data(), buffer);
  // NUMBER (NAME) STATE ...; the name is short, and may contain anything.
  auto const name_end = text.rfind(") ");
  if (name_end == text.npos || name_end + 2 >= text.size()) return thread_state::unknown;
  constexpr std::string_view running_or_gone = "RZXx";
  bool const runs = running_or_gone.find(text[name_end + 2]) != running_or_gone.npos;
  return runs ? thread_state::runs : thread_state::sleeps;
}

std::chrono::nanoseconds cpu_time(thread_id thread) noexcept {
  // How the kernel numbers the clock of any thread; pthread_getcpuclockid() does the same, but wants a handle
  // that is known to be alive. 4: of a thread, not a process; 2: as the scheduler counts.
  auto const clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 4U | 2U);
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return {};
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

std::chrono::nanoseconds time_without_cpu(thread_id thread) noexcept {
  return cpu_counts_of(::getpid(), static_cast<int>(thread)).ready;
}

std::uint64_t waits_in_kernel(thread_id thread) noexcept {
  std::array<char, 48> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/status", static_cast<int>(thread));
  std::array<char, 4'096> buffer;
  auto text = read_start(path.data(), buffer);
  constexpr std::string_view head = "\nvoluntary_ctxt_switches:\t";
  std::size_t const at = text.find(head);
  if (at == text.npos) return 0;
  text.remove_prefix(at + head.size());
  return parse_number<std::uint64_t>(text.substr(0, text.find('\n'))).value_or(0);
}

void set_timer_slack(std::chrono::nanoseconds slack) noexcept {
  // Zero would mean the default.
  auto const ns = static_cast<unsigned long>(std::max<std::chrono::nanoseconds::rep>(1, slack.count()));
  ::prctl(PR_SET_TIMERSLACK, ns, 0UL, 0UL, 0UL);
}

} // namespace rubato::os
