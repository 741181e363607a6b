//! Settings of the scheduler configuration by name (`docs/spec/scheduling.md §9`).

use std::collections::BTreeSet;

use thiserror::Error;

use super::what_if::find::instead;
use encamp_model::{PreemptionConfig, SchedulerAlgorithm, SchedulerConfiguration, quoted};
use encamp_state::State;

/// The settings that decide about placements, as the agent's configuration writes them.
const NAMES: [&str; 7] = [
    "scheduler_algorithm",
    "memory_oversubscription_enabled",
    "node_limit_for_feasibility_checks",
    "preemption_config.system_scheduler_enabled",
    "preemption_config.sysbatch_scheduler_enabled",
    "preemption_config.batch_scheduler_enabled",
    "preemption_config.service_scheduler_enabled",
];

/// The configuration that holds: the stored one, or what schedulers assume without one.
pub fn current(state: &State) -> SchedulerConfiguration {
    let assumed = || SchedulerConfiguration {
        scheduler_algorithm: SchedulerAlgorithm::Binpack,
        preemption_config: PreemptionConfig {
            system_scheduler_enabled: true,
            sys_batch_scheduler_enabled: true,
            batch_scheduler_enabled: true,
            service_scheduler_enabled: true,
        },
        ..Default::default()
    };
    state.scheduler_config.as_deref().cloned().unwrap_or_else(assumed)
}

/// Why a setting can't be set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// There is no setting of this name.
    #[error("there is no such setting{hint}")]
    Unknown {
        /// A hint that names settings; may be empty.
        hint: String,
    },
    /// The setting does not decide about placements.
    #[error("this setting decides who may register jobs and when they are evaluated, not where they run")]
    NotOfPlacement,
    /// The value is none of a switch.
    #[error("{} is neither true nor false", quoted(.0))]
    Switch(String),
    /// The value is no number.
    #[error("{} is not a whole number from 0 up", quoted(.0))]
    Number(String),
    /// The value is no algorithm.
    #[error("invalid scheduler algorithm: {0}; it must be binpack or spread")]
    Algorithm(String),
}

/// Sets one setting. Names are those of the API (`PreemptionConfig.ServiceSchedulerEnabled`), of the agent's
/// configuration (`preemption_config.service_scheduler_enabled`), or of the flags of `operator scheduler set-config`
/// (`preempt-service-scheduler`).
///
/// # Errors
/// There is no such setting, or its value is not valid.
pub fn set(config: &mut SchedulerConfiguration, name: &str, value: &str) -> Result<(), SettingError> {
    let switch = || match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(SettingError::Switch(value.to_string())),
    };
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let preemption = &mut config.preemption_config;
    match letters(name).as_str() {
        "scheduleralgorithm" => {
            let algorithm = SchedulerAlgorithm::from(value);
            if !algorithm.is_known() {
                return Err(SettingError::Algorithm(value.to_string()));
            }
            config.scheduler_algorithm = algorithm;
        }
        "memoryoversubscriptionenabled" | "memoryoversubscription" => {
            config.memory_oversubscription_enabled = switch()?
        }
        "nodelimitforfeasibilitychecks" => {
            let number = value.parse().map_err(|_| SettingError::Number(value.to_string()))?;
            config.node_limit_for_feasibility_checks = number;
        }
        "preemptionconfigsystemschedulerenabled" | "preemptsystemscheduler" => {
            preemption.system_scheduler_enabled = switch()?;
        }
        "preemptionconfigsysbatchschedulerenabled" | "preemptsysbatchscheduler" => {
            preemption.sys_batch_scheduler_enabled = switch()?;
        }
        "preemptionconfigbatchschedulerenabled" | "preemptbatchscheduler" => {
            preemption.batch_scheduler_enabled = switch()?;
        }
        "preemptionconfigserviceschedulerenabled" | "preemptservicescheduler" => {
            preemption.service_scheduler_enabled = switch()?;
        }
        "rejectjobregistration" | "pauseevalbroker" => return Err(SettingError::NotOfPlacement),
        _ => {
            let known: BTreeSet<&str> = NAMES.into_iter().collect();
            return Err(SettingError::Unknown { hint: instead(name, &known) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_names_of_all_their_sources() {
        let mut c = current(&State::new());
        assert!(c.preemption_config.service_scheduler_enabled, "without a record everybody may preempt");
        for name in NAMES {
            let value = match name {
                "scheduler_algorithm" => "spread",
                "node_limit_for_feasibility_checks" => "7",
                "memory_oversubscription_enabled" => "true",
                _ => "false",
            };
            set(&mut c, name, value).unwrap();
        }
        let want = SchedulerConfiguration {
            scheduler_algorithm: SchedulerAlgorithm::Spread,
            memory_oversubscription_enabled: true,
            node_limit_for_feasibility_checks: 7,
            ..Default::default()
        };
        assert_eq!(c, want);
        set(&mut c, "PreemptionConfig.SysBatchSchedulerEnabled", "true").unwrap();
        set(&mut c, "preempt-batch-scheduler", "true").unwrap();
        assert!(c.preemption_config.sys_batch_scheduler_enabled && c.preemption_config.batch_scheduler_enabled);
    }

    #[test]
    fn unknown_settings_and_values_are_refused() {
        let mut c = SchedulerConfiguration::default();
        for (name, value, want) in [
            ("scheduler_algorithm", "foo", "invalid scheduler algorithm: foo; it must be binpack or spread"),
            ("preempt-service-scheduler", "1", "\"1\" is neither true nor false"),
            ("node_limit_for_feasibility_checks", "-1", "\"-1\" is not a whole number from 0 up"),
            ("scheduler_algoritm", "x", "there is no such setting; did you mean \"scheduler_algorithm\"?"),
        ] {
            assert_eq!(set(&mut c, name, value).unwrap_err().to_string(), want);
        }
        assert!(set(&mut c, "pause_eval_broker", "true").is_err());
    }
}
