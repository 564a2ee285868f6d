#include "call_queue.hpp"

#include "attached_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <utility>

namespace rubato::python {
namespace {

using std::chrono::steady_clock;

// How long a runner goes on before it lets queued tasks of the pool have its seat.
constexpr std::chrono::microseconds turn{200};

std::mutex all_mutex; // as call_queue::mutex_
std::vector<call_queue*> all;
std::atomic<bool> program_ends{false};
constexpr char const* at_end = "cannot make a pool after interpreter shutdown";

// Threads of Python in an `unlocked`. join_all() sets all_joined when it has the interpreter's lock and there
// is none.
std::atomic<unsigned> outside{0};
std::atomic<bool> all_joined{false};

// Gives the interpreter's lock back for its own lifetime. CPython unwinds the stack of a daemon thread that
// asks for the lock after the interpreter's end, and a destructor cannot be unwound. So the end waits for
// these threads, and no other thread gives the lock back afterwards.
class unlocked {
  std::optional<nb::gil_scoped_release> released_;

public:
  unlocked() {
    if (all_joined) return;
    ++outside;
    released_.emplace();
  }
  unlocked(unlocked const&) = delete;
  unlocked& operator=(unlocked const&) = delete;
  ~unlocked() {
    if (!released_) return;
    released_.reset();
    --outside;
    outside.notify_all();
  }
};

nb::object interned(char const* name) {
  nb::object text = nb::steal(PyUnicode_InternFromString(name));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

// Names of methods, made once and never destroyed: the interpreter may end before this library does.
struct method_names {
  nb::object set_running = interned("set_running_or_notify_cancel");
  nb::object set_result = interned("set_result");
  nb::object set_exception = interned("set_exception");
};

method_names const& names() {
  static method_names const* const made = new method_names;
  return *made;
}

nb::object checked(PyObject* result) {
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

[[noreturn]] void raise(PyObject* type, char const* text) {
  PyErr_SetString(type, text);
  throw nb::python_error();
}

nb::object broken_error() {
  return nb::module_::import_("concurrent.futures.thread")
      .attr("BrokenThreadPool")("A thread initializer failed, the thread pool is not usable anymore");
}

// An exception that no caller is left to see is printed, as CPython prints those of destructors.
template<class F>
void unraisable(nb::handle context, F&& f) noexcept {
  try {
    std::forward<F>(f)();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(context);
  }
}

void execute(queued_call const& c) {
  PyObject* const future = c.future.ptr();
  nb::object const may_run = checked(PyObject_CallMethodNoArgs(future, names().set_running.ptr()));
  if (may_run.is(Py_False)) return; // cancelled
  nb::object const result = nb::steal(PyObject_Call(c.function.ptr(), c.arguments.ptr(), c.keywords.ptr()));
  if (result.is_valid()) {
    checked(PyObject_CallMethodOneArg(future, names().set_result.ptr(), result.ptr()));
    return;
  }
  nb::python_error const raised;
  checked(PyObject_CallMethodOneArg(future, names().set_exception.ptr(), raised.value().ptr()));
}

// Ends a call that no thread can run, because the initializer has failed.
void refuse(queued_call const& c) noexcept {
  unraisable(c.future, [&] {
    if (nb::cast<bool>(c.future.attr("set_running_or_notify_cancel")()))
      c.future.attr("set_exception")(broken_error());
  });
}

void cancel(queued_call const& c) noexcept {
  unraisable(c.future, [&] { // the second call wakes those that wait for the future
    if (nb::cast<bool>(c.future.attr("cancel")())) c.future.attr("set_running_or_notify_cancel")();
  });
}

} // namespace

// A task of the pool that runs calls. The pool may drop it, if C++ code discards the pool's work.
class runner {
  call_queue* queue_;
  std::optional<queued_call> first_;

public:
  explicit runner(call_queue& q, std::optional<queued_call> first = std::nullopt) noexcept
      : queue_(&q)
      , first_(std::move(first)) {
    q.inside_.fetch_add(1, std::memory_order_relaxed); // join() sees it: both have the interpreter's lock
  }
  runner(runner&& other) noexcept
      : queue_(std::exchange(other.queue_, nullptr))
      , first_(std::exchange(other.first_, std::nullopt)) {}
  runner& operator=(runner&&) = delete;
  ~runner() {
    if (queue_ == nullptr) return;
    entry const inside(*queue_);
    queue_->lose_runner(first_);
    first_.reset();
  }
  void disarm() noexcept { std::exchange(queue_, nullptr)->inside_.fetch_sub(1, std::memory_order_relaxed); }
  void operator()() {
    entry const inside(*queue_);
    std::exchange(queue_, nullptr)->run(std::exchange(first_, std::nullopt));
  }

private:
  // Holds the interpreter's lock. The interpreter does not end before the lock has been given back
  // (call_queue::join).
  class entry {
    struct counted {
      std::atomic<unsigned>& runners;
      ~counted() {
        // Pairs with the loads in join(), because the thread touches nothing of Python afterwards.
        runners.fetch_sub(1, std::memory_order_release);
        runners.notify_all();
      }
    } count_;
    std::optional<nb::gil_scoped_acquire> lock_;

  public:
    explicit entry(call_queue& q)
        : count_{q.inside_} {
      attach_this_thread();
      lock_.emplace();
    }
    entry(entry const&) = delete;
    entry& operator=(entry const&) = delete;
  };
};

call_queue::call_queue() = default;
call_queue::~call_queue() = default;

call_queue& call_queue::make(unsigned workers, std::string name, nb::object on_start, nb::object on_exit) {
  if (program_ends) raise(PyExc_RuntimeError, at_end);
  sweep();
  auto* const made = new call_queue;
  made->limit_ = workers;
  made->on_start_ = std::move(on_start);
  made->on_exit_ = std::move(on_exit);
  try {
    pool_options options;
    options.workers(workers)
        .name(std::move(name))
        .search_time(std::chrono::microseconds(0)) // Python's own part of a call is longer than a wake
        .on_start([made](unsigned number) { made->begin_thread(number); })
        .on_exit([made](unsigned number) { made->end_thread(number); });
    unlocked const without_lock; // threads take the lock as they start
    made->own_ = std::make_unique<pool>(std::move(options));
    made->pool_ = made->own_.get();
  } catch (...) {
    delete made;
    throw;
  }
  {
    std::scoped_lock const lock(all_mutex);
    all.push_back(made);
  }
  if (program_ends) { // close_all() sets this, then reads the list: it may not have seen this queue
    made->close();
    made->join();
    raise(PyExc_RuntimeError, at_end);
  }
  return *made;
}

call_queue& call_queue::global() {
  static call_queue* const made = [] {
    auto* const q = new call_queue;
    q->pool_ = &pool::global();
    q->limit_ = std::max(1U, q->pool_->size());
    std::scoped_lock const lock(all_mutex);
    all.push_back(q);
    return q;
  }();
  return *made;
}

void call_queue::submit(queued_call next) {
  bool is_closed, needs_runner = false;
  {
    std::scoped_lock const lock(mutex_);
    is_closed = broken_ || closed_ || program_ends;
    if (!is_closed) {
      needs_runner = runners_ < limit_;
      if (needs_runner)
        ++runners_;
      else
        calls_.push_back(std::move(next));
    }
  }
  if (is_closed) {
    if (is_broken()) {
      nb::object const error = broken_error();
      PyErr_SetObject(error.type().ptr(), error.ptr());
      throw nb::python_error();
    }
    raise(PyExc_RuntimeError, program_ends ? "cannot schedule new futures after interpreter shutdown"
                                           : "cannot schedule new futures after shutdown");
  }
  if (needs_runner) start_runner(std::move(next));
}

void call_queue::start_runner(queued_call first) {
  runner next(*this, std::move(first)); // its destructor takes the runner back if the pool throws
  try {
    if (pool_->try_enqueue(std::move(next))) return;
    unlocked const without_lock; // the pool is full: a worker may need the lock to make room
    pool_->enqueue(std::move(next));
  } catch (cancelled const&) {
    raise(PyExc_RuntimeError, "cannot schedule new futures: C++ code has shut the pool down");
  }
}

void call_queue::run(std::optional<queued_call> next) {
  auto const end_of_turn = steady_clock::now() + turn;
  if (next && is_broken()) {
    refuse(*next);
    next.reset();
  }
  if (!next) next = take();
  while (next) {
    unraisable(next->future, [&] { execute(*next); });
    next.reset(); // before the next one is taken: destructors run here
    if (steady_clock::now() >= end_of_turn && give_way()) return;
    next = take();
  }
}

// Queues another runner in the caller's place, if other tasks wait.
bool call_queue::give_way() {
  if (pool_->pending() == 0) return false;
  runner next(*this);
  try {
    if (pool_->try_enqueue(std::move(next))) return true;
  } catch (std::bad_alloc const&) { // goes on, too
  }
  next.disarm();
  return false;
}

// The next call; nothing, if the caller is a runner no more.
std::optional<queued_call> call_queue::take() {
  {
    std::scoped_lock const lock(mutex_);
    if (!calls_.empty()) {
      std::optional<queued_call> next(std::move(calls_.front()));
      calls_.pop_front();
      return next;
    }
    if (--runners_ != 0) return std::nullopt;
  }
  tell_idle();
  return std::nullopt;
}

// A runner was dropped. Its call is cancelled, and so are those that none is left to run.
void call_queue::lose_runner(std::optional<queued_call> const& first) {
  if (first) cancel(*first);
  bool is_last;
  {
    std::scoped_lock const lock(mutex_);
    is_last = --runners_ == 0;
  }
  if (!is_last) return;
  cancel_queued();
  tell_idle();
}

std::vector<queued_call> call_queue::take_all() {
  std::scoped_lock const lock(mutex_);
  std::vector<queued_call> taken(std::make_move_iterator(calls_.begin()),
                                 std::make_move_iterator(calls_.end()));
  calls_.clear();
  return taken;
}

void call_queue::cancel_queued() {
  for (queued_call const& c : take_all()) cancel(c);
}

void call_queue::break_now() {
  {
    std::scoped_lock const lock(mutex_);
    broken_ = true;
  }
  for (queued_call const& c : take_all()) refuse(c);
}

bool call_queue::is_broken() {
  std::scoped_lock const lock(mutex_);
  return broken_;
}

void call_queue::when_idle(nb::object f) {
  {
    std::scoped_lock const lock(mutex_);
    if (runners_ != 0) {
      idle_callbacks_.push_back(std::move(f));
      return;
    }
  }
  f();
}

// No runner is left: the caller was the last one, or has found none.
void call_queue::tell_idle() {
  std::vector<nb::object> callbacks;
  bool ends;
  {
    std::scoped_lock const lock(mutex_);
    ends = closed_ && runners_ == 0;
    callbacks.swap(idle_callbacks_);
  }
  if (ends && own_ != nullptr) {
    unlocked const without_lock;
    own_->request_shutdown(drain);
  }
  for (nb::object const& f : callbacks) unraisable(f, [&] { f(); });
}

void call_queue::close() {
  bool is_idle;
  {
    std::scoped_lock const lock(mutex_);
    closed_ = true;
    is_idle = runners_ == 0;
  }
  if (is_idle) tell_idle();
}

void call_queue::join() {
  unlocked const without_lock; // the threads take the lock as they end
  if (own_ != nullptr)
    own_->shutdown(drain);
  else
    while (unsigned const left = inside_.load(std::memory_order_acquire)) inside_.wait(left);
}

void call_queue::abandon() {
  close(); // first: another thread deletes an abandoned queue
  {
    std::scoped_lock const lock(mutex_);
    abandoned_ = true;
  }
  sweep();
}

void call_queue::begin_thread(unsigned number) {
  attach_this_thread();
  nb::gil_scoped_acquire const locked;
  {
    std::scoped_lock const lock(mutex_);
    ++started_;
  }
  threads_.fetch_add(1, std::memory_order_relaxed); // sweep() sees it: both have the interpreter's lock
  if (!on_start_.is_valid()) return;                // in the child after a fork: the pool has ended
  unraisable(on_start_, [&] {
    if (!nb::cast<bool>(on_start_(number))) break_now();
  });
}

void call_queue::end_thread(unsigned number) {
  {
    nb::gil_scoped_acquire const locked;
    if (on_exit_.is_valid()) unraisable(on_exit_, [&] { on_exit_(number); });
    nb::object start, exit; // destroyed when the mutex is free
    std::scoped_lock const lock(mutex_);
    // They may refer to the executor, and Python's collector does not see such a cycle.
    if (--started_ == 0 && closed_) {
      start = std::move(on_start_);
      exit = std::move(on_exit_);
    }
  }
  detach_this_thread(); // may destroy any object, and so call sweep()
  // Pairs with the load in sweep(), because that deletes the queue.
  threads_.fetch_sub(1, std::memory_order_release);
}

// Deletes the abandoned queues that have ended. The thread that drops an executor is often one of its own,
// and may not wait for itself.
void call_queue::sweep() {
  if (program_ends) return; // join_all() goes through them without the interpreter's lock
  std::vector<call_queue*> ended;
  {
    std::scoped_lock const lock(all_mutex);
    auto const first = std::partition(all.begin(), all.end(), [](call_queue* q) {
      std::scoped_lock const lock_of_queue(q->mutex_);
      return !q->abandoned_ || q->own_ == nullptr || q->runners_ != 0 ||
             q->threads_.load(std::memory_order_acquire) != 0;
    });
    ended.assign(first, all.end());
    all.erase(first, all.end());
  }
  for (call_queue* const q : ended) {
    {
      unlocked const without_lock; // waits for the threads to end
      q->own_.reset();
    }
    delete q;
  }
}

unsigned call_queue::close_all(nb::object const& f) {
  program_ends = true;
  std::vector<call_queue*> queues;
  {
    std::scoped_lock const lock(all_mutex);
    queues = all;
  }
  for (call_queue* const q : queues) {
    q->when_idle(f);
    q->close();
  }
  return static_cast<unsigned>(queues.size());
}

void call_queue::cancel_all() {
  std::vector<call_queue*> queues;
  {
    std::scoped_lock const lock(all_mutex);
    queues = all;
  }
  for (call_queue* const q : queues) q->cancel_queued();
}

void call_queue::join_all() {
  std::vector<call_queue*> queues;
  {
    std::scoped_lock const lock(all_mutex);
    queues = all;
  }
  for (call_queue* const q : queues) q->join();
  while (outside != 0) {
    nb::gil_scoped_release const waiting;
    while (unsigned const left = outside) outside.wait(left);
  }
  all_joined = true;
  stop_detaching_threads();
}

void call_queue::reset_all_in_child() {
  // Destroyed last: the end of an executor that a call refers to changes `all`.
  std::vector<std::vector<queued_call>> calls;
  std::vector<std::vector<nb::object>> callbacks;
  outside = 0; // the thread that forks has the lock
  for (call_queue* const q : all) {
    calls.push_back(q->take_all());
    callbacks.push_back(std::exchange(q->idle_callbacks_, {}));
    q->runners_ = 0;
    q->inside_ = 0;
    q->started_ = 0;
    q->threads_ = 0;
  }
}

} // namespace rubato::python
