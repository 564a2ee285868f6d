/* The C interface as a C program uses it. Exit code 0: all is right. */
#include <rubato/c/inline.h>
#include <rubato/c/rubato.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int failures = 0;

static void expect(int right, char const* what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

struct sum {
  rb_job job;
  int const* first;
  int n;
  long result;
};

static long add(rb_worker* worker, int const* first, int n);

static void add_stolen(rb_job* job, rb_worker* thief) {
  struct sum* s = (struct sum*)job;
  s->result = add(thief, s->first, s->n);
}

static long add(rb_worker* worker, int const* first, int n) {
  struct sum right;
  long left;
  int how;
  if (n <= 8) {
    long total = 0;
    for (int i = 0; i != n; ++i) total += first[i];
    return total;
  }
  right.job.run = add_stolen;
  right.first = first + n / 2;
  right.n = n - n / 2;
  how = rb_push_inline(worker, &right.job);
  left = add(worker, first, n / 2);
  if (how == RB_NOT_PUSHED || rb_pop_inline(worker, &right.job, how)) return left + add(worker, right.first, right.n);
  return left + right.result;
}

struct child {
  rb_child node;
  atomic_long* total;
  long value;
};

static void run_child(rb_child* node, rb_worker* worker) {
  struct child* c = (struct child*)node;
  if (worker != NULL) atomic_fetch_add(c->total, c->value);
  free(c);
}

static void square(void* arg, rb_worker* worker, uint64_t lo, uint64_t hi) {
  int* values = arg;
  (void)worker;
  for (; lo != hi; ++lo) values[lo] *= values[lo];
}

static void on_worker(void* arg, rb_worker* worker) {
  enum { n = 10000 };
  int* values = malloc(n * sizeof *values);
  atomic_long total = 0;
  rb_scope scope;
  (void)arg;
  for (int i = 0; i != n; ++i) values[i] = i % 7;
  expect(add(worker, values, n) == 29994, "the sum");
  rb_scope_begin(worker, &scope, RB_SCOPE_LIFO);
  for (int i = 0; i != 100; ++i) {
    struct child* c = malloc(sizeof *c);
    c->node.run = run_child;
    c->total = &total;
    c->value = i;
    rb_scope_spawn(&scope, &c->node);
  }
  expect(rb_scope_end(&scope) == 0 && total == 4950, "the sum of the children");
  expect(rb_for_range(NULL, n, 0, square, values) == 0 && values[6] == 36, "the squares");
  free(values);
}

static void* answer(void* arg) {
  *(int*)arg = 42;
  return arg;
}

int main(void) {
  rb_pool_options options = RB_POOL_OPTIONS_INIT;
  rb_pool* pool;
  rb_future* future;
  void* result;
  int number = 0;
  options.workers = 2;
  if (rb_abi_version() != RB_ABI_VERSION || rb_inline_version() != RB_INLINE_VERSION) return 2;
  if (rb_pool_new(&options, &pool) != 0) return 3;
  expect(rb_call(pool, on_worker, NULL) == 0, "the call");
  expect(rb_spawn(pool, answer, &number, &future) == 0, "the spawn");
  expect(rb_future_wait(future, &result) == 0 && result == &number && number == 42, "the answer");
  rb_future_free(future);
  expect(rb_pool_free(pool) == 0, "the end");
  return failures != 0;
}
