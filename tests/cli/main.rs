//! The program as a person or a script runs it: commands, help, terminals, completion, files, and running clusters that
//! answer from a script.

// What modules share is public in them.
#![allow(unreachable_pub)]

mod addresses;
#[path = "../support/agent.rs"]
mod agent;
mod answers;
mod architecture;
mod architecture_walks;
mod archive;
mod autoscale;
mod autoscale_recorded;
#[path = "../support/canned.rs"]
mod canned;
#[path = "../support/cluster.rs"]
mod cluster;
mod command_examples;
mod commands;
mod completion;
mod diagnostics;
mod docs;
mod drain_plan;
mod evals_deployments;
mod explain;
mod fixtures;
mod fmt;
mod gc;
mod generated;
#[path = "../fuzz_support/hostile/mod.rs"]
mod hostile;
mod hostile_jobs;
mod job_action;
mod job_changes;
mod job_convert;
mod job_diff;
mod job_layout;
mod job_run;
mod job_status;
mod jobs;
mod live_cluster;
mod live_tls;
#[path = "../support/member.rs"]
mod member;
mod operations;
#[path = "../support/oracle.rs"]
mod oracle;
#[path = "../oracle_support/mod.rs"]
mod oracle_support;
mod picture;
mod pipelines;
mod plan_file;
mod plan_file_properties;
mod plan_many;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/recorded.rs"]
mod recorded;
mod reference_commands;
mod report_html;
mod rollout;
mod saved_contexts;
#[path = "../support/scaling_group.rs"]
mod scaling_group;
#[path = "../support/schema.rs"]
mod schema;
mod schemas;
#[path = "../support/server.rs"]
mod server;
mod sim;
mod sim_cluster;
mod snapshot;
mod snapshot_anonymize;
mod support_archive;
mod terminal;
mod tls;
mod variables;
mod volumes;
mod walkthrough;
mod what_if;
mod what_if_properties;
mod words;
