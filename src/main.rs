//! The `encamp` command.

/// Plans are made of many small objects; this allocator takes about a third off the time to make them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "agent")]
    if let Some(code) = helper() {
        return code;
    }
    encamp_cli::main()
}

/// Runs as a helper if this was started by a node agent: to hold a task, to read the output of a container, to make a
/// network namespace or to download an artifact.
#[cfg(feature = "agent")]
fn helper() -> Option<std::process::ExitCode> {
    encamp_client::drivers::supervisor::main()
        .or_else(encamp_client::drivers::docker::log_process::main)
        .or_else(encamp_client::netns::main)
        .or_else(encamp_client::artifacts::main)
}
