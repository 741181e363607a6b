//! Commands of the program about the cluster.

use encamp_model::SecretString;
use encamp_ui::{Cluster, CommandOutput};

/// Runs a command: its output, or what it wrote about its failure.
pub(super) async fn command(cluster: &dyn Cluster, arguments: Vec<String>, input: Vec<u8>) -> Result<String, String> {
    // The exit code 1 of a plan stands for allocations that are created or stopped.
    let plans = arguments.get(1).is_some_and(|word| word == "plan");
    let output = cluster.run(SecretString::default(), arguments, input).await.map_err(|e| e.to_string())?;
    let CommandOutput { code, stdout, stderr } = output;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if code == 0 || plans && code == 1 && !stdout.trim().is_empty() {
        return Ok(stdout);
    }
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    Err(if said.trim().is_empty() { format!("The command ended with exit code {code}.") } else { said })
}
