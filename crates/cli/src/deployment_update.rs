//! `deployment pause`, `resume`, `promote`, `fail` and `unblock` (`docs/spec/cli.md §11.3`).

use super::exit_status::MONITORED;
use super::lookup_id;
use super::prelude::*;
use super::submitted::FollowFlags;
use encamp_model::quoted;

/// The error about a wrong number of arguments.
const ONE_ARGUMENT: &str = "This command takes one argument: <deployment id>";

/// Runs a function on the deployment that the only argument names.
fn with_deployment(
    given: &str,
    general: &GeneralFlags,
    verbose: bool,
    context: &mut Context<'_, '_>,
    act: impl FnOnce(&Connection, &str, &mut Context<'_, '_>) -> CommandResult<u8>,
) -> u8 {
    context.connected(general, |connection, context| {
        let (found, _) = lookup_id::deployment(connection, given, verbose)?;
        act(connection, &found.id, context)
    })
}

/// The argument and the flags of commands that create an evaluation.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "deployment", add = CompleteWith::Live(Objects::Deployments))]
    pub(crate) given: String,
}

impl Target {
    fn run(
        &self,
        context: &mut Context<'_, '_>,
        act: impl FnOnce(&Connection, &str, &mut Context<'_, '_>) -> CommandResult<u8>,
    ) -> u8 {
        with_deployment(&self.given, &self.general, self.follow.verbose, context, act)
    }

    /// Prints or monitors the evaluation, if there is one, below what has been said about the deployment.
    fn follow(&self, connection: &Connection, eval: &str, context: &mut Context<'_, '_>) -> u8 {
        if !self.follow.detach && !eval.is_empty() {
            context.ui.output("");
        }
        self.follow.print_or_watch(connection, eval, context)
    }
}

/// Pause a deployment
///
/// Pauses a deployment: no new allocations are placed until it is resumed. The argument is the deployment ID or a
/// prefix of it.
#[derive(Debug, clap::Parser)]
pub struct DeploymentPause {
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "deployment", add = CompleteWith::Live(Objects::Deployments))]
    pub(crate) given: String,
}

impl Run for DeploymentPause {
    const META: Meta = Meta::new("deployment pause").argument_error(ONE_ARGUMENT).examples(&[
        ("Pause a deployment", "encamp deployment pause 5456bd7a"),
        ("Pause a deployment and print its full ID", "encamp deployment pause -verbose 5456bd7a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        with_deployment(&self.given, &self.general, self.verbose, context, |connection, id, context| {
            let paused = connection.wait(connection.client.pause_deployment(id, true));
            paused.context("Error pausing deployment")?;
            context.ui.output(&format!("Deployment {} paused", quoted(id)));
            Ok(0)
        })
    }
}

/// Resume a paused deployment
///
/// Resumes a paused deployment. The argument is the deployment ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct DeploymentResume {
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Run for DeploymentResume {
    const META: Meta = Meta::new("deployment resume").argument_error(ONE_ARGUMENT).examples(&[
        ("Resume a paused deployment without waiting", "encamp deployment resume -detach 5456bd7a"),
        ("Resume it and print full IDs", "encamp deployment resume -detach -verbose 5456bd7a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.target.run(context, |connection, id, context| {
            let resumed = connection.wait(connection.client.pause_deployment(id, false));
            let (resumed, _) = resumed.context("Error resuming deployment")?;
            context.ui.output(&format!("Deployment {} resumed", quoted(id)));
            Ok(self.target.follow(connection, &resumed.eval_id, context))
        })
    }
}

/// Unblock a blocked deployment
///
/// Unblocks a deployment that is waiting for other regions. The argument is the deployment ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct DeploymentUnblock {
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Run for DeploymentUnblock {
    const META: Meta = Meta::new("deployment unblock").argument_error(ONE_ARGUMENT).examples(&[
        ("Unblock a deployment", "encamp deployment unblock 5456bd7a"),
        ("Unblock it without monitoring the evaluation", "encamp deployment unblock -detach 5456bd7a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.target.run(context, |connection, id, context| {
            let unblocked = connection.wait(connection.client.unblock_deployment(id));
            let (unblocked, _) = unblocked.context("Error unblocking deployment")?;
            context.ui.output(&format!("Deployment {} unblocked", quoted(id)));
            Ok(self.target.follow(connection, &unblocked.eval_id, context))
        })
    }
}

/// Promote the canaries of a deployment
///
/// Promotes the healthy canaries of a deployment, so that the rollout continues. The argument is the deployment ID or a
/// prefix of it.
#[derive(Debug, clap::Parser)]
pub struct DeploymentPromote {
    /// Promote only this task group. Can be given several times
    #[arg(long, value_name = "group", action = clap::ArgAction::Append)]
    pub group: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Run for DeploymentPromote {
    const META: Meta = Meta::new("deployment promote").argument_error(ONE_ARGUMENT).exit_status(MONITORED).examples(&[
        ("Promote all canaries of a deployment", "encamp deployment promote 5456bd7a"),
        (
            "Promote the canaries of one task group without waiting",
            "encamp deployment promote -detach -group api 5456bd7a",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.target.run(context, |connection, id, context| {
            let promoted = connection.wait(connection.client.promote_deployment(id, &self.group));
            let (promoted, _) = promoted.context("Error promoting deployment")?;
            Ok(self.target.follow.print_or_watch(connection, &promoted.eval_id, context))
        })
    }
}

/// Manually fail a deployment
///
/// Marks a deployment as failed. If the job enables auto_revert, it is reverted to its latest stable version. The
/// argument is the deployment ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct DeploymentFail {
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Run for DeploymentFail {
    const META: Meta = Meta::new("deployment fail")
        .argument_error(ONE_ARGUMENT)
        .exit_status(&[
            (0, "With -detach: the deployment was marked as failed."),
            (1, "An error occurred, or the monitored deployment ended without success, as a failed one does."),
        ])
        .examples(&[
            ("Fail a deployment", "encamp deployment fail -detach 5456bd7a"),
            ("Fail a deployment and print full IDs", "encamp deployment fail -detach -verbose 5456bd7a"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.target.run(context, |connection, id, context| {
            let failed = connection.wait(connection.client.fail_deployment(id));
            let (failed, _) = failed.context("Error failing deployment")?;
            let name = quoted(id);
            context.ui.output(&match failed.reverted_job_version {
                Some(version) => format!("Deployment {name} failed. Auto-reverted to job version {version}."),
                None => format!("Deployment {name} failed"),
            });
            Ok(self.target.follow(connection, &failed.eval_id, context))
        })
    }
}
