// The awaitables of mpi.hpp, which includes this behind what they need. docs/design/mpi.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/mpi/mpi_poller.hpp"
#include "rubato/detail/mpi/mpi_wait.hpp"

#include <mpi.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Throws unless any thread may call MPI.
inline void require_mpi_threads() {
  static constinit relaxed<bool> is_known; // it stays true
  if (is_known.get()) return;
  int is_there = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_there);
  if (is_there == 0) throw mpi::error(MPI_ERR_OTHER, "rubato: MPI is not initialised: make an mpi::session");
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE)
    throw mpi::error(MPI_ERR_OTHER,
                     "rubato: MPI was initialised without MPI_THREAD_MULTIPLE: make an mpi::session, or call "
                     "MPI_Init_thread()");
  is_known.set(true);
}

/// Waits for one request.
class [[nodiscard("co_await it")]] mpi_done_one final : public mpi_wait {
  MPI_Request* request_;
  MPI_Status status_{};
  int code_ = MPI_SUCCESS;

  [[nodiscard]] std::size_t number() const noexcept override { return 1; }
  [[nodiscard]] MPI_Request const* pending(std::size_t /*i*/) const noexcept override { return request_; }
  [[nodiscard]] bool end(std::size_t /*i*/, MPI_Request now, MPI_Status const& s,
                         int code) noexcept override {
    *request_ = now;
    status_ = s;
    code_ = code;
    return true;
  }

public:
  explicit mpi_done_one(MPI_Request& r) noexcept
      : request_(&r) {}
  /// Only before it is awaited.
  mpi_done_one(mpi_done_one&& other) noexcept
      : mpi_done_one(*other.request_) {}
  mpi_done_one& operator=(mpi_done_one&&) = delete;
  ~mpi_done_one() { retire(); }

  [[nodiscard]] bool await_ready() {
    require_mpi_threads();
    int has_ended = 0;
    code_ = MPI_Test(request_, &has_ended, &status_);
    return code_ != MPI_SUCCESS || has_ended != 0;
  }
  MPI_Status await_resume() {
    retire();
    if (code_ != MPI_SUCCESS) throw mpi::error(code_);
    return status_;
  }
};

/// Waits for all of several requests.
class [[nodiscard("co_await it")]] mpi_done_all final : public mpi_wait {
  std::span<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_; ///< MPI_ERR_PENDING marks those that have not ended
  std::size_t left_ = 0;

  [[nodiscard]] std::size_t number() const noexcept override { return requests_.size(); }
  [[nodiscard]] MPI_Request const* pending(std::size_t i) const noexcept override {
    return statuses_[i].MPI_ERROR == MPI_ERR_PENDING ? &requests_[i] : nullptr;
  }
  [[nodiscard]] bool end(std::size_t i, MPI_Request now, MPI_Status const& s, int code) noexcept override {
    requests_[i] = now;
    statuses_[i] = s;
    statuses_[i].MPI_ERROR = code;
    return --left_ == 0;
  }

public:
  explicit mpi_done_all(std::span<MPI_Request> r) noexcept
      : requests_(r) {}
  /// Only before it is awaited.
  mpi_done_all(mpi_done_all&& other) noexcept
      : mpi_done_all(other.requests_) {}
  mpi_done_all& operator=(mpi_done_all&&) = delete;
  ~mpi_done_all() { retire(); }

  [[nodiscard]] bool await_ready() {
    require_mpi_threads();
    statuses_.resize(requests_.size());
    for (std::size_t i = 0; i != requests_.size(); ++i) {
      int has_ended = 0;
      int const code = MPI_Test(&requests_[i], &has_ended, &statuses_[i]);
      if (code == MPI_SUCCESS && has_ended == 0) ++left_;
      statuses_[i].MPI_ERROR = code == MPI_SUCCESS && has_ended == 0 ? MPI_ERR_PENDING : code;
    }
    return left_ == 0;
  }
  std::vector<MPI_Status> await_resume() {
    retire();
    for (MPI_Status const& s : statuses_)
      if (s.MPI_ERROR != MPI_SUCCESS) throw mpi::error(s.MPI_ERROR);
    return std::move(statuses_);
  }
};

/// Waits for at least one of several requests.
class [[nodiscard("co_await it")]] mpi_first_done final : public mpi_wait {
  std::span<MPI_Request> requests_;
  std::vector<mpi::ended_request> ended_; ///< with room for all

  [[nodiscard]] std::size_t number() const noexcept override { return requests_.size(); }
  [[nodiscard]] MPI_Request const* pending(std::size_t i) const noexcept override {
    return requests_[i] != MPI_REQUEST_NULL ? &requests_[i] : nullptr;
  }
  [[nodiscard]] bool end(std::size_t i, MPI_Request now, MPI_Status const& s, int code) noexcept override {
    requests_[i] = now;
    ended_.push_back({i, s});
    ended_.back().status.MPI_ERROR = code;
    return true;
  }

public:
  explicit mpi_first_done(std::span<MPI_Request> r) noexcept
      : requests_(r) {}
  /// Only before it is awaited.
  mpi_first_done(mpi_first_done&& other) noexcept
      : mpi_first_done(other.requests_) {}
  mpi_first_done& operator=(mpi_first_done&&) = delete;
  ~mpi_first_done() { retire(); }

  [[nodiscard]] bool await_ready() {
    require_mpi_threads();
    ended_.reserve(requests_.size());
    std::vector<int> indices(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    int number_ended = 0;
    int const code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &number_ended,
                                  indices.data(), statuses.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) throw mpi::error(code);
    if (number_ended == MPI_UNDEFINED) return true; // none is active
    for (std::size_t k = 0; k != static_cast<std::size_t>(number_ended); ++k) {
      auto const i = static_cast<std::size_t>(indices[k]);
      static_cast<void>(
          end(i, requests_[i], statuses[k], code == MPI_SUCCESS ? MPI_SUCCESS : statuses[k].MPI_ERROR));
    }
    return number_ended != 0;
  }
  std::vector<mpi::ended_request> await_resume() {
    retire();
    return std::move(ended_);
  }
};

} // namespace rubato::detail
