//! Settings of the linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let linux = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // Relocating the program takes a third of the time that a command of a development build takes to start, and tests
    // start thousands. What is released stays position-independent.
    if linux && variable("PROFILE") == "debug" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
