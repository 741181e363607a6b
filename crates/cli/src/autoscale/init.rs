//! The example files of `init -cluster-scaling` and `-job-scaling` (`docs/spec/cluster-scaling.md §1`, `§11`, `§13`).

use crate::context::Context;
use crate::examples::write_new;
use crate::job_file::cause;

/// An example file.
pub struct Example {
    name: &'static str,
    text: &'static str,
    what: &'static str,
}

/// The meta of a client node.
pub const CLUSTER: Example = Example {
    name: "cluster_scaling.hcl",
    text: include_str!("../examples/cluster_scaling.hcl"),
    what: "cluster scaling",
};

/// The meta of a group.
pub const JOB: Example =
    Example { name: "job_scaling.hcl", text: include_str!("../examples/job_scaling.hcl"), what: "job scaling" };

/// Writes an example; a file that exists is left alone.
pub fn write(context: &mut Context<'_, '_>, example: &Example) -> u8 {
    let Example { name, text, what } = example;
    match write_new(&context.env.directory.join(name), text) {
        Ok(()) => {
            context.ui.output(&format!("Example {what} configuration written to {name}"));
            0
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            context.failure(&format!("File '{name}' already exists"))
        }
        Err(e) => context.failure(&format!("Failed to write '{name}': {}", cause(&e))),
    }
}
