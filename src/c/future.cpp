#include "rubato/c/future.h"

#include "c/access.hpp"
#include "rubato/future.hpp"

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

struct rb_future {
  rubato::shared_future<void*> value;
  rubato::canceller work; ///< a shared_future has none of its own
};

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

template<class Spawn>
int make_future(rb_future** made, Spawn spawned) noexcept {
  return without_exceptions([&] {
    auto result = std::make_unique<rb_future>(); // before anything is queued
    rubato::future<void*> f = spawned();
    result->work = f.canceller();
    result->value = std::move(f);
    *made = result.release();
  });
}

} // namespace

int rb_spawn(rb_pool* pool, void* (*f)(void* arg), void* arg, rb_future** made) noexcept {
  return make_future(made, [&] { return of_c(pool).spawn([f, arg] { return f(arg); }); });
}

int rb_future_then(rb_future* future, void* (*f)(void* arg, void* result), void* arg,
                   rb_future** made) noexcept {
  return make_future(made,
                     [&] { return future->value.then([f, arg](void* const& got) { return f(arg, got); }); });
}

int rb_future_wait(rb_future* future, void** result) noexcept {
  return without_exceptions([&] {
    void* const got = future->value.get();
    if (result != nullptr) *result = got;
  });
}

int rb_future_wait_for(rb_future* future, int64_t timeout_ns, void** result) noexcept {
  int late = 0;
  int const error = without_exceptions([&] {
    if (!future->value.wait_for(std::chrono::nanoseconds(timeout_ns)))
      late = -ETIMEDOUT;
    else if (void* const got = future->value.get(); result != nullptr)
      *result = got;
  });
  return late != 0 ? late : error;
}

int rb_future_is_ready(rb_future const* future) noexcept { return future->value.ready() ? 1 : 0; }

void rb_future_cancel(rb_future* future) noexcept { future->work.cancel(); }

void rb_future_free(rb_future* future) noexcept { delete future; }
