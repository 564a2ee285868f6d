#include "trace/reader/output/perfetto.hpp"

#include "trace/reader/output/protobuf.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rubato::detail {

namespace {

// The numbers of fields in perfetto's protos/perfetto/trace: trace.proto, trace_packet.proto,
// track_event/*.proto, interned_data/interned_data.proto.
namespace trace_field {
constexpr unsigned packet = 1;
}
namespace packet_field {
constexpr unsigned timestamp = 8, sequence = 10, track_event = 11, interned = 12, flags = 13,
                   track_descriptor = 60;
}
namespace event_field {
constexpr unsigned category = 3, annotation = 4, type = 9, name = 10, track = 11, name_text = 23, flows = 47,
                   ended_flows = 48;
}
namespace descriptor_field {
constexpr unsigned uuid = 1, process = 3, thread = 4;
}
namespace interned_field {
constexpr unsigned categories = 1, names = 2, annotation_names = 3, number = 1, text = 2;
}
namespace annotation_field {
constexpr unsigned name = 1, integer = 4;
}
constexpr std::uint64_t slice_begin = 1, slice_end = 2, instant = 3;
constexpr std::uint64_t cleared = 1, needs_state = 2; // sequence_flags
constexpr std::uint64_t own_sequence = 1;
constexpr std::uint64_t queued_iid = 1, merged_iid = 2; // of annotations

class perfetto_writer {
  timeline const& t_;
  std::string out_;

  void packet(protobuf_message const& p) {
    protobuf_message trace;
    trace.message(trace_field::packet, p);
    out_ += trace.bytes();
  }
  [[nodiscard]] static std::uint64_t uuid_of(std::size_t on) noexcept { return on + 2; } // 1: the process
  [[nodiscard]] static std::uint64_t iid_of(std::uint32_t name) noexcept { return name + 1; }

  void write_tracks() {
    for (std::size_t i = 0; i <= t_.tracks.size(); ++i) { // the process first
      protobuf_message of, descriptor, p;
      of.number(1, t_.process);
      if (i == 0) {
        of.text(6, "rubato");
        descriptor.number(descriptor_field::uuid, 1);
        descriptor.message(descriptor_field::process, of);
      } else {
        of.number(2, t_.tracks[i - 1].thread);
        of.text(5, t_.tracks[i - 1].name);
        descriptor.number(descriptor_field::uuid, uuid_of(i - 1));
        descriptor.message(descriptor_field::thread, of);
      }
      p.number(packet_field::sequence, own_sequence);
      p.message(packet_field::track_descriptor, descriptor);
      packet(p);
    }
  }

  void write_names() {
    protobuf_message interned, p;
    auto const add = [&interned](unsigned list, std::uint64_t iid, std::string_view text) {
      protobuf_message one;
      one.number(interned_field::number, iid);
      one.text(interned_field::text, text);
      interned.message(list, one);
    };
    for (std::uint32_t i = 0; i != t_.names.size(); ++i)
      add(interned_field::names, iid_of(i), t_.names[i].empty() ? "(no name)" : t_.names[i]);
    for (unsigned k = 0; k <= static_cast<unsigned>(slice_kind::woken); ++k)
      add(interned_field::categories, k + 1, word_of(static_cast<slice_kind>(k)));
    add(interned_field::annotation_names, queued_iid, "queued_ns");
    add(interned_field::annotation_names, merged_iid, "merged");
    p.number(packet_field::sequence, own_sequence);
    p.number(packet_field::flags, cleared | needs_state);
    p.message(packet_field::interned, interned);
    packet(p);
  }

  void write_event(std::int64_t at, protobuf_message const& event) {
    protobuf_message p;
    p.number(packet_field::timestamp,
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, t_.start_ns + at)));
    p.number(packet_field::sequence, own_sequence);
    p.number(packet_field::flags, needs_state);
    p.message(packet_field::track_event, event);
    packet(p);
  }

  static void annotate(protobuf_message& event, std::uint64_t iid, std::int64_t value) {
    protobuf_message a;
    a.number(annotation_field::name, iid);
    a.number(annotation_field::integer, static_cast<std::uint64_t>(value));
    event.message(event_field::annotation, a);
  }

  void write_begin(std::size_t on, slice const& s, std::vector<std::uint64_t> const& flows) {
    protobuf_message e;
    e.number(event_field::type, slice_begin);
    e.number(event_field::track, uuid_of(on));
    e.number(event_field::category, static_cast<std::uint64_t>(s.kind) + 1);
    if (s.merged > 1)
      e.text(event_field::name_text, std::to_string(s.merged) + " x " + t_.names[s.name]);
    else
      e.number(event_field::name, iid_of(s.name));
    if (s.queued >= 0) annotate(e, queued_iid, s.queued);
    if (s.merged > 1) annotate(e, merged_iid, s.merged);
    for (std::uint64_t const f : flows) e.fixed64(event_field::ended_flows, f);
    write_event(s.begin, e);
  }
  void write_end(std::size_t on, std::int64_t at) {
    protobuf_message e;
    e.number(event_field::type, slice_end);
    e.number(event_field::track, uuid_of(on));
    write_event(at, e);
  }

  /// The slices of a thread nest: an outer one ends after those in it have.
  void write_slices(std::size_t on) {
    std::vector<std::pair<cause, std::uint64_t>> causes; // with the flow's number
    for (std::size_t i = 0; i != t_.causes.size(); ++i)
      if (t_.causes[i].on_track == on && t_.causes[i].by_track != on)
        causes.emplace_back(t_.causes[i], i + 1);
    std::ranges::sort(causes, {}, [](auto const& c) { return std::pair(c.first.to, c.second); });
    std::size_t next_cause = 0;
    std::vector<std::int64_t> open;
    for (slice const& s : t_.tracks[on].slices) {
      while (!open.empty() && open.back() <= s.begin) {
        write_end(on, open.back());
        open.pop_back();
      }
      std::vector<std::uint64_t> flows;
      while (next_cause != causes.size() && causes[next_cause].first.to <= s.begin) {
        if (causes[next_cause].first.to == s.begin) flows.push_back(causes[next_cause].second);
        ++next_cause;
      }
      write_begin(on, s, flows);
      open.push_back(open.empty() ? s.end : std::min(s.end, open.back()));
    }
    for (; !open.empty(); open.pop_back()) write_end(on, open.back());
  }

  /// A flow begins at an instant, so that its arrow leaves from where the cause was.
  void write_causes() {
    for (std::size_t i = 0; i != t_.causes.size(); ++i) {
      cause const& c = t_.causes[i];
      if (c.by_track == c.on_track) continue;
      protobuf_message e;
      e.number(event_field::type, instant);
      e.number(event_field::track, uuid_of(c.by_track));
      e.text(event_field::name_text, "gives work to a thread");
      e.fixed64(event_field::flows, i + 1);
      write_event(c.at, e);
    }
  }

  template<class Moment>
  void write_moments(std::vector<Moment> const& all) {
    for (Moment const& m : all) {
      protobuf_message e;
      e.number(event_field::type, instant);
      e.number(event_field::track, uuid_of(m.on_track));
      e.text(event_field::name_text, text_of(m));
      write_event(m.at, e);
    }
  }

public:
  explicit perfetto_writer(timeline const& t)
      : t_(t) {}
  [[nodiscard]] std::string write() && {
    write_tracks();
    write_names();
    for (std::size_t i = 0; i != t_.tracks.size(); ++i) write_slices(i);
    write_causes();
    write_moments(t_.reliefs);
    write_moments(t_.unseated);
    return std::move(out_);
  }
};

} // namespace

std::string to_perfetto(timeline const& t) { return perfetto_writer(t).write(); }

} // namespace rubato::detail
