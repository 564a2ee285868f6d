#include "trace/recorder.hpp"

#include "base/never_destroyed.hpp"
#include "os/io/file.hpp"
#include "os/io/mapped_file.hpp"
#include "os/io/process.hpp"
#include "os/memory.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/trace/note.hpp"
#include "trace/name_table.hpp"
#include "trace/reader/convert.hpp"
#include "trace/ring.hpp"
#include "trace/ring_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::uint64_t usual_events = std::uint64_t{1} << 16, fewest_events = 64;
constexpr unsigned most_kept = 64; // rings of threads that have ended

/// The calling thread's ring; null: it has not needed one yet.
[[gnu::tls_model("initial-exec")]] thread_local constinit ring* own_ring = nullptr;
/// Of a thread that ends: its last destructors run, and are not traced.
constinit never_destroyed<std::array<std::byte, sizeof(ring)>> no_ring_storage;
ring* no_ring() noexcept { return reinterpret_cast<ring*>(no_ring_storage.object.data()); }

std::uint64_t events_asked_for() noexcept {
  char const* const text = os::environment("RUBATO_TRACE_EVENTS");
  auto const n = text != nullptr ? os::parse_number<std::uint64_t>(text) : std::nullopt;
  if (text != nullptr && !n)
    os::tell("RUBATO_TRACE_EVENTS is no number: 65536 events of each thread are kept");
  return std::bit_ceil(std::clamp(n.value_or(usual_events), fewest_events, ring_file_layout::most_events));
}

unsigned char levels_asked_for() noexcept {
  char const* const text = os::environment("RUBATO_TRACE_LEVEL");
  std::string_view const level = text != nullptr ? text : "normal";
  unsigned char levels = trace_level::low;
  if (level != "low") levels |= trace_level::normal;
  if (level == "high") levels |= trace_level::high;
  return levels;
}

/// With the number of the process in place of each %p.
std::string with_process(std::string path) {
  std::string const number = std::to_string(os::process_id());
  for (std::size_t at = 0; (at = path.find("%p", at)) != path.npos; at += number.size())
    path.replace(at, 2, number);
  return path;
}

std::uint64_t name_of_thread(name_table& texts) noexcept {
  std::array<char, 32> buffer{};
  std::string_view const name = os::read_start("/proc/thread-self/comm", buffer);
  return texts.offset_of(name.substr(0, name.find('\n')));
}

class recorder {
  // Start, stop and snapshot take turns. Taken before guard_.
  mutex control_;
  mutex guard_; // nothing of the scheduler, and no lock but the texts' and the allocator's, is taken under it
  ring_file file_ RUBATO_GUARDED_BY(guard_);
  std::uint64_t events_ RUBATO_GUARDED_BY(guard_) = 0; // in a ring, in this process; 0: not asked yet
  bool on_ RUBATO_GUARDED_BY(guard_) = false;
  bool in_memory_ RUBATO_GUARDED_BY(guard_) = false; // it is on for the live views alone
  unsigned watchers_ RUBATO_GUARDED_BY(guard_) = 0;  // live views
  bool has_told_ RUBATO_GUARDED_BY(guard_) = false;  // that a thread is not traced
  unsigned char levels_ RUBATO_GUARDED_BY(guard_) = 0;
  intrusive_list<ring> used_ RUBATO_GUARDED_BY(guard_); // by a thread
  intrusive_list<ring> kept_ RUBATO_GUARDED_BY(guard_); // mapped, of threads that have ended, oldest first
  unsigned kept_count_ RUBATO_GUARDED_BY(guard_) = 0;
  intrusive_list<ring> idle_ RUBATO_GUARDED_BY(guard_); // of no thread, not mapped
  std::string* path_ = nullptr;                         // under control_
  relaxed<std::uint32_t> session_;                      // counts the starts

  /// Null: in memory. Returns zero, or the error.
  [[nodiscard]] int begin(std::string const* wanted) RUBATO_REQUIRES(guard_);
  void end() noexcept RUBATO_REQUIRES(guard_);
  [[nodiscard]] ring* some_ring() RUBATO_REQUIRES(guard_);
  void map(ring& r) noexcept RUBATO_REQUIRES(guard_);
  void refuse(int error) noexcept RUBATO_REQUIRES(guard_);
  void measure_threads() noexcept RUBATO_REQUIRES(guard_);

public:
  name_table texts;

  constexpr recorder() noexcept = default;

  [[nodiscard]] std::uint32_t session() const noexcept { return session_.get(); }
  void start(std::string const& wanted);
  void stop();
  void snapshot(std::string const& path);
  void begin_watching();
  void end_watching() noexcept;
  [[nodiscard]] int open_rings(os::input_file& into) {
    lock_guard const guard(guard_);
    return on_ ? into.open(file_.own_path().c_str()) : ENOENT;
  }
  /// The calling thread's ring for the present session. Null: there is none.
  [[nodiscard]] ring* ring_of_thread() noexcept;
  void thread_ends() noexcept;

  // Around fork(). No lock is held there: another library's lock may be held by a thread that records.
  void pause() noexcept { trace_levels.set(0); }
  void go_on() noexcept {
    lock_guard const guard(guard_);
    if (on_) trace_levels.set(levels_);
  }
  /// In the child. The rings' addresses are not mapped here.
  void forget() noexcept RUBATO_NOT_ANALYSED {
    trace_levels.set(0);
    file_.forget();
    ::new (&control_) mutex;
    ::new (&guard_) mutex;
    on_ = in_memory_ = false;
    watchers_ = 0;
    used_.clear();
    kept_.clear();
    kept_count_ = 0;
    idle_.clear();
    texts.forget_lock();
    if (own_ring != no_ring()) own_ring = nullptr;
  }
};

constinit never_destroyed<recorder> storage; // threads record until the process ends
recorder& the_recorder() noexcept { return storage.object; }

void give_ring_back(void* /*none*/) { the_recorder().thread_ends(); }

constinit flag asked; // the environment

void before_fork() { the_recorder().pause(); }
void after_fork_in_parent() { the_recorder().go_on(); }
void after_fork_in_child() {
  the_recorder().forget();
  asked.lower();
}

[[noreturn]] void fail(int error, std::string const& what) {
  throw std::system_error(error, std::generic_category(), "rubato: " + what);
}

void handle_forks() {
  static bool const handlers =
      (os::register_fork_handlers(before_fork, after_fork_in_parent, after_fork_in_child), true);
  static_cast<void>(handlers);
}

int recorder::begin(std::string const* wanted) {
  bool const in_memory = wanted == nullptr;
  if (events_ == 0) events_ = events_asked_for();
  if (path_ == nullptr) path_ = new std::string;
  if (!in_memory) *path_ = with_process(*wanted);
  int error = file_.open(in_memory ? std::string() : *path_ + ".rings", events_);
  if (error == EWOULDBLOCK) { // another process records there
    *path_ += '.' + std::to_string(os::process_id());
    error = file_.open(*path_ + ".rings", events_);
  }
  if (error != 0) return error;
  try {
    file_.write_modules();
  } catch (std::bad_alloc const&) {
    file_.close();
    throw;
  }
  texts.copy_to(file_.texts());
  on_ = true;
  in_memory_ = in_memory;
  has_told_ = false;
  levels_ = levels_asked_for();
  if (in_memory) levels_ |= trace_level::normal; // a view without tasks shows little
  session_.add(1); // relaxed: a thread that sees the levels and not this finds out under the lock
  trace_levels.set(levels_);
  return 0;
}

/// Those that have a ring in the present session.
void recorder::measure_threads() noexcept {
  used_.for_each([this](ring& r) {
    if (r.is_of(session()) && r.is_mapped()) r.measure_cpu();
  });
}

void recorder::end() noexcept {
  trace_levels.set(0);
  measure_threads();
  on_ = in_memory_ = false;
  session_.add(1); // a thread in the middle of record_event() finds under the lock that the trace is off
  file_.count_unnamed(texts.missed());
  try {
    file_.write_modules();
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): those of the start are there
  }
  texts.copy_to(nullptr);
  // A thread may be writing an event: it writes to that memory.
  std::size_t const bytes = file_.stride();
  used_.for_each([bytes](ring& r) { os::unmap_to_memory(r.memory(), bytes); });
  while (ring* const r = kept_.front()) {
    kept_.erase(*r);
    os::unmap_to_memory(r->memory(), bytes);
    idle_.push_back(*r);
  }
  kept_count_ = 0;
  file_.close();
}

void recorder::start(std::string const& wanted) {
  handle_forks();
  lock_guard const turn(control_);
  lock_guard const guard(guard_);
  if (on_ && !in_memory_) throw std::logic_error("rubato: trace::start() while the trace is on");
  if (on_) end();
  int const error = begin(&wanted);
  if (error == 0) return;
  std::string const where = *path_ + ".rings";
  if (watchers_ != 0) static_cast<void>(begin(nullptr));
  fail(error, "cannot record a trace in " + where);
}

void recorder::stop() {
  lock_guard const turn(control_);
  std::string converted;
  {
    lock_guard const guard(guard_);
    if (!on_ || in_memory_) return;
    end();
    converted = *path_;
    if (watchers_ != 0) static_cast<void>(begin(nullptr)); // no memory: the views show that the trace is off
  }
  convert_rings(converted + ".rings", converted, {});
}

void recorder::begin_watching() {
  handle_forks();
  lock_guard const turn(control_);
  lock_guard const guard(guard_);
  if (!on_)
    if (int const error = begin(nullptr); error != 0) fail(error, "cannot record in memory for a live view");
  ++watchers_;
}

void recorder::end_watching() noexcept {
  lock_guard const turn(control_);
  lock_guard const guard(guard_);
  if (--watchers_ == 0 && in_memory_) end();
}

void recorder::snapshot(std::string const& path) {
  lock_guard const turn(control_);
  std::string const rings = [this] {
    lock_guard const guard(guard_);
    if (!on_) throw std::logic_error("rubato: trace::snapshot() while the trace is off");
    measure_threads();
    file_.count_unnamed(texts.missed());
    file_.write_modules();
    return file_.own_path();
  }();
  convert_rings(rings, with_process(path), {});
}

/// For a thread that has none. Throws std::bad_alloc.
ring* recorder::some_ring() {
  ring* r = idle_.front();
  if (r != nullptr) {
    idle_.erase(*r);
  } else if (kept_count_ >= most_kept) {
    r = kept_.front();
    kept_.erase(*r);
    --kept_count_;
  } else {
    r = new ring(static_cast<std::byte*>(os::reserve(file_.stride())));
  }
  used_.push_back(*r);
  return r;
}

/// One line in each session, however many threads there are.
void recorder::refuse(int error) noexcept {
  file_.count_untraced();
  if (std::exchange(has_told_, true)) return;
  try {
    os::tell("no room for the trace of a thread: " + std::generic_category().message(error));
  } catch (std::exception const&) { // NOLINT(bugprone-empty-catch): no memory for the line; it is counted
  }
}

void recorder::map(ring& r) noexcept {
  std::uint64_t capacity = file_.capacity();
  if (!r.is_of(session()) || !r.is_mapped()) {
    if (int const error = file_.add_ring(r.memory()); error != 0) {
      refuse(error);
      capacity = 0;
    }
  }
  r.begin(session(), capacity, static_cast<std::uint64_t>(os::this_thread_id()), name_of_thread(texts),
          place_of_this_thread());
}

ring* recorder::ring_of_thread() noexcept {
  if (own_ring == no_ring()) return nullptr;
  lock_guard const guard(guard_);
  if (!on_) return nullptr;
  if (own_ring == nullptr) {
    // No thread-local object: in a plug-in that is loaded late, memory for those is scarce.
    static os::end_of_thread const end(give_ring_back);
    if (!end.await_here()) return nullptr;
    try {
      own_ring = some_ring();
    } catch (std::exception const&) { // no memory: it is asked again at the next event
      return nullptr;
    }
  }
  map(*own_ring);
  return own_ring;
}

void recorder::thread_ends() noexcept {
  ring* const r = std::exchange(own_ring, no_ring());
  if (r == nullptr) return;
  lock_guard const guard(guard_);
  used_.erase(*r);
  if (on_ && r->is_of(session()) && r->is_mapped()) {
    r->measure_cpu();
    kept_.push_back(*r);
    ++kept_count_;
  } else {
    idle_.push_back(*r);
  }
}

/// At the end of the program, if the environment has begun the trace.
void stop_at_exit() {
  try {
    the_recorder().stop();
  } catch (std::exception const& e) {
    os::tell(std::string("the trace was not converted: ") + e.what());
  }
}

} // namespace

constinit relaxed<unsigned char> trace_levels;

void record_event(event_kind kind, std::uint64_t id, std::uint64_t name, unsigned char aux) noexcept {
  ring* r = own_ring;
  if (r == nullptr || r == no_ring() || !r->is_of(the_recorder().session())) [[unlikely]] {
    r = the_recorder().ring_of_thread();
    if (r == nullptr) return;
  }
  r->write(kind, id, name, aux);
}

std::uint64_t name_of_text(char const* text) noexcept {
  return text != nullptr ? the_recorder().texts.offset_of(text) : 0;
}

void start_recording(std::string const& path) { the_recorder().start(path); }
void stop_recording() { the_recorder().stop(); }
void write_snapshot(std::string const& path) { the_recorder().snapshot(path); }
void begin_watching() { the_recorder().begin_watching(); }
void end_watching() noexcept { the_recorder().end_watching(); }
std::uint32_t recording_session() noexcept { return the_recorder().session(); }
int open_own_rings(os::input_file& into) { return the_recorder().open_rings(into); }

void record_if_asked() noexcept {
  static constinit flag was_asked_before_fork;
  if (!asked.try_raise()) return;
  char const* const path = os::environment("RUBATO_TRACE");
  if (path == nullptr || *path == '\0') return;
  bool const is_child = !was_asked_before_fork.try_raise();
  if (is_child) {
    char const* const in_child = os::environment("RUBATO_TRACE_FORK");
    if (in_child == nullptr || std::strcmp(in_child, "1") != 0) return;
  }
  try {
    the_recorder().start(is_child ? path + ('.' + std::to_string(os::process_id())) : std::string(path));
    if (!is_child) std::atexit(&stop_at_exit); // which the child inherits
  } catch (std::exception const& e) {
    std::string_view what = e.what();
    constexpr std::string_view prefix = "rubato: "; // as tell() writes it
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    os::tell(std::string(what));
  }
}

} // namespace rubato::detail
