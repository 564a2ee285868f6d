#include "command.hpp"

#include <rubato/rubato.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>

namespace build {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

class descriptor {
  int number_;

public:
  descriptor(int number, const char* what)
      : number_(number) {
    if (number < 0) fail(errno, what);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(number_); }
  int number() const { return number_; }
};

/// Where the child's descriptors lead, and what it does not inherit.
class surroundings {
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};

public:
  explicit surroundings(int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    // A group of its own: it can be ended with all that it has started, and Ctrl-C reaches this program
    // alone.
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
  }
  surroundings(const surroundings&) = delete;
  surroundings& operator=(const surroundings&) = delete;
  ~surroundings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  pid_t start(const char* commands) const {
    const char* const words[] = {"sh", "-ec", commands, nullptr};
    pid_t process = 0;
    const int error =
        ::posix_spawn(&process, "/bin/sh", &files_, &attributes_, const_cast<char* const*>(words), environ);
    if (error != 0) fail(error, "posix_spawn");
    return process;
  }
};

/// A shell that runs. Its output goes to a file in memory: nothing has to read it meanwhile.
class child {
  descriptor output_{::memfd_create("output", MFD_CLOEXEC), "memfd_create"};
  pid_t process_;
  int pidfd_;
  bool reaped_ = false; // its number may already be another process's

public:
  explicit child(const char* commands)
      : process_(surroundings(output_.number()).start(commands))
      , pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0))) {
    if (pidfd_ >= 0) return;
    const int error = errno;
    end();
    fail(error, "pidfd_open");
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    end();
    rubato::forget(pidfd_);
    ::close(pidfd_);
  }
  int pidfd() const { return pidfd_; }
  /// exited() has told of its end.
  void reaped() { reaped_ = true; }
  /// Sends it to the whole group.
  void send(int signal) const {
    if (!reaped_) ::kill(-process_, signal);
  }

  /// What has been written so far.
  std::string output() const {
    std::string text(static_cast<std::size_t>(::lseek(output_.number(), 0, SEEK_END)), '\0');
    const ssize_t size = ::pread(output_.number(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

private:
  void end() const {
    send(SIGKILL);
    if (!reaped_) ::waitpid(process_, nullptr, 0);
  }
};

} // namespace

rubato::task<command_end> run_commands(const std::string& commands) {
  child shell(commands.c_str());
  command_end end;
  bool stopped = false;
  try {
    end.status = co_await rubato::exited(shell.pidfd());
    shell.reaped();
  } catch (const rubato::cancelled&) {
    stopped = true; // no await in a handler
  }
  if (stopped) {
    shell.send(SIGTERM);
    static_cast<void>(co_await rubato::shielded(rubato::readable(shell.pidfd(), 2s))); // its end, not reaped
    throw rubato::cancelled();
  }
  end.output = shell.output();
  co_return end;
}

} // namespace build
