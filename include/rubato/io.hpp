// Descriptors, sockets, signals and child processes: waiting for the kernel in coroutines.
//
//   #include <rubato/io.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> receive(rubato::udp_socket& s) {
//     char text[8];
//     auto const d = co_await s.receive_from(text);
//     std::printf("%.*s\n", int(d.size), text); // -> ping
//   }
//
//   int main() {
//     rubato::udp_socket a(rubato::address::loopback(0)), b(rubato::address::loopback(0));
//     rubato::block_on(b.send_to("ping", a.local_address()));
//     rubato::block_on(receive(a));
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/address.hpp"    // IWYU pragma: export
#include "rubato/buffered.hpp"   // IWYU pragma: export
#include "rubato/readiness.hpp"  // IWYU pragma: export
#include "rubato/signal_set.hpp" // IWYU pragma: export
#include "rubato/socket.hpp"     // IWYU pragma: export
