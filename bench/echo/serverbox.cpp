// The echo server of the benchmark, on serverbox's IOCore: THREADS threads.
#include <mg/aio/IOCore.h>
#include <mg/aio/TCPServer.h>
#include <mg/aio/TCPSocket.h>
#include <mg/aio/TCPSocketSubscription.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

constexpr std::uint64_t most = 16 * 1024;

class session final : public mg::aio::TCPSocketSubscription {
  mg::aio::TCPSocket* const socket_;
  std::array<char, most> bytes_{};

  ~session() = default;
  void OnRecv(mg::net::BufferReadStream& from) override {
    while (std::uint64_t const n = std::min(from.GetReadSize(), most)) {
      from.ReadData(bytes_.data(), n);
      socket_->SendCopy(bytes_.data(), n);
    }
    socket_->Recv(most);
  }
  void OnClose() override {
    socket_->Delete();
    delete this;
  }

public:
  session(mg::aio::IOCore& core, mg::net::Socket accepted)
      : socket_(new mg::aio::TCPSocket(core)) {
    socket_->Open({});
    socket_->PostRecv(most);
    socket_->PostWrap(accepted, this);
  }
};

class acceptor final : public mg::aio::TCPServerSubscription {
  mg::aio::IOCore& core_;

  void OnAccept(mg::net::Socket accepted, mg::net::Host const&) override { new session(core_, accepted); }
  void OnClose() override {}

public:
  explicit acceptor(mg::aio::IOCore& core)
      : core_(core) {}
};

} // namespace

int main(int argc, char** argv) {
  mg::aio::IOCore core;
  core.Start(argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 1);
  acceptor accepts(core);
  mg::box::Error::Ptr error;
  mg::aio::TCPServer::Ptr server = mg::aio::TCPServer::NewShared(core);
  if (!server->Bind(mg::net::HostMakeLocalIPV4(0), error)) return 1;
  std::uint16_t const port = server->GetPort();
  if (!server->Listen(mg::net::SocketMaxBacklog(), &accepts, error)) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  for (;;) ::pause(); // until the process is killed
}
