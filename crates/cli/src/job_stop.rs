//! `job stop`: stops jobs (`docs/spec/cli.md §8.5`).

use futures_util::future::join_all;

use super::exit_status::MONITORED;
use super::flags::parse_int;
use super::prelude::*;
use super::submitted::FollowFlags;
use super::{lookup, prompt};
use encamp_api::writes::Deregister;
use encamp_model::quoted;

/// Stop jobs
///
/// Stops all allocations of a job. The job itself is retained, unless -purge is given. The argument is the job ID or a
/// prefix of it; a prefix requires confirmation. Several jobs are stopped without confirmation.
#[derive(Debug, clap::Parser)]
pub struct JobStop {
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    /// Priority of the evaluation. Default: the priority of the job
    #[arg(long, value_name = "priority", default_value = "0", hide_default_value = true, value_parser = parse_int)]
    pub eval_priority: i64,
    /// Stop the job in all its regions
    #[arg(long)]
    pub global: bool,
    /// Stop tasks immediately, ignoring their shutdown delay
    #[arg(long)]
    pub no_shutdown_delay: bool,
    /// Purge the job from the state of the servers
    #[arg(long)]
    pub purge: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<job>...", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) args: Vec<String>,
}

/// A job to stop.
struct Target<'a> {
    given: &'a str,
    namespace: Option<String>,
    id: String,
}

impl Run for JobStop {
    const META: Meta = Meta::new("job stop").alias("stop", Listing::Common).exit_status(MONITORED).examples(&[
        ("Stop a job", "encamp job stop web"),
        ("Stop a job and purge it from the state of the servers", "encamp job stop -purge -detach -yes web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.args.is_empty() {
            return context.argument_error("This command takes at least one argument: <job>");
        }
        context.connected(&self.general, |connection, context| Ok(self.stop(connection, context)))
    }
}

impl JobStop {
    /// Stops all jobs, then monitors them one by one. Returns the first exit code that is not 0.
    fn stop(&self, connection: &Connection, context: &mut Context<'_, '_>) -> u8 {
        let mut first = 0;
        let mut targets = Vec::new();
        for given in &self.args {
            match connection.wait(lookup::job(&connection.client, given, &connection.zone)) {
                Ok((namespace, id)) => targets.push(Target { given, namespace, id }),
                Err(e) => first = worst(first, context.report(&CommandError::from(e))),
            }
        }
        if let ([target], 1) = (targets.as_slice(), self.args.len())
            && (target.id != target.given.trim() || context.object_was_chosen())
            && !self.yes
        {
            let question = format!("Are you sure you want to stop job {}? [y/N]", quoted(&target.id));
            if let Err(code) = prompt::confirm(context.ui, &question, "Cancelling job stop") {
                return code;
            }
        }
        let how = Deregister {
            purge: self.purge,
            global: self.global,
            eval_priority: self.eval_priority,
            no_shutdown_delay: self.no_shutdown_delay,
        };
        let client = &connection.client;
        let requests = targets.iter().map(|t| client.deregister_job(t.namespace.as_deref(), &t.id, how));
        let answers = connection.wait(join_all(requests));
        for (target, answer) in targets.iter().zip(answers) {
            let code = match answer {
                Ok((made, _)) if made.eval_id.is_empty() => 0,
                Ok((made, _)) if self.follow.detach => {
                    context.ui.output(&made.eval_id);
                    0
                }
                Ok((made, _)) => self.follow.watch(connection, &made.eval_id, context),
                Err(e) => {
                    let what = format!("Error deregistering job with id {} err", target.given);
                    context.report(&CommandError::from(e).within(what))
                }
            };
            first = worst(first, code);
        }
        first
    }
}

/// The first exit code that is not 0.
fn worst(first: u8, next: u8) -> u8 {
    if first == 0 { next } else { first }
}
