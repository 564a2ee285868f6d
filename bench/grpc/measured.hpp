// What the kinds of bench/grpc/ share: servers, time per call, and how it is printed.
#pragma once

#include "echo.grpc.pb.h"

#include "../harness/measure.hpp"
#include "../harness/statistics.hpp"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using rubato_test::echo;
using rubato_test::words;

inline void check(grpc::Status const& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "%s\n", s.error_message().c_str());
  std::exit(1);
}
/// A service at that address, and a client of it.
template<class Service>
struct served_at {
  Service service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<echo::Stub> stub;

  template<class... Args>
  explicit served_at(std::string const& address, Args&... args)
      : service(args...) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    if (server == nullptr) std::exit(1);
    stub = echo::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  ~served_at() {
    server->Shutdown(std::chrono::system_clock::now());
    server->Wait();
  }
};

struct sample {
  double us = 0, cpu_us = 0; ///< per call
};
inline double cpu_us() { return double(cpu_ns()) / 1e3; }
template<class F>
sample measured(int calls, F f) {
  double const cpu = cpu_us();
  auto const begin = std::chrono::steady_clock::now();
  f();
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
  return {took.count() / calls, (cpu_us() - cpu) / calls};
}

inline double median(std::vector<double> v) { return quantile(std::move(v), 0.5); }
inline void print(char const* name, std::vector<sample> const& all, std::vector<sample> const& beside) {
  std::vector<double> us, cpu, ratio, cpu_ratio;
  for (std::size_t i = 0; i != all.size(); ++i) {
    us.push_back(all[i].us);
    cpu.push_back(all[i].cpu_us);
    ratio.push_back(all[i].us / beside[i].us);
    cpu_ratio.push_back(all[i].cpu_us / beside[i].cpu_us);
  }
  auto const [least, most] = std::minmax_element(ratio.begin(), ratio.end());
  std::printf("%-28s %8.1f us %9.0f/s  ratio %.2f (%.2f-%.2f)  CPU %.1f us, ratio %.2f\n", name, median(us),
              1e6 / median(us), median(ratio), *least, *most, median(cpu), median(cpu_ratio));
}

} // namespace bench
