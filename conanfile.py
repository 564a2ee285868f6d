# `conan create .` builds the package of this checkout: docs/packages.md
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class Rubato(ConanFile):
    name = "rubato"
    description = "One thread pool for a whole C++ program"
    license = "MIT"
    topics = ("thread-pool", "fork-join", "coroutines", "scheduler")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tools": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tools": False}
    implements = ["auto_shared_fpic"]
    # What an installation needs, and no more: an edit of a test does not make another package.
    exports_sources = (
        "CMakeLists.txt", "LICENSE", "*.md", "cmake/*", "src/*", "include/*", "adapters/*", "tools/*", "docs/*.md", "docs/*.svg",
        "scripts/check-coroutines", "scripts/gdb/*")
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "rubato", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define RUBATO_VERSION_[A-Z]+ (\d+)$", header, re.MULTILINE))

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES"):
            toolchain.cache_variables[f"RUBATO_BUILD_{part}"] = False
        toolchain.cache_variables["RUBATO_BUILD_TOOLS"] = bool(self.options.tools)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The files that CMake has installed are those of every other installation; no second set is made of them.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "rubato")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "rubato")]
        self.cpp_info.libs = ["rubato"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.cxxflags = ["-pthread"]
