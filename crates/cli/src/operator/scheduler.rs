//! `operator scheduler get-config`, `operator scheduler set-config` (`docs/spec/cli.md §14`).

use serde::{Deserialize, Serialize};

use crate::completion::values::texts;
use crate::data::typed;
use crate::flags::{InvalidFlag, parse_int};
use crate::prelude::*;
use crate::render::table::pairs;
use crate::tristate::Tristate;
use encamp_api::Received;
use encamp_model::json::null_is_default;
use encamp_model::{SchedulerAlgorithm, SchedulerConfiguration, quoted};

/// Display the current scheduler configuration
///
/// Shows the scheduler algorithm, for which job types preemption is enabled, and what is paused.
#[derive(Debug, clap::Parser)]
pub struct SchedulerGetConfig {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// The response of the server.
#[null_is_default]
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Answer {
    known_leader: bool,
    last_contact: i64,
    /// Clients print zeros.
    #[serde(skip_deserializing)]
    last_index: u64,
    next_token: String,
    #[serde(skip_deserializing)]
    request_time: u64,
    scheduler_config: Option<Received<SchedulerConfiguration>>,
}

/// The response of the server and the configuration in it.
fn read(c: &Connection) -> CommandResult<(Answer, SchedulerConfiguration)> {
    let read = c.wait(c.client.scheduler_configuration_value());
    let (answer, _) = read.context("Error querying for scheduler configuration")?;
    let answer: Answer = typed(&answer)?;
    let config = answer.scheduler_config.as_deref().cloned().unwrap_or_default();
    Ok((answer, config))
}

impl Run for SchedulerGetConfig {
    const META: Meta = Meta::new("operator scheduler get-config").surplus(Surplus::Ignored).examples(&[
        ("Show the scheduler configuration", "encamp operator scheduler get-config"),
        (
            "Print the scheduler algorithm",
            "encamp operator scheduler get-config \\
    -t '{{.SchedulerConfig.SchedulerAlgorithm}}'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let (answer, config) = read(c)?;
            if self.format.wanted()? {
                return self.format.print(context.ui, &answer, "*api.SchedulerConfigurationResponse");
            }
            let preemption = &config.preemption_config;
            context.ui.output(&pairs(&[
                ("Scheduler Algorithm", config.scheduler_algorithm.to_string()),
                ("Memory Oversubscription", config.memory_oversubscription_enabled.to_string()),
                ("Reject Job Registration", config.reject_job_registration.to_string()),
                ("Pause Eval Broker", config.pause_eval_broker.to_string()),
                ("Preemption System Scheduler", preemption.system_scheduler_enabled.to_string()),
                ("Preemption Service Scheduler", preemption.service_scheduler_enabled.to_string()),
                ("Preemption Batch Scheduler", preemption.batch_scheduler_enabled.to_string()),
                ("Preemption SysBatch Scheduler", preemption.sys_batch_scheduler_enabled.to_string()),
                ("Node Limit For Feasibility Checks", config.node_limit_for_feasibility_checks.to_string()),
                ("Modify Index", config.modify_index.to_string()),
            ]));
            Ok(0)
        })
    }
}

/// Modify the current scheduler configuration
///
/// Settings without a flag are not changed. The preemption flags enable preemption by job type: allocations of jobs
/// with lower priority may then be stopped.
#[derive(Debug, clap::Parser)]
pub struct SchedulerSetConfig {
    /// Change the configuration only if its modify index has this value
    #[arg(long, value_name = "index")]
    pub check_index: Option<String>,
    /// Scheduler algorithm that ranks nodes: binpack or spread
    #[arg(
        long,
        value_name = "algorithm",
        add = CompleteWith::Texts(|| texts(SchedulerAlgorithm::ALL, SchedulerAlgorithm::as_str))
    )]
    pub scheduler_algorithm: Option<String>,
    /// Whether memory oversubscription is enabled
    #[arg(long, value_name = "true|false")]
    pub memory_oversubscription: Option<String>,
    /// Whether job registrations are rejected
    #[arg(long, value_name = "true|false")]
    pub reject_job_registration: Option<String>,
    /// Whether the eval broker is paused
    #[arg(long, value_name = "true|false")]
    pub pause_eval_broker: Option<String>,
    /// Whether preemption is enabled for batch jobs
    #[arg(long, value_name = "true|false")]
    pub preempt_batch_scheduler: Option<String>,
    /// Whether preemption is enabled for service jobs
    #[arg(long, value_name = "true|false")]
    pub preempt_service_scheduler: Option<String>,
    /// Whether preemption is enabled for sysbatch jobs
    #[arg(long, value_name = "true|false")]
    pub preempt_sysbatch_scheduler: Option<String>,
    /// Whether preemption is enabled for system jobs
    #[arg(long, value_name = "true|false")]
    pub preempt_system_scheduler: Option<String>,
    /// Maximum number of nodes that are checked for feasibility per placement; 0 for the default
    #[arg(long, value_name = "n", value_parser = parse_int)]
    pub node_limit_for_feasibility_checks: Option<i64>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

/// The settings that the flags change.
struct Wanted {
    memory_oversubscription: Tristate,
    reject_job_registration: Tristate,
    pause_eval_broker: Tristate,
    batch: Tristate,
    service: Tristate,
    sysbatch: Tristate,
    system: Tristate,
}

impl Run for SchedulerSetConfig {
    const META: Meta = Meta::new("operator scheduler set-config").examples(&[
        ("Spread allocations over the nodes", "encamp operator scheduler set-config -scheduler-algorithm=spread"),
        (
            "Enable preemption for service jobs",
            "encamp operator scheduler set-config \\
    -preempt-service-scheduler=true",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err(e) => return context.flag_error(&e.to_string()),
        };
        if !self.optional_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        let check = match self.check_index.as_deref().filter(|i| !i.is_empty()).map(|i| (i, i.parse::<u64>())) {
            None => None,
            Some((_, Ok(index))) => Some(index),
            Some((text, Err(_))) => {
                let text = quoted(text);
                return context.failure(&format!(
                    "Error parsing check-index value {text}: strconv.ParseUint: parsing {text}: invalid syntax"
                ));
            }
        };
        context.connected(&self.general, |c, context| {
            let (_, mut config) = read(c)?;
            let current = config.modify_index;
            if let Some(check) = check.filter(|check| *check != current) {
                let line = format!(
                    "Error performing check index set: check-index {check} does not match does not match current state \
                     value {current}"
                );
                return Err(CommandError::new(line));
            }
            self.merge(&wanted, &mut config);
            let done = c.wait(c.client.set_scheduler_configuration(&config, current));
            let (written, _) = done.context("Error setting scheduler configuration")?;
            if !written {
                context.ui.output("Scheduler configuration could not be atomically updated, please try again");
                return Ok(1);
            }
            context.ui.output("Scheduler configuration updated!");
            Ok(0)
        })
    }
}

impl SchedulerSetConfig {
    fn wanted(&self) -> Result<Wanted, InvalidFlag> {
        Ok(Wanted {
            memory_oversubscription: Tristate::read("memory-oversubscription", &self.memory_oversubscription)?,
            reject_job_registration: Tristate::read("reject-job-registration", &self.reject_job_registration)?,
            pause_eval_broker: Tristate::read("pause-eval-broker", &self.pause_eval_broker)?,
            batch: Tristate::read("preempt-batch-scheduler", &self.preempt_batch_scheduler)?,
            service: Tristate::read("preempt-service-scheduler", &self.preempt_service_scheduler)?,
            sysbatch: Tristate::read("preempt-sysbatch-scheduler", &self.preempt_sysbatch_scheduler)?,
            system: Tristate::read("preempt-system-scheduler", &self.preempt_system_scheduler)?,
        })
    }

    fn merge(&self, wanted: &Wanted, config: &mut SchedulerConfiguration) {
        if let Some(algorithm) = self.scheduler_algorithm.as_ref().filter(|a| !a.is_empty()) {
            config.scheduler_algorithm = algorithm.into();
        }
        wanted.memory_oversubscription.merge(&mut config.memory_oversubscription_enabled);
        wanted.reject_job_registration.merge(&mut config.reject_job_registration);
        wanted.pause_eval_broker.merge(&mut config.pause_eval_broker);
        let preemption = &mut config.preemption_config;
        wanted.batch.merge(&mut preemption.batch_scheduler_enabled);
        wanted.service.merge(&mut preemption.service_scheduler_enabled);
        wanted.sysbatch.merge(&mut preemption.sys_batch_scheduler_enabled);
        wanted.system.merge(&mut preemption.system_scheduler_enabled);
        if let Some(limit) = self.node_limit_for_feasibility_checks {
            config.node_limit_for_feasibility_checks = u64::try_from(limit).unwrap_or(0);
        }
    }
}
