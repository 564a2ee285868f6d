//! Finds librubato, or builds it from the checkout around this crate.
//!
//! `RUBATO_LIB_DIR`: a folder with librubato.a or librubato.so (`RUBATO_INCLUDE_DIR`: its headers, for C++ code of the program).
//! `RUBATO_DIR`: an installed tree. Neither: cmake builds the checkout, which takes two minutes on two cores.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn variable(name: &str) -> Option<PathBuf> {
    println!("cargo:rerun-if-env-changed={name}");
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn has_library(folder: &Path) -> bool {
    ["librubato.a", "librubato.so", "librubato.dylib"].iter().any(|name| folder.join(name).exists())
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} failed: {status}"),
        Err(error) => panic!("{command:?} cannot be run: {error}. Set RUBATO_LIB_DIR or RUBATO_DIR, or install cmake."),
    }
}

/// The folder of the library.
fn build_checkout(root: &Path) -> PathBuf {
    let build = PathBuf::from(env::var_os("OUT_DIR").unwrap()).join("rubato");
    run(Command::new("cmake").arg("-S").arg(root).arg("-B").arg(&build).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DRUBATO_BUILD_TESTS=OFF",
        "-DRUBATO_BUILD_EXAMPLES=OFF",
        "-DRUBATO_BUILD_TOOLS=OFF",
    ]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    run(Command::new("cmake").arg("--build").arg(&build).args(["--target", "rubato", "-j", &jobs]));
    for part in ["src", "include", "cmake", "CMakeLists.txt"] {
        println!("cargo:rerun-if-changed={}", root.join(part).display());
    }
    build
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../../..");
    let lib_dir = variable("RUBATO_LIB_DIR");
    let dir = variable("RUBATO_DIR");
    let include_dir = variable("RUBATO_INCLUDE_DIR");

    let (library, include) = if let Some(library) = lib_dir {
        (library, root.join("include"))
    } else if let Some(prefix) = dir {
        let debian = format!("lib/{}-linux-gnu", env::var("CARGO_CFG_TARGET_ARCH").unwrap());
        let library = ["lib", "lib64", &debian].iter().map(|name| prefix.join(name)).find(|folder| has_library(folder));
        (library.unwrap_or_else(|| prefix.join("lib")), prefix.join("include"))
    } else {
        (build_checkout(&root), root.join("include"))
    };
    assert!(
        has_library(&library),
        "there is no librubato.a or .so in {}; RUBATO_DIR and RUBATO_LIB_DIR are absolute paths",
        library.display()
    );

    for name in ["librubato.a", "librubato.so"] {
        if library.join(name).exists() {
            println!("cargo:rerun-if-changed={}", library.join(name).display());
        }
    }
    let kind = if library.join("librubato.a").exists() { "static" } else { "dylib" };
    println!("cargo:rustc-link-search=native={}", library.display());
    println!("cargo:rustc-link-lib={kind}=rubato");
    let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    println!("cargo:rustc-link-lib=dylib={}", if apple { "c++" } else { "stdc++" });
    println!("cargo:include={}", include_dir.unwrap_or(include).display());
}
