// An extension of its own that runs its work on the pools of the package rubato.
#include <Python.h>

#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>

#include <cstdint>
#include <functional>
#include <ranges>

namespace {

// Waits without the interpreter's lock: tasks of the pool may need it.
class unlocked {
  PyThreadState* const state_ = PyEval_SaveThread();

public:
  unlocked() = default;
  unlocked(unlocked const&) = delete;
  unlocked& operator=(unlocked const&) = delete;
  ~unlocked() { PyEval_RestoreThread(state_); }
};

rubato::pool* pool_of(PyObject* capsule) {
  return static_cast<rubato::pool*>(PyCapsule_GetPointer(capsule, "rubato::pool 0.1"));
}

// is_global(capsule): whether this library's global pool is that of the package.
PyObject* is_global(PyObject*, PyObject* capsule) {
  rubato::pool const* const pool = pool_of(capsule);
  return pool == nullptr ? nullptr : PyBool_FromLong(pool == &rubato::pool::global());
}

// runs_tasks(capsule): whether a task that C++ queues runs on a thread of that pool.
PyObject* runs_tasks(PyObject*, PyObject* capsule) {
  rubato::pool* const pool = pool_of(capsule);
  if (pool == nullptr) return nullptr;
  bool is_there = false;
  {
    unlocked const waiting;
    is_there = pool->spawn([] { return rubato::current_pool(); }).get() == pool;
  }
  return PyBool_FromLong(is_there);
}

// sum(capsule, n): 0 + 1 + ... + n - 1, by a loop of C++ in the pool.
PyObject* sum(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  Py_ssize_t n = 0;
  if (!PyArg_ParseTuple(arguments, "On", &capsule, &n)) return nullptr;
  rubato::pool* const pool = pool_of(capsule);
  if (pool == nullptr) return nullptr;
  std::int64_t total = 0;
  {
    unlocked const waiting;
    auto const numbers = std::views::iota(std::int64_t{0}, std::int64_t{n});
    total = rubato::reduce(*pool, numbers, std::int64_t{0}, std::plus<>(), [](std::int64_t i) { return i; });
  }
  return PyLong_FromLongLong(total);
}

// enqueue(capsule, f): queues a task of C++ that calls f.
PyObject* enqueue(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *f = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &capsule, &f)) return nullptr;
  rubato::pool* const pool = pool_of(capsule);
  if (pool == nullptr) return nullptr;
  Py_INCREF(f);
  pool->enqueue([f] {
    PyGILState_STATE const state = PyGILState_Ensure();
    PyObject* const result = PyObject_CallNoArgs(f);
    if (result == nullptr) PyErr_WriteUnraisable(f);
    Py_XDECREF(result);
    Py_DECREF(f);
    PyGILState_Release(state);
  });
  Py_RETURN_NONE;
}

template<class F>
PyObject* on_pool(PyObject* capsule, F f) {
  rubato::pool* const pool = pool_of(capsule);
  if (pool == nullptr) return nullptr;
  {
    unlocked const waiting;
    f(*pool);
  }
  Py_RETURN_NONE;
}

// discard(capsule): drops what the pool has not begun. Does not wait.
PyObject* discard(PyObject*, PyObject* capsule) {
  return on_pool(capsule, [](rubato::pool& p) { p.request_shutdown(rubato::discard); });
}

// shut_down(capsule): ends the pool.
PyObject* shut_down(PyObject*, PyObject* capsule) {
  return on_pool(capsule, [](rubato::pool& p) { p.shutdown(); });
}

// limit_global(n): the global pool queues n tasks at most.
PyObject* limit_global(PyObject*, PyObject* number) {
  std::size_t const n = PyLong_AsSize_t(number);
  if (PyErr_Occurred() != nullptr) return nullptr;
  rubato::pool::configure_global(rubato::pool_options().workers(2).max_queued(n));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"is_global", is_global, METH_O, nullptr},
                         {"runs_tasks", runs_tasks, METH_O, nullptr},
                         {"sum", sum, METH_VARARGS, nullptr},
                         {"enqueue", enqueue, METH_VARARGS, nullptr},
                         {"discard", discard, METH_O, nullptr},
                         {"shut_down", shut_down, METH_O, nullptr},
                         {"limit_global", limit_global, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "second", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_second() { return PyModule_Create(&definition); }
