// What rubato/_pool.py calls. The reference of it is rubato/_rubato.pyi.
#include "attached_thread.hpp"
#include "call_queue.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

namespace rubato::python {
namespace {

using namespace nb::literals;

// The executor's end of a queue.
class handle {
  call_queue* queue_;

public:
  explicit handle(call_queue& q) noexcept
      : queue_(&q) {}
  handle(handle const&) = delete;
  handle& operator=(handle const&) = delete;
  ~handle() { queue_->abandon(); }
  call_queue* operator->() const noexcept { return queue_; }
};

// A capsule with the pool's address, which keeps `owner` alive.
nb::object capsule_of(handle const& h, nb::object const& owner) {
  if (!RUBATO_PYTHON_IS_SHARED)
    throw std::runtime_error(
        "this module contains a copy of Rubato of its own, whose pools no other code can use: "
        "build it with a shared library");
  PyObject* const made =
      PyCapsule_New(&h->home(), "rubato::pool " RUBATO_PYTHON_VERSION, [](PyObject* capsule) {
        Py_DECREF(static_cast<PyObject*>(PyCapsule_GetContext(capsule)));
      });
  if (made == nullptr) throw nb::python_error();
  PyCapsule_SetContext(made, owner.inc_ref().ptr());
  return nb::steal(made);
}

NB_MODULE(_rubato, m) {
  let_forks_wait_for_attachments();
  nb::set_leak_warnings(false); // a pool may live until the interpreter ends
  nb::class_<handle>(m, "CallQueue")
      .def("__init__",
           [](handle* self, unsigned workers, std::string name, nb::object on_start, nb::object on_exit) {
             new (self)
                 handle(call_queue::make(workers, std::move(name), std::move(on_start), std::move(on_exit)));
           })
      .def(
          "submit",
          [](handle const& h, nb::object future, nb::object function, nb::tuple arguments,
             nb::dict keywords) {
            h->submit({std::move(future), std::move(function), std::move(arguments), std::move(keywords)});
          },
          "future"_a, "function"_a.none(), "arguments"_a, "keywords"_a)
      .def("close", [](handle const& h) { h->close(); })
      .def("cancel_queued", [](handle const& h) { h->cancel_queued(); })
      .def("when_idle", [](handle const& h, nb::object f) { h->when_idle(std::move(f)); })
      .def("join", [](handle const& h) { h->join(); })
      .def("capsule", &capsule_of)
      .def_prop_ro("limit", [](handle const& h) { return h->limit(); })
      .def_prop_ro("is_broken", [](handle const& h) { return h->is_broken(); })
      .def_prop_ro("is_running_here", [](handle const& h) { return h->is_running_here(); });
  m.def("global_queue", [] { return new handle(call_queue::global()); }, nb::rv_policy::take_ownership);
  m.def("close_all", &call_queue::close_all);
  m.def("cancel_all", &call_queue::cancel_all);
  m.def("join_all", &call_queue::join_all);
  m.def("reset_all_in_child", &call_queue::reset_all_in_child);
}

} // namespace
} // namespace rubato::python
