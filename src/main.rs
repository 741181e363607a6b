//! The `encamp` command.

/// Plans are made of many small objects; this allocator takes about a third off the time to make them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Started by a node agent to hold a task.
    if let Some(code) = encamp_client::drivers::supervisor::main() {
        return code;
    }
    encamp::cli::main()
}
