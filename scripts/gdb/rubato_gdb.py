"""Rubato in gdb: `source rubato_gdb.py`. See docs/debugging.md.

Prints futures, shared futures, tasks, channels and pools by what they are and not by what they are made of, and adds the
command `rubato bt`, the backtrace of coroutines. Reads memory only, so core dumps do as well.
"""

import re

import gdb
import gdb.printing

OUTERMOST = 8  # detail::no_frame, in place of the frame that awaits a coroutine
PROMISE_AT = 16  # in a frame, as both compilers lay it out: behind the addresses of its resume and destroy functions
DONE = 2  # what the word of a completion is when the result is there
EXCEPTION_HEADER = 112  # of __cxa_exception, which lies before the object thrown, on the 64-bit targets


def atomic(value):
    """The value of a std::atomic, or of a type of base/atomics.hpp."""
    for name in ("_M_i", "_M_b", "__a_", "_M_p", "value_"):
        if any(f.name == name for f in value.type.strip_typedefs().fields()):
            inner = value[name]
            return atomic(inner) if inner.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT else inner
    for f in value.type.strip_typedefs().fields():
        if f.is_base_class:
            return atomic(value[f])
    return value


def pointer_at(address):
    word = gdb.lookup_type("unsigned long").pointer()
    return int(gdb.Value(address).cast(word).dereference())


def string_at(address):
    return gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string()


def symbol_at(address):
    """The function at an address, without what compilers add to the parts of a coroutine. None: there is none."""
    if address == 0:
        return None
    try:
        text = gdb.execute("info symbol %#x" % address, to_string=True)
    except gdb.error:
        return None
    if text.startswith("No symbol"):
        return None
    text = re.sub(r"( \+ \d+)? in section .*", "", text).strip()
    text = re.sub(r"\s*(\[clone [^]]*\]|[\[(]?\.(resume|actor|cleanup|destroy)[.\w]*[\])]?)", "", text)
    # g++ names the part that is resumed by its frame: f(f(int)::_Z1fi.Frame*)
    frame = re.match(r"^(.*?)\((\1\(.*\)[^)]*)::_Z\w*\.Frame ?\*\)$", text)
    return frame.group(2) if frame else text


def coroutine_name(frame):
    return symbol_at(pointer_at(frame)) or "coroutine at %#x" % frame


def dynamic(value):
    """A polymorphic object as what it is, if that is known."""
    try:
        return value.cast(value.dynamic_type)
    except gdb.error:
        return value


def virtual_functions(pointer):
    """The symbol of the table that an object refers to, which names its class."""
    return symbol_at(pointer_at(int(pointer))) or ""


def as_class(pointer, kind):
    """A copy of an object. To dereference the pointer, gdb looks up the object's class, and warns if that has the name of a
    lambda in it."""
    return gdb.Value(bytes(gdb.selected_inferior().read_memory(int(pointer), kind.sizeof)), kind)


def as_its_class(pointer):
    """The object as what it is, if the debugger knows that: not if a lambda is a part of the class's name."""
    if re.search(r"lambda|\$_", virtual_functions(pointer)):
        return as_class(pointer, pointer.type.strip_typedefs().target().unqualified())
    return dynamic(pointer.dereference())


def described_exception(pointer):
    """The type and, if it can be read, the text of an exception."""
    thrown = int(pointer["_M_exception_object"])
    if thrown == 0:
        return "nothing"
    try:
        name = string_at(pointer_at(pointer_at(thrown - EXCEPTION_HEADER) + 8)).lstrip("*")
        try:
            demangled = gdb.execute("demangle _ZTI" + name, to_string=True).strip()
            name = demangled.replace("typeinfo for ", "") if "typeinfo for" in demangled else name
        except gdb.error:
            pass
    except (gdb.error, UnicodeDecodeError):
        return "an exception"
    texts = ("std::runtime_error", "std::logic_error", "std::invalid_argument", "std::out_of_range", "std::domain_error",
             "std::length_error", "std::range_error", "std::overflow_error", "std::underflow_error", "std::future_error",
             "std::system_error")
    if name in texts or derives_from(name, texts[:2]):
        try:  # a reference-counted string behind the address of the virtual functions
            return '%s("%s")' % (name, string_at(pointer_at(thrown + 8)))
        except (gdb.error, UnicodeDecodeError):
            pass
    return name


def derives_from(name, bases):
    try:
        fields = gdb.lookup_type(name).fields()
    except (gdb.error, TypeError):
        return False
    return any(f.is_base_class and (f.type.name in bases or derives_from(f.type.name, bases)) for f in fields)


# Results


def state_of(future):
    """The state that a future refers to; null: none."""
    return future["state_"]["object_"]


def is_done(state):
    return int(atomic(state["waiters"]["word_"])) == DONE


def with_result(pointer, result):
    """The state as the class that has the storage of the result, by the future's own type if the debugger knows that."""
    base = "future_state" if as_coroutine_task(pointer) is None else "coroutine_task"
    try:
        name = "rubato::detail::state_of<%s, rubato::detail::%s>" % (result.strip_typedefs(), base)
        return as_class(pointer, gdb.lookup_type(name))
    except gdb.error:
        return as_its_class(pointer)


def described_state(pointer, result=None):
    """`result`: the type of the result, if it is known."""
    if int(pointer) == 0:
        return "no state"
    state = as_class(pointer, gdb.lookup_type("rubato::detail::future_state"))
    if is_done(state):
        holds = str(state["holds"]).split("::")[-1]
        whole = as_its_class(pointer) if result is None else with_result(pointer, result)
        try:
            if holds == "error":
                return "failed with " + described_exception(whole["storage_"]["error"])
            if holds == "value":
                value = whole["storage_"]["value"]
                return "ready" if "monostate" in str(value.type.strip_typedefs()) else "ready with %s" % described_value(value)
        except (gdb.error, gdb.MemoryError):
            pass
        return "ready" if holds != "none" else "ready, its result has been taken"
    by = int(atomic(state["begun_by"])) if has_field(state, "begun_by") else 0
    coroutine_task = as_coroutine_task(pointer)
    if coroutine_task is not None and int(frame_in(coroutine_task["leaf_"])) != 0:
        return "pending, suspended in " + coroutine_name(frame_in(coroutine_task["leaf_"]))
    return "pending, begun by thread %d" % (by - 1) if by else "pending"


def described_value(value):
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return str(value)
    return value.format_string(max_elements=10)


def has_field(value, name):
    try:
        value[name]
        return True
    except gdb.error:
        return False


class FuturePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "%s: %s" % (short(self.value.type),
                           described_state(state_of(self.value), self.value.type.strip_typedefs().template_argument(0)))


def short(kind):
    return re.sub(r"\brubato::", "", str(kind.strip_typedefs().unqualified()))


# Coroutines


def frame_in(handle):
    return int(handle["_M_fr_ptr"]) if has_field(handle, "_M_fr_ptr") else int(handle["__handle_"])


class TaskPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        frame = frame_in(self.value["frame_"]["frame_"])
        if frame == 0:
            return short(self.value.type) + ": empty"
        return "%s: %s, not awaited" % (short(self.value.type), coroutine_name(frame))


def awaited_by(frame):
    """The frame that a coroutine which has begun returns to, 0 if it is the outermost."""
    promise = gdb.Value(frame + PROMISE_AT).cast(gdb.lookup_type("rubato::detail::own_promise").pointer())
    word = int(promise.dereference()["awaited_by_"])
    return 0 if word == OUTERMOST else word


# What the library's own frames stand for.
OWN_FRAMES = (("forked_group", "when_all()"), ("race_tasks", "when_any() or when_first()"), ("race_for_some", "when_some()"),
              ("run_until", "with_deadline()"), ("run_shielded", "shielded()"))


def frame_name(frame):
    name = coroutine_name(frame)
    for part, text in OWN_FRAMES:
        if "rubato::detail::" + part in name:
            return text
    return name


def as_coroutine_task(state):
    """The line of execution that brings a result, if a coroutine does; else null."""
    if int(state) == 0:
        return None
    whole = as_its_class(state)
    if has_field(whole, "leaf_"):
        return whole
    # What it is may be known to the library alone. That is not so of its first base classes.
    if re.search(r"group_member_task|coroutine_job|child_job|started_job|unnamed_coroutine", virtual_functions(state)):
        return as_class(state, gdb.lookup_type("rubato::detail::coroutine_task"))
    return None


def parent_of(coroutine_task):
    """The address of the coroutine whose when_all(), when_any() or the like this line of execution belongs to. None: it does not,
    or that is unknown."""
    try:
        group = atomic(coroutine_task["of_"]["batch"]).cast(gdb.lookup_type("rubato::detail::group_base").pointer())
        # Its table of functions tells what it is.
        functions = symbol_at(int(group["f_"]["coroutine"])) or ""
        kind = "forked_group" if "detail::forked_group::" in functions else "queued_group"
        group = group.cast(gdb.lookup_type("rubato::detail::" + kind).pointer())
        return int(group["of_"] if kind == "forked_group" else group["of_"].address)
    except gdb.error:
        return None


def described_wait(coroutine_task):
    """What a suspended coroutine waits for, and the state of that, if it is one."""
    word = int(atomic(coroutine_task["waits_on_"]["word_"])) & ~1
    if word == 0:
        return "ready, or awaits something foreign", None
    wait = gdb.Value(word).cast(gdb.lookup_type("rubato::detail::wait_operation").pointer()).dereference()
    whole = dynamic(wait)
    name = short(whole.type)
    awaiter = re.match(r"detail::future_awaiter<((?:shared_)?future<.*>) *>$", name)
    if awaiter:
        return "awaits a " + awaiter.group(1).strip(), state_of(whole["future_"])
    # The words of src/pool/dump.cpp.
    known = (("sleep_awaiter", "sleeps"), ("tick_awaiter", "awaits a tick of an interval"), ("io_wait", "awaits a descriptor"),
             ("end_of_work", "awaits the end of a task"), ("scope_joiner", "awaits the end of a scope"),
             ("wait_for_rest", "awaits its when_all()"), ("wait_for_all", "awaits the tasks that lost"),
             ("send_awaiter", "awaits room in a channel"), ("receive_awaiter", "awaits a value of a channel"),
             ("news_awaiter", "awaits news of a watch or a broadcast_channel"), ("gate::awaiter", "awaits an event or a latch"),
             ("group_race", "awaits the first of several"), ("race_wait", "awaits the first of several operations"),
             ("permit", "awaits a lock or a semaphore"), ("graph_awaiter", "awaits a run of a task_graph"),
             ("pipeline_awaiter", "awaits a pipeline"), ("async_barrier", "awaits the others at a barrier"))
    for part, text in known:
        if part in name:
            return text, None
    return "awaits " + name.replace("detail::", ""), None


def node_of(coroutine_task):
    """The name of the node of a task_graph whose work this line of execution is. None: it is none's, or has no name."""
    word = int(atomic(coroutine_task["waiters"]["word_"])) & ~1
    if word in (0, DONE):
        return None
    try:
        waiter = gdb.Value(word).cast(gdb.lookup_type("rubato::detail::started_work").pointer())
        if "started_job" not in (symbol_at(int(waiter["fire"])) or ""):
            return None
        name = int(waiter["told"].referenced_value()["name"])
        return string_at(name) if name != 0 else None
    except (gdb.error, gdb.MemoryError, UnicodeDecodeError):
        return None


def print_coroutine(address, coroutine_task, seen, indent=""):
    """The coroutines of one line of execution, whose state is there, innermost first; then those of what it awaits."""
    if address in seen:
        print(indent + "  ... the line of execution at %#x, printed above" % address)
        return
    seen.add(address)
    frame = frame_in(coroutine_task["leaf_"])
    if frame == 0:
        print(indent + "  runs, or has not begun")
        return
    number = 0
    while frame != 0:
        print("%s  #%d %s" % (indent, number, frame_name(frame)))
        frame = awaited_by(frame)
        number += 1
    node = node_of(coroutine_task)
    if node is not None:
        print('%s  #%d the node "%s" of a task_graph' % (indent, number, node))
    parent = parent_of(coroutine_task)
    if parent is not None:
        print("%s  #%d when_all(), when_any() or the like of the coroutine at %#x" % (indent, number, parent))
    text, state = described_wait(coroutine_task)
    print(indent + "  " + text)
    if state is not None:
        print_state(state, seen, indent + "    ")


def print_state(state, seen, indent):
    coroutine_task = as_coroutine_task(state)
    if coroutine_task is not None and not is_done(coroutine_task):
        print("%sof the coroutine at %#x:" % (indent, int(state)))
        print_coroutine(int(state), coroutine_task, seen, indent)
    else:
        print(indent + described_state(state))


# Pools


def pools():
    """All that there are. Needs debug information of the library."""
    entry = gdb.lookup_type("rubato::detail::registered_pool").pointer()
    try:
        first = gdb.parse_and_eval("'rubato::detail::pools_of_process'.pools_.first_")
    except gdb.error:  # the type of that variable is not known
        registry = gdb.parse_and_eval("(char*)&'rubato::detail::pools_of_process'")
        first = (registry + 8).cast(entry.pointer()).dereference()
    while int(first) != 0:
        yield first["core_"].referenced_value()
        first = first["next_"]


def member(value, base):
    """The base class whose name begins so, wherever it is in the object."""
    for f in value.type.strip_typedefs().fields():
        part = value[f] if f.is_base_class or f.name == "_M_t" else None
        if part is None:
            continue
        found = part if str(part.type).startswith("std::" + base) else member(part, base)
        if found is not None:
            return found
    return None


def elements(unique_pointer, count):
    """Of a std::unique_ptr to an array of atomics."""
    first = member(unique_pointer, "_Head_base<0")["_M_head_impl"]
    for i in range(count):
        yield atomic((first + i).dereference())


def queued(core):
    """How many tasks are in the queues."""
    n = 0
    node = core["queues"]["injector_"]["head_"]
    stub = int(core["queues"]["injector_"]["stub_"].address)
    while int(node) != 0:
        n += int(node) != stub
        node = atomic(node.dereference()["next"])
    by_priority = int(atomic(core["queues"]["by_priority_"]["queued_"]))
    n += (by_priority >> 32) + (by_priority & 0xffffffff)
    for seat in elements(core["queues"]["seats_"], int(atomic(core["queues"]["known_"]))):
        if int(seat) == 0:
            continue
        s = seat.dereference()
        n += int(atomic(s["queue"]["tail_"])) - int(atomic(s["queue"]["head_"]))
        n += int(atomic(s["lifo_slot"])) != 0
        n += int(atomic(s["inbox"]["pushed_"])) - int(atomic(s["inbox"]["popped_"]))
    return n


def threads(core):
    """The records of all threads that there ever were."""
    records = core["threads"]["records"]
    groups = records["groups_"]
    for i in range(int(atomic(records["known_"]))):
        yield atomic((groups + i // 64).dereference()["records"]["_M_elems"][i % 64]).dereference()


def pool_name(core):
    text = core["options_"]["name_"]
    return string_at(int(text["_M_dataplus"]["_M_p"])) if has_field(text, "_M_dataplus") else str(text).strip('"')


def described_pool(core):
    return 'pool "%s": size %d, queued %d, threads %d' % (pool_name(core), int(atomic(core["life"]["target_"])), queued(core),
                                                              int(atomic(core["threads"]["made_"])))


class PoolPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        core = atomic(self.value["core_"])
        if int(core) == 0:
            return "pool: not started"
        try:
            whole = core.cast(gdb.lookup_type("rubato::detail::pool_core").pointer()).dereference()
            return described_pool(whole)
        except gdb.error as error:
            return "pool: started; the library has no debug information (%s)" % error


def owned_tasks(core):
    """The work that waits in a pool: coroutines that have been suspended, continuations."""
    stripes = core["owned"]["stripes_"]["_M_elems"]
    kind = gdb.lookup_type("rubato::detail::future_state").pointer()
    for i in range(stripes.type.strip_typedefs().range()[1] + 1):
        lists = stripes[i]["tasks"]["_M_elems"]
        for asked in range(lists.type.strip_typedefs().range()[1] + 1):
            r = lists[asked]["first_"]
            while int(r) != 0:
                yield gdb.Value(int(r) - int(r["offset_"])).cast(kind)
                r = r["next_"]


class ChannelPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        core = self.value["core_"]
        parts = ["%d of %d" % (int(core["front_"]["size_"]) + int(core["back_"]["size_"]), int(core["capacity_"]))]
        for side in ("senders", "receivers"):
            n = 0
            node = core[side + "_"]["nodes_"]["first_"]
            while int(node) != 0:
                n += 1
                node = node["next_"]
            if n != 0:
                parts.append("%d waiting %s" % (n, side))
        if bool(core["closed_"]):
            parts.append("closed")
        return "%s: %s" % (short(self.value.type), ", ".join(parts))


# Commands


class Rubato(gdb.Command):
    """Commands about Rubato: see "help rubato bt"."""

    def __init__(self):
        super().__init__("rubato", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Backtrace(gdb.Command):
    """rubato bt: the suspended coroutines of all pools; rubato bt EXPRESSION: those behind a future or a task.

For each, the functions from where it is suspended to the one that was spawned, what it waits for, and, if that is the
result of another coroutine, that one."""

    def __init__(self):
        super().__init__("rubato bt", gdb.COMMAND_STACK, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        try:
            if argument:
                self.of(gdb.parse_and_eval(argument))
            else:
                self.of_all()
        except gdb.error as error:
            raise gdb.GdbError("rubato bt: %s: the library has to be compiled with debug information (-g)" % error)

    @staticmethod
    def of(value):
        if has_field(value, "state_"):
            print_state(state_of(value), set(), "")
        elif has_field(value, "frame_"):
            print(TaskPrinter(value).to_string())
        else:
            raise gdb.GdbError("rubato bt takes a future, a shared_future or a task")

    @staticmethod
    def of_all():
        seen = set()
        for core in pools():
            print(described_pool(core))
            for t in threads(core):
                if int(t["node"]) != 0:
                    print('thread %d runs the node "%s" of a task_graph' % (int(t["index"]), string_at(int(t["node"]))))
            for state in owned_tasks(core):
                coroutine_task = as_coroutine_task(state)
                if coroutine_task is None or is_done(coroutine_task) or int(state) in seen:
                    continue
                print("coroutine at %#x:" % int(state))
                print_coroutine(int(state), coroutine_task, seen)


def printers():
    all_of_them = gdb.printing.RegexpCollectionPrettyPrinter("rubato")
    all_of_them.add_printer("future", r"^rubato::(shared_)?future<.*>$", FuturePrinter)
    all_of_them.add_printer("task", r"^rubato::task<.*>$", TaskPrinter)
    all_of_them.add_printer("channel", r"^rubato::channel<.*>$", ChannelPrinter)
    all_of_them.add_printer("pool", r"^rubato::pool$", PoolPrinter)
    return all_of_them


gdb.printing.register_pretty_printer(None, printers(), replace=True)
Rubato()
Backtrace()
