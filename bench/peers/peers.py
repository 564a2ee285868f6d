"""The peers, their commits, and how their programs and ours are built for the suite. README.md"""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENTRY = pathlib.Path(__file__).resolve().parent / "suite/rubato"
CHANNEL = ENTRY.parent.parent / "channel"
SEARCH = ENTRY.parent.parent / "uts"
FORK_JOIN = ("fib", "skynet", "nqueens", "matmul")


@dataclasses.dataclass
class Checkout:
    """A repository that the user has cloned, at the commit that the figures are for."""

    name: str
    repository: str
    commit: str

    def refusal(self, folder):
        """Why the folder is not that checkout, or None. A folder of git's own complaints is refused, too."""
        there = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        if there.returncode:
            return f"{folder} is no checkout: {there.stderr.strip()}"
        if there.stdout.strip() != self.commit:
            return f"{folder} is at {there.stdout.strip()}, not at {self.commit}: git -C {folder} checkout {self.commit}"
        changed = subprocess.run(["git", "-C", folder, "status", "--porcelain", "--untracked-files=no"], capture_output=True,
                                 text=True, check=True).stdout
        return f"{folder} has changed files" if changed else None


@dataclasses.dataclass
class Peer(Checkout):
    """A library with programs in the suite, which is compiled from its headers."""

    folder: str  # of its programs, in the suite's folder cpp
    headers: str  # in its checkout
    flags: tuple = ()
    hwloc: str = ""  # the macro that makes it use hwloc
    benchmarks: tuple = FORK_JOIN
    libraries: tuple = ()


SUITE = Checkout("runtime-benchmarks", "github.com/tzcnt/runtime-benchmarks", "5c499a19ced6e142be60024ac80a7cc1f86c009f")

PEERS = {
    "libfork": Peer("libfork", "github.com/ConorWilliams/libfork", "2f359cdab8150c2624bbe1f904a663180ed52109", "libfork",
                    "include", ("-std=gnu++23",), "LF_USE_HWLOC",
                    (*FORK_JOIN, "uts-t1", "uts-t3")),
    "toomanycooks": Peer("TooManyCooks", "github.com/tzcnt/TooManyCooks", "6f18dfd6baeddc8572e754a02efca92ee2a31785",
                         "TooManyCooks", "include", ("-DTMC_PRIORITY_COUNT=1", "-DTMC_TRIVIAL_TASK"), "TMC_USE_HWLOC",
                         (*FORK_JOIN, "channel", "channel-2-1", "channel-1-2", "io_socket_st")),
    "taskflow": Peer("Taskflow", "github.com/taskflow/taskflow", "83f90a279aaab33fd4ce1deed00ca07819cbc8f8", "taskflow",
                     ".", ("-DTF_ENABLE_ATOMIC_NOTIFIER",)),
}
# An installed package: its commit is the version that the package has.
ONETBB = Peer("oneTBB", "github.com/uxlfoundation/oneTBB", "", "tbb", "", libraries=("-ltbb",))

# The names that the suite's CMake files look for, in their order.
ALLOCATORS = {
    "tcmalloc": ("libtcmalloc_minimal.so", "libtcmalloc_minimal.so.4", "libtcmalloc.so", "libtcmalloc.so.4"),
    "mimalloc": ("libmimalloc.so", "libmimalloc.so.2"),
    "jemalloc": ("libjemalloc.so", "libjemalloc.so.2"),
}


class Compiler:
    """The compiler and the flags that all programs share: those of the suite's release builds."""

    def __init__(self, command, allocator, out):
        self.command = [command or shutil.which("clang++-19") or shutil.which("clang++") or "g++"]
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        self.flags = ["-std=gnu++20", "-O3", "-DNDEBUG", "-march=native", "-pthread"]
        self.allocator, self.libraries = self._find_allocator(allocator)
        self.has_hwloc = self._can_link("#include <hwloc.h>\nint main() { return hwloc_get_api_version() == 0; }", ["-lhwloc"])

    def version(self):
        return subprocess.run([*self.command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]

    def _can_link(self, text, libraries):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.cpp"
            source.write_text(text)
            return subprocess.run([*self.command, source, "-o", source.with_suffix(""), *libraries], capture_output=True,
                                  check=False).returncode == 0

    def _find_allocator(self, wanted):
        if wanted != "system":
            for name, files in ALLOCATORS.items():
                for file in files if wanted in ("first", name) else ():
                    libraries = ["-Wl,--no-as-needed", f"-l:{file}"]
                    if self._can_link("int main() {}", libraries):
                        return file, libraries
            if wanted != "first":
                sys.exit(f"{wanted} cannot be linked")
        return "the system's malloc", []

    def build(self, source, program, includes, flags, libraries):
        """The program, or the reason why there is none."""
        program.parent.mkdir(parents=True, exist_ok=True)
        if source.stem == "nqueens":
            flags = [*flags, "-falign-loops=64"]
        print(f"compiling {program.relative_to(self.out)}", file=sys.stderr, flush=True)
        command = [*self.command, *self.flags, *flags, *(f"-isystem{i}" for i in includes), source, "-o", program,
                   *libraries, *self.libraries]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return program, None
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
        return None, lines[0].removeprefix(f"{source.parent}/")

    def build_library(self, jobs):
        """Rubato, with the same compiler and flags."""
        folder = self.out / "library"
        configure = ["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={self.command[0]}",
                     "-DCMAKE_CXX_FLAGS=-march=native", "-DRUBATO_BUILD_TESTS=OFF", "-DRUBATO_BUILD_EXAMPLES=OFF"]
        subprocess.run(configure, check=True, stdout=sys.stderr)
        subprocess.run(["cmake", "--build", folder, "--target", "rubato", "--parallel", str(jobs)], check=True, stdout=sys.stderr)
        return folder / "librubato.a"

    def build_search(self, name, suite, libfork, includes, flags, libraries):
        """A program of the tree search, which is no part of the suite: the trees are in libfork's checkout."""
        source = libfork / "bench/source"
        objects = []
        for c in ("uts/external/uts.c", "uts/external/rng/brg_sha1.c"):
            objects.append(self.out / "uts" / (pathlib.Path(c).name + ".o"))
            objects[-1].parent.mkdir(parents=True, exist_ok=True)
            command = [*self.command, "-x", "c", *self.flags[1:], "-w", "-c", source / c, "-o", objects[-1]]
            subprocess.run(list(map(str, command)), check=True)
        return self.build(SEARCH / f"{name}.cpp", self.out / "uts" / name,
                          [SEARCH, ENTRY, source, source / "uts", suite / "cpp/2common", *includes], flags, [*objects, *libraries])

    def build_ours(self, benchmark, suite, library, libfork=None):
        if benchmark.startswith("uts"):
            return self.build_search("rubato", suite, libfork, [ROOT / "include"], [], [library])
        source = ENTRY / f"{benchmark.partition('-')[0]}.cpp"
        return self.build(source, self.out / "rubato" / benchmark,
                          [suite / "cpp/2common", ROOT / "include"], [], [library])

    def build_theirs(self, benchmark, suite, peer, folder):
        includes = [suite / "cpp/2common"] + ([folder / peer.headers] if folder else [])
        hwloc = peer.hwloc and self.has_hwloc
        if benchmark.startswith("uts"):
            return self.build_search("libfork", suite, folder, includes[1:], [*peer.flags, *([f"-D{peer.hwloc}"] if hwloc else [])],
                                     ["-lhwloc"] if hwloc else [])
        source = suite / "cpp" / peer.folder / f"{benchmark}.cpp"
        if benchmark.startswith("channel-"):
            source = CHANNEL / f"{peer.name.lower()}.cpp"
            includes = [ENTRY, suite / "cpp", *includes]
        program, reason = self.build(source, self.out / peer.folder / benchmark,
                                     includes, [*peer.flags, *([f"-D{peer.hwloc}"] if hwloc else [])],
                                     [*peer.libraries, *(["-lhwloc"] if hwloc else [])])
        return program, f"without hwloc.h: {reason}" if reason and peer.hwloc and not hwloc else reason


def refuse_other_commits(checkouts):
    """Ends the program if one of the (checkout, folder) is not what the figures are for."""
    refusals = [f"{c.name}: {why}" for c, folder in checkouts if (why := c.refusal(folder))]
    if refusals:
        sys.exit("\n".join([*refusals, "--any-commit measures it nevertheless."]))


def commit_of(folder):
    """The commit of a checkout, `+` if files have changed."""
    said = subprocess.run(["git", "-C", folder, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
                          capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def cpus():
    return len(os.sched_getaffinity(0))
