//! The `encamp` command.

/// Plans are made of many small objects; this allocator takes about a third off the time to make them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Started by a node agent, to hold a task, to make a network namespace or to download an artifact.
    let started = encamp_client::drivers::supervisor::main().or_else(encamp_client::netns::main);
    if let Some(code) = started.or_else(encamp_client::artifacts::main) {
        return code;
    }
    encamp::cli::main()
}
