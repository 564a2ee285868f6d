// Callables that do not fit into graphs and pipelines.
#include <rubato/rubato.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

extern rubato::task_graph g;
std::optional<int> source();
rubato::task<> coroutine();

void node_with_an_argument() {
  g.add([](int) {});
  // error: rubato: task_graph::add(f): f must be callable as f(), any number of times
}
void node_of_a_task() {
  g.add("t", coroutine());
  // error: rubato: task_graph::add(t): a task runs once, a node in every run: add a callable that returns the
  // task
}
void node_that_cannot_be_copied() {
  auto const f = [p = std::make_unique<int>(1)] { static_cast<void>(p); };
  g.add(f);
  // error: rubato: task_graph::add(f): f is copied unless it is passed as an rvalue: std::move what cannot be
  // copied
}
void parallel_source() {
  rubato::pipeline(1, rubato::stage(rubato::parallel, source), rubato::stage(rubato::serial, [](int) {}));
  // error: rubato: pipeline(): the first stage, the source, is serial
}
void source_without_an_end() {
  rubato::pipeline(1, rubato::stage(rubato::serial, [] { return 1; }),
                   rubato::stage(rubato::serial, [](int) {}));
  // error: rubato: pipeline(): the first stage, the source, must return a std::optional, which is empty at
  // the end
}
void source_alone() {
  rubato::pipeline(1, rubato::stage(rubato::serial, source));
  // error: rubato: pipeline(): a source and at least one other stage
}
void last_stage_with_a_result() {
  rubato::pipeline(1, rubato::stage(rubato::serial, source),
                   rubato::stage(rubato::serial, [](int n) { return n; }));
  // error: rubato: pipeline(): the last stage must return void
}
void stage_for_another_item() {
  rubato::pipeline(1, rubato::stage(rubato::serial, source), rubato::stage(rubato::serial, [](int*) {}));
  // error: rubato: pipeline(): a stage must be callable as f(item), with the result of the stage before it as
  // an rvalue
}
void stage_behind_void() {
  rubato::pipeline(1, rubato::stage(rubato::serial, source), rubato::stage(rubato::serial, [](int) {}),
                   rubato::stage(rubato::serial, [](int) {}));
  // error: rubato: pipeline(): only the last stage returns void
}
void no_stages() {
  rubato::pipeline(1, source, [](int) {});
  // error: rubato: pipeline(max_in_flight, stage(kind, f), ...): kind is serial_in_order, serial or parallel
}
