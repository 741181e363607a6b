//! All commands.

use super::command::{Listing, Registry};
use super::{
    agent, capacity, completion, config_validate, deployment_list, deployment_status, deployment_update, eval_delete,
    eval_explain, eval_list, eval_status, fmt, job_action, job_convert, job_diff, job_dispatch, job_eval, job_history,
    job_init, job_inspect, job_lists, job_plan, job_restart, job_run, job_scale, job_start, job_status, job_stop,
    job_validate, job_versions, scaling_policy, sim_c1m, sim_churn, sim_cluster, sim_flap, sim_gc, sim_heartbeats,
    sim_load_shedding, snapshot_anonymize, snapshot_diff, snapshot_fetch, snapshot_inspect, version, what_if,
};

impl Registry {
    /// The registry of this program.
    pub fn new() -> Registry {
        let mut registry = Registry::empty();
        registry.add_jobs();
        registry.add_evaluations();
        registry.add::<job_convert::JobConvert>("job convert", None, 1);
        registry.add::<job_diff::JobDiff>("job diff", None, 255);
        registry.add::<job_init::JobInit>("job init", Some(("init", Listing::Alias)), 1);
        registry.add::<job_inspect::JobInspect>("job inspect", Some(("inspect", Listing::Alias)), 1);
        registry.add::<job_plan::JobPlan>("job plan", Some(("plan", Listing::Alias)), 255);
        registry.add::<job_run::JobRun>("job run", Some(("run", Listing::Common)), 1);
        registry.add::<job_validate::JobValidate>("job validate", Some(("validate", Listing::Alias)), 1);
        registry.add::<super::plan_file::show::PlanShow>("plan show", None, 1);
        registry.add::<agent::AgentCommand>("agent", None, 1);
        registry.add::<capacity::CapacityCommand>("capacity", None, 255);
        registry.add::<completion::Completion>("completion", None, 1);
        registry.add::<config_validate::ConfigValidate>("config validate", None, 1);
        registry.add::<eval_explain::EvalExplain>("eval explain", None, 1);
        registry.add::<fmt::Fmt>("fmt", None, 1);
        registry.add::<super::options::Options>("options", None, 1);
        registry.add::<sim_cluster::SimCluster>("sim cluster", None, 1);
        registry.add::<sim_c1m::SimC1m>("sim c1m", None, 1);
        registry.add::<sim_churn::SimChurn>("sim churn", None, 1);
        registry.add::<sim_flap::SimFlap>("sim flap", None, 1);
        registry.add::<sim_gc::SimGc>("sim gc", None, 1);
        registry.add::<sim_heartbeats::SimHeartbeats>("sim heartbeats", None, 1);
        registry.add::<sim_load_shedding::SimLoadShedding>("sim load-shedding", None, 1);
        registry.add::<snapshot_anonymize::SnapshotAnonymize>("snapshot anonymize", None, 1);
        registry.add::<snapshot_diff::SnapshotDiffCommand>("snapshot diff", None, 255);
        registry.add::<snapshot_fetch::SnapshotFetch>("snapshot fetch", None, 1);
        registry.add::<snapshot_inspect::SnapshotInspect>("snapshot inspect", None, 1);
        registry.add::<version::Version>("version", None, 1);
        registry.add::<what_if::WhatIfCommand>("what-if", None, 255);
        super::acl::register(&mut registry);
        super::enterprise::register(&mut registry);
        registry.add::<super::saved_contexts::commands::ContextList>("context list", None, 1);
        registry.add::<super::saved_contexts::commands::ContextShow>("context show", None, 1);
        registry.add::<super::saved_contexts::commands::ContextUse>("context use", None, 1);
        super::alloc::register(&mut registry);
        super::autoscale::register(&mut registry);
        registry.add::<super::autoscale_agent::AutoscaleAgent>("autoscale agent", None, 1);
        super::namespace::register(&mut registry);
        super::node::register(&mut registry);
        super::operator::register(&mut registry);
        super::server::register(&mut registry);
        super::service::register(&mut registry);
        super::system::register(&mut registry);
        super::gc::register(&mut registry);
        super::tls::register(&mut registry);
        super::var::register(&mut registry);
        super::volume::register(&mut registry);
        registry.add::<super::agent_info::AgentInfo>("agent-info", None, 1);
        registry.add::<super::web::Web>("ui", None, 1);
        registry.add::<super::check::Check>("check", None, 2);
        registry.add_hidden("check", "check", false);
        registry.add::<super::agent_monitor::Monitor>("monitor", None, 1);
        registry.add::<super::agent_export::MonitorExport>("monitor export", None, 1);
        registry.add::<super::status::Status>("status", None, 1);
        registry
    }

    /// Commands about jobs of running clusters.
    fn add_jobs(&mut self) {
        self.add::<job_action::JobAction>("job action", Some(("action", Listing::Other)), 1);
        self.add::<job_lists::JobAllocs>("job allocs", None, 1);
        self.add::<job_lists::JobDeployments>("job deployments", None, 1);
        self.add::<job_dispatch::JobDispatch>("job dispatch", None, 1);
        self.add::<job_eval::JobEval>("job eval", None, 1);
        self.add::<job_history::JobHistory>("job history", None, 1);
        self.add::<job_eval::JobPeriodicForce>("job periodic force", None, 1);
        self.add::<job_eval::JobPromote>("job promote", None, 1);
        self.add::<job_restart::JobRestart>("job restart", None, 1);
        self.add::<job_versions::JobRevert>("job revert", None, 1);
        self.add::<job_scale::JobScale>("job scale", None, 1);
        self.add::<job_scale::JobScalingEvents>("job scaling-events", None, 1);
        self.add::<job_start::JobStart>("job start", Some(("start", Listing::Other)), 1);
        self.add::<job_status::JobStatus>("job status", None, 1);
        self.add::<job_stop::JobStop>("job stop", Some(("stop", Listing::Common)), 1);
        self.add::<job_versions::JobTagApply>("job tag apply", None, 1);
        self.add::<job_versions::JobTagUnset>("job tag unset", None, 1);
        self.add::<scaling_policy::ScalingPolicyInfo>("scaling policy info", None, 1);
        self.add::<scaling_policy::ScalingPolicyList>("scaling policy list", None, 1);
    }

    /// Commands about evaluations and deployments of running clusters.
    fn add_evaluations(&mut self) {
        self.add::<eval_delete::EvalDelete>("eval delete", None, 1);
        self.add::<eval_list::EvalList>("eval list", None, 1);
        self.add::<eval_status::EvalStatus>("eval status", Some(("eval-status", Listing::Alias)), 1);
        self.add::<deployment_list::DeploymentList>("deployment list", None, 1);
        self.add::<deployment_status::DeploymentStatus>("deployment status", None, 1);
        self.add::<deployment_update::DeploymentFail>("deployment fail", None, 1);
        self.add::<deployment_update::DeploymentPause>("deployment pause", None, 1);
        self.add::<deployment_update::DeploymentPromote>("deployment promote", None, 1);
        self.add::<deployment_update::DeploymentResume>("deployment resume", None, 1);
        self.add::<deployment_update::DeploymentUnblock>("deployment unblock", None, 1);
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Found;

    fn find(line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(|a| a.replace('_', " ")).collect();
        match Registry::new().find(&args) {
            Found::Version => "version".into(),
            Found::Help(path) => format!("help {}", path.unwrap_or_default()),
            Found::Nothing => "nothing".into(),
            Found::EarlyFlags(path) => format!("early {path}"),
            Found::Group(path) => format!("group {path}"),
            Found::Command(entry, rest) => format!("{} ({}) {rest:?}", entry.path, entry.canonical),
        }
    }

    #[test]
    fn the_longest_name_wins_and_the_rest_is_arguments() {
        for (line, want) in [
            ("", "nothing"),
            ("nosuch", "nothing"),
            ("job", "group job"),
            ("job nosuch", "group job"),
            ("job plan x", "job plan (job plan) [\"x\"]"),
            ("plan -verbose x", "plan (job plan) [\"-verbose\", \"x\"]"),
            ("job -verbose plan", "group job"),
            ("job plan_x", "group job"),
            ("monitor export -on-disk", "monitor export (monitor export) [\"-on-disk\"]"),
            ("monitor -json", "monitor (monitor) [\"-json\"]"),
            ("-version", "version"),
            ("-v job plan", "version"),
            ("-nosuch job plan x", "early job plan"),
            ("-nosuch", "nothing"),
            ("job plan x -h", "help job plan"),
            ("-help", "help "),
            ("job plan -- -h", "job plan (job plan) [\"--\", \"-h\"]"),
        ] {
            assert_eq!(find(line), want, "{line}");
        }
    }

    #[test]
    fn clap_accepts_all_definitions() {
        Registry::new().entries().for_each(|entry| entry.clap().clone().debug_assert());
    }
}
