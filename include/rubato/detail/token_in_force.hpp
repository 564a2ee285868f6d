// Whose stop requests reach what a thread runs.
#pragma once

#include "rubato/detail/latent_chain.hpp"

namespace rubato::detail {

/// While it lives, what the chain's owner forks stops with this token. Null: with the one around.
class token_in_force {
  latent_chain& chain_;
  token_frame frame_;
  bool at_base_ = false;

public:
  token_in_force(latent_chain& c, void* token) noexcept
      : chain_(c)
      , frame_{token} {
    if (token == nullptr) return;
    at_base_ = chain_.enter_base(token);
    if (!at_base_) chain_.enter(frame_);
  }
  token_in_force(token_in_force const&) = delete;
  token_in_force& operator=(token_in_force const&) = delete;
  ~token_in_force() {
    if (at_base_)
      chain_.leave_base();
    else if (frame_.token != nullptr)
      chain_.leave();
  }
};

} // namespace rubato::detail
