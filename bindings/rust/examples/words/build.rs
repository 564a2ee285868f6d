//! Builds the C++ half against the headers of the librubato that the program is linked with.

fn main() {
    let include = std::env::var("DEP_RUBATO_INCLUDE").expect("rubato-sys tells where the headers are");
    for file in ["cpp/lengths.cpp", "cpp/lengths.h"] {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new().cpp(true).std("c++20").include(include).file("cpp/lengths.cpp").compile("lengths");
}
