#include "explore/memory.hpp"

#include <algorithm>
#include <cstdlib>

namespace rubato_test {

namespace {

// Room for 2^31 stores at the end, and for 32 that halve one gap.
constexpr stamp gap = stamp{1} << 32U;

bool acquires(std::memory_order o) {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
bool releases(std::memory_order o) {
  return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
bool sequential(std::memory_order o) { return o == std::memory_order_seq_cst; }

std::string numbered(char letter, unsigned n) { return std::string(1, letter).append(std::to_string(n)); }

} // namespace

void front::raise(std::size_t location, stamp s) {
  if (location >= at_.size()) at_.resize(location + 1, 0);
  at_[location] = std::max(at_[location], s);
}

void front::join(front const& other) {
  if (other.at_.size() > at_.size()) at_.resize(other.at_.size(), 0);
  for (std::size_t i = 0; i != other.at_.size(); ++i) at_[i] = std::max(at_[i], other.at_[i]);
}

void view::join(view const& other) {
  seen.join(other.seen);
  for (unsigned t = 0; t != max_threads; ++t) clock[t] = std::max(clock[t], other.clock[t]);
}

void view::clear() noexcept {
  seen.clear();
  clock.fill(0);
}

void memory::reset(unsigned history) {
  history_ = std::max(history, 2U);
  for (thread_state& t : threads_) {
    t.now.clear();
    t.pending.clear();
    t.fenced.clear();
    t.behind.clear();
    t.marked.clear();
    t.delivered.clear();
  }
  used_ = 0;
  if (table_.empty()) table_.resize(256);
  ++generation_;
  sc_.clear();
}

bool memory::catch_up(unsigned thread) {
  thread_state& t = threads_[thread];
  bool const any = !t.behind.empty();
  for (id const object : t.behind) {
    record const& o = objects_[object];
    t.now.seen.raise(object, o.messages[o.count - 1].at);
  }
  t.behind.clear();
  return any;
}

// Objects

memory::entry& memory::find(void const* address) {
  std::size_t const mask = table_.size() - 1;
  std::size_t i = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U >> 32U) & mask;
  while (table_[i].generation == generation_ && table_[i].address != address) i = (i + 1) & mask;
  return table_[i];
}

memory::id memory::lookup(void const* address) const {
  entry const& e = const_cast<memory*>(this)->find(address);
  return e.generation == generation_ ? e.object : nowhere;
}

memory::id memory::create(unsigned thread, void const* address, std::uint64_t bits) {
  tick(thread);
  id const object = used_++;
  if (objects_.size() < used_) objects_.resize(used_);
  if (std::size_t{used_} * 2 > table_.size()) {
    table_.assign(table_.size() * 2, {});
    for (id i = 0; i != object; ++i) find(objects_[i].address) = {objects_[i].address, generation_, i};
  }
  record& o = objects_[object];
  o.address = address;
  o.alive = true;
  o.count = 0;
  o.writer = thread;
  o.written = threads_[thread].now.clock[thread];
  o.touched.fill(0);
  message& m = insert(o, 0);
  m.value = bits;
  m.carried.clear();
  m.modified = false;
  threads_[thread].now.seen.raise(object, m.at);
  find(address) = {address, generation_, object};
  return object;
}

void memory::unordered(unsigned thread, record const& o, unsigned other, char const* what) const {
  fail(verdict::race, numbered('T', thread) + what + name(o.address) + ", which " + numbered('T', other) +
                          " has used or made, and nothing orders the two");
}

void memory::end(unsigned thread, record& o) {
  clock_vector const& clock = threads_[thread].now.clock;
  for (unsigned t = 0; t != max_threads; ++t)
    if (o.touched[t] > clock[t]) unordered(thread, o, t, " ends ");
  o.alive = false;
}

void memory::destroy(unsigned thread, void const* address) {
  id const object = lookup(address);
  // Unknown: made before the execution began. Dead: its memory was given back with destroy_range().
  if (object != nowhere && objects_[object].alive) end(thread, objects_[object]);
}

void memory::destroy_range(unsigned thread, void const* begin, std::size_t size) {
  auto const first = reinterpret_cast<std::uintptr_t>(begin);
  for (id i = 0; i != used_; ++i) {
    auto const at = reinterpret_cast<std::uintptr_t>(objects_[i].address);
    if (at >= first && at - first < size && lookup(objects_[i].address) == i && objects_[i].alive)
      end(thread, objects_[i]);
  }
}

memory::id memory::access(unsigned thread, void const* address) {
  tick(thread);
  id const object = lookup(address);
  if (object == nowhere)
    fail(verdict::dead_frame,
         numbered('T', thread) + " touches an object that was not made in this execution");
  record& o = objects_[object];
  if (!o.alive)
    fail(verdict::dead_frame,
         numbered('T', thread) + " touches a dead frame: " + name(address) + " has ended");
  clock_vector const& clock = threads_[thread].now.clock;
  if (o.written > clock[o.writer]) unordered(thread, o, o.writer, " uses ");
  o.touched[thread] = clock[thread];
  return object;
}

std::string memory::name(void const* address) const {
  id const object = lookup(address);
  return object == nowhere ? "v?" : numbered('v', object);
}

void memory::plain_write(unsigned thread, id object) {
  record& o = objects_[object];
  clock_vector const& clock = threads_[thread].now.clock;
  for (unsigned t = 0; t != max_threads; ++t)
    if (o.touched[t] > clock[t]) unordered(thread, o, t, " writes ");
  o.writer = thread;
  o.written = clock[thread];
}

// Atomics

unsigned memory::readable(unsigned thread, id object, std::memory_order order) const {
  record const& o = objects_[object];
  stamp least = threads_[thread].now.seen[object];
  // Only its own location: a sequentially consistent access is not a fence.
  if (sequential(order)) least = std::max(least, sc_[object]);
  unsigned n = 1;
  while (n != o.count && o.messages[o.count - n].at > least) ++n;
  return n;
}

bool memory::room(id object, unsigned number) const {
  record const& o = objects_[object];
  if (number == 0) return true;
  if (number + 1 == o.count && o.count == history_) return false; // the oldest would have to go
  message const& before = o.messages[o.count - 1 - number];
  message const& after = o.messages[o.count - number];
  return !after.modified && after.at - before.at > 1;
}

std::uint64_t memory::value(id object, unsigned number) const {
  record const& o = objects_[object];
  return o.messages[o.count - 1 - number].value;
}

std::uint64_t memory::read(unsigned thread, id object, unsigned number, std::memory_order order) {
  thread_state& t = threads_[thread];
  record const& o = objects_[object];
  message const& m = o.messages[o.count - 1 - number];
  t.now.seen.raise(object, m.at);
  if (sequential(order)) sc_.raise(object, m.at);
  (acquires(order) ? t.now : t.pending).join(m.carried);
  if (number != 0) t.behind.push_back(object);
  return m.value;
}

/// Makes room for a write at this index. The oldest write is forgotten if there are too many.
memory::message& memory::insert(record& o, unsigned position) {
  stamp const before = position == 0 ? 0 : o.messages[position - 1].at;
  stamp const at = position == o.count ? before + gap : before + (o.messages[position].at - before) / 2;
  if (o.count == history_) {
    std::rotate(o.messages.begin(), o.messages.begin() + 1, o.messages.begin() + o.count);
    --position;
    --o.count;
  }
  if (o.messages.size() == o.count) o.messages.emplace_back();
  std::rotate(o.messages.begin() + position, o.messages.begin() + o.count, o.messages.begin() + o.count + 1);
  ++o.count;
  o.messages[position].at = at;
  return o.messages[position];
}

void memory::publish(unsigned thread, id object, message& m, std::memory_order order) {
  thread_state& t = threads_[thread];
  t.now.seen.raise(object, m.at);
  if (sequential(order)) sc_.raise(object, m.at);
  m.carried.join(releases(order) ? t.now : t.fenced);
}

void memory::write(unsigned thread, id object, unsigned number, std::uint64_t bits, std::memory_order order) {
  record& o = objects_[object];
  message& m = insert(o, o.count - number);
  m.value = bits;
  m.modified = false;
  m.carried.clear();
  publish(thread, object, m, order);
}

void memory::modify(unsigned thread, id object, unsigned number, std::uint64_t bits,
                    std::memory_order order) {
  record& o = objects_[object];
  message& m = insert(o, o.count - number);
  m.value = bits;
  m.modified = true;
  // A read-modify-write goes on with the release sequence of the write that it read.
  m.carried = (&m - 1)->carried;
  publish(thread, object, m, order);
}

// Fences

void memory::full_fence(unsigned thread) {
  thread_state& t = threads_[thread];
  t.now.join(t.pending);
  t.now.seen.join(sc_);
  sc_.join(t.now.seen);
  t.fenced = t.now;
}

void memory::light_barrier(unsigned thread) {
  thread_state& t = threads_[thread];
  t.now.seen.join(t.delivered);
  t.marked = t.now.seen;
}

void memory::remote_fence(unsigned thread) {
  thread_state& t = threads_[thread];
  sc_.join(t.marked);
  t.delivered = sc_;
}

} // namespace rubato_test
