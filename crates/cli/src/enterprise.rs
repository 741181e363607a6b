//! Commands of Nomad Enterprise: they exist, and say what they are (`docs/spec/cli.md §18`).

use super::command::Run;
use super::command_meta::{FlagErrorNote, Meta};
use super::context::Context;
use super::error::ErrorContext;
use super::general::GeneralFlags;
use encamp_api::{ApiError, Query};

/// The status of an answer without a body.
const NO_CONTENT: u16 = 204;

/// What one command of a group asks the servers for, so that it fails with their own words.
struct Asked {
    /// The command below the group.
    command: &'static str,
    path: &'static str,
    /// What begins the error.
    what: &'static str,
}

/// What a command of Nomad Enterprise says.
fn refusal(command: &str, purpose: &str) -> String {
    format!(
        "\"encamp {command}\" is for {purpose}, a feature of Nomad Enterprise. encamp implements the open edition, in \
         which servers do not have it."
    )
}

/// Fails with the answer of the servers where one is asked for, and otherwise says that the group is not implemented.
fn refuse(
    group: &str,
    purpose: &str,
    asked: &Asked,
    general: &GeneralFlags,
    args: &[String],
    context: &mut Context<'_, '_>,
) -> u8 {
    let open = refusal(group, purpose);
    if args.first().is_none_or(|given| given != asked.command) {
        return context.failure(&open);
    }
    context.connected(general, |c, context| {
        match c.wait(c.client.bytes(asked.path, &Query::default())) {
            // Servers of the open edition have no license to show.
            Err(ApiError::Status { status: NO_CONTENT, .. }) => {
                Ok(context.failure(&format!("{}: Nomad Enterprise only endpoint", asked.what)))
            }
            answer => {
                answer.context(asked.what)?;
                Ok(context.failure(&open))
            }
        }
    })
}

/// A group of commands of Nomad Enterprise.
macro_rules! group {
    ($(#[$doc:meta])* $name:ident, $group:literal, $purpose:literal, $command:literal, $path:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, clap::Parser)]
        pub struct $name {
            #[command(flatten)]
            pub(crate) general: GeneralFlags,
            #[arg(value_name = "command", trailing_var_arg = true, allow_hyphen_values = true)]
            pub(crate) optional_args: Vec<String>,
        }

        impl Run for $name {
            const META: Meta = Meta::new($group).unlisted();

            fn run(self, context: &mut Context<'_, '_>) -> u8 {
                let asked = Asked { command: $command, path: $path, what: $what };
                refuse($group, $purpose, &asked, &self.general, &self.optional_args, context)
            }
        }
    };
}

group!(
    /// Explain that licenses are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition, which needs no license.
    License, "license", "licenses",
    "get", "/v1/operator/license", "Error getting license"
);
group!(
    /// Explain that quotas are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition. To limit what a team can use, give it a node pool ("encamp node pool apply")
    /// and a namespace that may only use this pool.
    Quota, "quota", "resource quotas of namespaces",
    "list", "/v1/quotas", "Error retrieving quotas"
);
group!(
    /// Explain that recommendations are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition.
    Recommendation, "recommendation", "recommendations about the resources of tasks",
    "list", "/v1/recommendations", "Error retrieving recommendations"
);
group!(
    /// Explain that Sentinel policies are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition. ACL policies ("encamp acl policy apply") restrict what a token can do.
    Sentinel, "sentinel", "Sentinel policies",
    "list", "/v1/sentinel/policies", "Error listing Sentinel policies"
);

/// A command of Nomad Enterprise below a group of the open edition.
macro_rules! command {
    ($(#[$doc:meta])* $name:ident, $meta:expr, $purpose:literal) => {
        $(#[$doc])*
        #[derive(Debug, clap::Parser)]
        pub struct $name {
            #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
            pub(crate) optional_args: Vec<String>,
        }

        impl Run for $name {
            const META: Meta = $meta;

            fn run(self, context: &mut Context<'_, '_>) -> u8 {
                context.failure(&refusal(Self::META.path, $purpose))
            }
        }
    };
}

command!(
    /// Explain that automatic snapshots are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition. Run "encamp operator snapshot save" from a timer.
    SnapshotAgent, Meta::new("operator snapshot agent").unlisted().flag_error_note(FlagErrorNote::Args), "snapshots that are taken at intervals"
);
command!(
    /// Explain that utilization reports are a feature of Nomad Enterprise
    ///
    /// encamp implements the open edition, which reports nothing to anyone.
    Utilization, Meta::new("operator utilization").unlisted(), "utilization reports"
);

/// Explain how workloads log in to Consul and Vault
///
/// Nomad's command of this name configures Consul or Vault for the identities of workloads. encamp does not change other
/// systems: create the auth method, its policies and roles there. The keys that verify the identities are served under
/// /.well-known/jwks.json by every agent.
#[derive(Debug, clap::Parser)]
pub struct Setup {
    #[arg(value_name = "command", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for Setup {
    const META: Meta = Meta::new("setup").unlisted();

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let system = match self.optional_args.first().map(String::as_str) {
            Some("consul") => "Consul",
            Some("vault") => "Vault",
            Some(_) | None => "Consul and Vault",
        };
        context.failure(&format!(
            "encamp does not configure {system}. Create the auth method there with the address \
             <agent>/.well-known/jwks.json, with its policies and roles; see \"encamp setup -help\"."
        ))
    }
}
