//! The example job file of `job init`, for each type of job and driver (`docs/spec/cli.md §8.11`).

use encamp_model::JobType;

/// The file with all of its variants. A line `#? service exec` begins lines for one of the named types and one of the
/// named drivers; where none of a sort is named, all have them. `@type@` and others stand for values.
const VARIANTS: &str = include_str!("examples/example_job.hcl.in");
/// What begins a line that says for which jobs the next lines are.
const CONDITION: &str = "#?";

/// A driver for which there is an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExampleDriver {
    /// `exec`.
    Exec,
    /// `raw_exec`.
    RawExec,
    /// `docker`.
    Docker,
    /// `java`.
    Java,
}

impl ExampleDriver {
    /// All of them, with what each runs.
    pub(crate) const ALL: [(ExampleDriver, &str); 4] = [
        (ExampleDriver::Exec, "a program of the node, isolated"),
        (ExampleDriver::RawExec, "a program of the node, not isolated"),
        (ExampleDriver::Docker, "a container of Docker or Podman"),
        (ExampleDriver::Java, "a Java program"),
    ];

    /// Its name in job files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ExampleDriver::Exec => "exec",
            ExampleDriver::RawExec => "raw_exec",
            ExampleDriver::Docker => "docker",
            ExampleDriver::Java => "java",
        }
    }
}

/// What distinguishes example jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExampleJob {
    /// The type of the job.
    pub(crate) kind: JobType,
    /// The driver of its task.
    pub(crate) driver: ExampleDriver,
    /// The CPU of the task in MHz.
    pub(crate) cpu: u32,
    /// The memory of the task in MB.
    pub(crate) memory: u32,
}

impl Default for ExampleJob {
    fn default() -> ExampleJob {
        ExampleJob::new(JobType::Service, ExampleDriver::Exec)
    }
}

impl ExampleJob {
    /// An example with resources that suffice for its task.
    pub(crate) fn new(kind: JobType, driver: ExampleDriver) -> ExampleJob {
        let (cpu, memory) = match driver {
            ExampleDriver::Java => (500, 256),
            ExampleDriver::Exec | ExampleDriver::RawExec | ExampleDriver::Docker => (100, 64),
        };
        ExampleJob { kind, driver, cpu, memory }
    }

    /// The job file.
    pub(crate) fn text(&self) -> String {
        let mut wanted = true;
        let mut text = String::with_capacity(VARIANTS.len());
        for line in VARIANTS.lines() {
            match line.strip_prefix(CONDITION) {
                Some(names) => wanted = self.meets(names),
                None if wanted => {
                    text.push_str(line);
                    text.push('\n');
                }
                None => {}
            }
        }
        let values = [
            ("@type@", self.kind.as_str().to_string()),
            ("@driver@", self.driver.name().to_string()),
            ("@cpu@", self.cpu.to_string()),
            ("@memory@", self.memory.to_string()),
        ];
        values.iter().fold(text, |text, (name, value)| text.replace(name, value))
    }

    /// Whether a condition holds.
    fn meets(&self, names: &str) -> bool {
        let (drivers, types): (Vec<&str>, Vec<&str>) = names
            .split_whitespace()
            .partition(|name| ExampleDriver::ALL.iter().any(|(driver, _)| driver.name() == *name));
        let meets = |names: &[&str], own: &str| names.is_empty() || names.contains(&own);
        meets(&drivers, self.driver.name()) && meets(&types, self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_select_lines() {
        let job = ExampleJob::new(JobType::Batch, ExampleDriver::Docker);
        let met = ["", " batch", " docker", " service batch exec docker"];
        let unmet = [" service", " exec", " batch exec", " service docker"];
        assert!(met.iter().all(|names| job.meets(names)) && !unmet.iter().any(|names| job.meets(names)));
    }

    #[test]
    fn every_example_is_formatted_and_names_its_choices() {
        for kind in [JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch] {
            for (driver, _) in ExampleDriver::ALL {
                let job = ExampleJob { cpu: 7, memory: 11, ..ExampleJob::new(kind.clone(), driver) };
                let text = job.text();
                for part in [format!("type = \"{}\"", kind.as_str()), format!("driver = \"{}\"", driver.name())] {
                    assert!(text.contains(&part), "{text}");
                }
                assert!(text.contains("cpu    = 7") && text.contains("memory = 11"), "{text}");
                assert!(!text.contains(CONDITION) && !text.contains('@') && !text.contains("\n\n\n"), "{text}");
            }
        }
    }
}
