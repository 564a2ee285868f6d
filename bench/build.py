"""Builds the contenders, each on its own: what cannot be built is a reason in the table, not an end of the run."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent


def run(command, **options):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)


def reason(output):
    """The line of a failed build that says why."""
    lines = [line.strip().replace(f"{ROOT}/", "") for line in output.splitlines() if line.strip()]
    for pattern in (r"\berror\b.*:.*\w|\berror: ", r"CMake Error", r"requires rustc|not found|No rule|unknown target"):
        for i, line in enumerate(lines):
            if re.search(pattern, line):
                return " ".join(lines[i:i + 2] if line.startswith(("CMake Error", "error:")) else [line])[:200]
    return lines[-1][:200] if lines else "it said nothing"


class Builder:
    """program(contender) is the path of its program, or None; then why(contender) is the reason."""

    def __init__(self, out):
        self.out = out
        self.programs = {}
        self.reasons = {}
        self.configured = {}

    def program(self, contender):
        return self.programs.get((contender.program, contender.toolchain))

    def why(self, contender):
        return self.reasons.get((contender.program, contender.toolchain), "not built")

    def build(self, contender):
        key = (contender.program, contender.toolchain)
        if key in self.programs or key in self.reasons:
            return
        print(f"building {contender.program} ({contender.toolchain})", file=sys.stderr, flush=True)
        make = {"cargo": self._with_cargo, "peer": self._of_peer}.get(contender.toolchain, self._with_cmake)
        program, why = make(contender)
        if program:
            self.programs[key] = program
        else:
            self.reasons[key] = why
            print(f"  not built: {why}", file=sys.stderr, flush=True)

    def _with_cmake(self, contender):
        folder = self.out / contender.toolchain
        why = self._configure(contender.toolchain, folder)
        if why:
            return None, why
        target = f"bench-{contender.program}"
        built = run(["cmake", "--build", folder, "--target", target, "-j", os.cpu_count() or 1])
        if built.returncode != 0:
            missing = {"onetbb": "no oneTBB: neither PyPI's tbb-devel nor an installed package",
                       "std-par": "no oneTBB: neither PyPI's tbb-devel nor an installed package",
                       "ips4o": "no oneTBB, or RUBATO_BENCH_IPS4O names no checkout of github.com/ips4o/ips4o",
                       "gnu-parallel": "the compiler has no OpenMP",
                       "openmp": "the compiler has no OpenMP", "asio": "no Asio headers (libasio-dev)",
                       "asio-onetbb-pipeline": "no Asio headers (libasio-dev), no oneTBB, or no zlib (zlib1g-dev)",
                       **dict.fromkeys(("serial-pipeline", "rubato-pipeline"), "no zlib (zlib1g-dev)")}
            unknown = re.search("unknown target|No rule to make target", built.stdout)
            if unknown and (why := missing.get(contender.program)
                            or missing.get(re.sub("-(algorithms|programs|futures|coroutines)$", "", contender.program))):
                return None, why
            return None, reason(built.stdout)
        return next(iter(folder.glob(f"**/{target}"))), None

    def _configure(self, toolchain, folder):
        if toolchain in self.configured:
            return self.configured[toolchain]
        command = ["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
                   "-DRUBATO_BUILD_BENCHMARKS=ON", "-DRUBATO_BUILD_TESTS=OFF", "-DRUBATO_BUILD_EXAMPLES=OFF"]
        if not (folder / "CMakeCache.txt").exists():  # CMake forgets the other settings when told its compiler again
            command += ["-G", "Ninja"] if shutil.which("ninja") else []
            command.append(f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/clang.cmake" if toolchain == "clang"
                           else "-DCMAKE_CXX_COMPILER=g++")
        if toolchain == "gcc":
            command.append(f"-DRUBATO_BENCH_TBB={fetch_tbb(self.out / 'deps') or ''}")
            command.append(f"-DRUBATO_BENCH_IPS4O={os.environ.get('RUBATO_BENCH_IPS4O', '')}")
        done = run(command)
        self.configured[toolchain] = None if done.returncode == 0 else reason(done.stdout)
        return self.configured[toolchain]

    @staticmethod
    def _of_peer(contender):
        """A contender that is not built here: README.md says what such a program has to do."""
        folder = os.environ.get("RUBATO_PEERS_DIR", "")
        if not folder:
            return None, "RUBATO_PEERS_DIR names no folder with its program"
        program = Path(folder).absolute() / f"bench-{contender.program}"
        return (program, None) if program.exists() else (None, f"no {program.name} in RUBATO_PEERS_DIR")

    def _with_cargo(self, contender):
        if not shutil.which("cargo"):
            return None, "no cargo"
        # A crate may ask for a compiler newer than the one it can be built with; what cannot be built says so itself.
        built = run(["cargo", "build", "--release", "--locked", "--ignore-rust-version", "--package",
                     f"bench-{contender.program}", "--target-dir", self.out / "rust"], cwd=ROOT / "bench" / "rust")
        if built.returncode != 0:
            return None, reason(built.stdout)
        return self.out / "rust" / "release" / f"bench-{contender.program}", None


class Prebuilt:
    """The programs of a bundle (bundle.py): nothing is built."""

    def __init__(self, folder):
        self.folder = folder

    def program(self, contender):
        path = self.folder / contender.toolchain / f"bench-{contender.program}"
        return path if path.exists() else None

    def why(self, contender):
        return "not in this bundle"

    def build(self, contender):
        pass


def builder_for(out):
    prebuilt = ROOT / "programs"
    return Prebuilt(prebuilt) if prebuilt.is_dir() else Builder(out)


def fetch_tbb(deps):
    """A folder with include/ and lib/ of the newest oneTBB on PyPI, or None. Fetched once; the wheels are only unpacked."""
    folder = deps / "tbb"
    if (folder / "include").is_dir():
        return folder
    wheels = deps / "wheels"
    fetched = run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, "tbb-devel", "tbb"])
    if fetched.returncode != 0:
        print(f"oneTBB from PyPI: {reason(fetched.stdout)}\n  taking the installed oneTBB", file=sys.stderr)
        return None
    for wheel in wheels.glob("tbb*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                inner = re.match(r"[^/]+\.data/data/((?:include|lib)/.+[^/])$", member)
                if inner:
                    path = folder / inner.group(1)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(member))
    return folder if (folder / "include").is_dir() else None
