#include "rubato/live.hpp"

#include "trace/reader/live/live_session.hpp"

namespace rubato {

live_view::live_view(live_options const& options)
    : session_(std::make_unique<detail::live_session>(options, std::string())) {}
live_view::~live_view() {
  if (!session_->is_of_this_process()) static_cast<void>(session_.release());
}

std::string live_view::url() const { return session_->url(); }

} // namespace rubato
