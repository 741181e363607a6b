fn main() -> std::process::ExitCode {
    encamp::cli::main()
}
