#include "rubato/c/scope.h"

#include "c/access.hpp"
#include "rubato/detail/scope/scope_core.hpp"

#include <memory>
#include <new>

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

void open(rb_scope* scope, pool_core& core, int order) noexcept {
  auto const lifetime =
      (order & RB_SCOPE_UNSTOPPED) != 0 ? scope_core::lifetime::free : scope_core::lifetime::enclosed;
  auto* const made = ::new (static_cast<void*>(scope->opaque)) scope_core(core, *current, lifetime);
  if ((order & RB_SCOPE_LIFO) != 0) made->begin_newest_first();
}

void run_child(scope_child& base, thread_context* runner) noexcept { // else the scope would keep an exception
  auto* const node = node_of<rb_child>(base);
  node->run(node, runner != nullptr ? to_c(runner) : nullptr);
}

} // namespace

void rb_scope_begin(rb_worker* worker, rb_scope* scope, int order) noexcept {
  open(scope, *of_c(worker).core, order);
}

int rb_scope_begin_on(rb_pool* pool, rb_scope* scope, int order) noexcept {
  return without_exceptions([&] { open(scope, *core_of(of_c(pool)), order); });
}

void rb_scope_spawn(rb_scope* scope, rb_child* node) noexcept {
  static_assert(sizeof(scope_child) <= sizeof node->opaque);
  kept_in<scope_core>(scope).spawn(::new (static_cast<void*>(node->opaque)) scope_child(&run_child));
}

void rb_scope_wait(rb_scope* scope) noexcept {
  auto& core = kept_in<scope_core>(scope);
  if (current->core == &core.core())
    core.wait(*current);
  else
    wait_until_ended(core);
}

int rb_scope_end(rb_scope* scope) noexcept {
  rb_scope_wait(scope);
  auto& core = kept_in<scope_core>(scope);
  int const cut = core.was_cut() ? 1 : 0;
  std::destroy_at(&core);
  return cut;
}

void rb_scope_stop(rb_scope* scope) noexcept { kept_in<scope_core>(scope).request_stop(); }
