//! The program as a person or a script runs it: commands, help, terminals, completion, files, and running clusters that
//! answer from a script.

// What modules share is public in them.
#![allow(unreachable_pub)]

use encamp_test_support::{
    agent, canned, cluster, hostile, member, oracle, program, pty, recorded, scaling_group, scheduler_cases, schema,
    server,
};

mod addresses;
mod advisories;
mod answers;
mod architecture;
mod architecture_walks;
mod archive;
mod assumed;
mod autoscale;
mod autoscale_recorded;
mod clocks;
mod command_examples;
mod command_line_alone;
mod commands;
mod completion;
mod diagnostics;
mod docs;
mod drain_plan;
mod evals_deployments;
mod explain;
mod fixtures;
mod fmt;
mod forms;
mod gc;
mod generated;
mod hostile_jobs;
mod import_cycles;
mod import_layers;
mod job_action;
mod job_changes;
mod job_convert;
mod job_diff;
mod job_layout;
mod job_run;
mod job_status;
mod jobs;
mod launches;
mod launches_cluster;
mod live_cluster;
mod live_tls;
mod lsp;
mod mcp;
mod migrate;
mod openapi;
mod operations;
mod picture;
mod pipeline_components;
mod pipelines;
mod plan_exit_codes;
mod plan_file;
mod plan_file_properties;
mod plan_many;
mod plan_on_clusters;
mod rebalance;
mod reference_commands;
mod remarks;
mod report_html;
mod rollout;
mod saved_contexts;
mod schemas;
mod side_index;
mod sim;
mod sim_cluster;
mod snapshot;
mod snapshot_anonymize;
mod suggest;
mod support_archive;
mod terminal;
mod test_tiers;
mod tls;
mod variables;
mod volumes;
mod walkthrough;
mod what_if;
mod what_if_properties;
mod words;

/// As in the program: it gives memory back that a test has freed. The smaller a process is, the faster it starts others.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
