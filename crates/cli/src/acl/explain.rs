//! `acl explain` (`docs/spec/cli.md §13`): why a token may do something or not.

use std::collections::BTreeSet;

use super::{is_expired, policy_names};
use crate::object_commands::{Object, ObjectFlags};
use crate::prelude::*;
use encamp_acl::explain::parse_need;
use encamp_acl::{Acl, Rules};
use encamp_model::{AclPolicy, AclRole, AclToken, AclTokenType};

/// Explain why a token may do something or not
///
/// Compiles the policies of the token and its roles, and prints which rule of which policy decides, and which other
/// rules match but are farther away. Nothing is done.
///
/// The first argument is the accessor ID of the token, or - for the token of the command. The second is a capability:
/// submit-job and the others of namespaces, variable:read, pool:write, host-volume:mount-readonly, node:read,
/// agent:write, operator:read, plugin:list, keyring-rotate and the others of operators, or management. The third is the
/// object: a namespace (default: default), namespace and path of a variable with a colon between them, or the name of a
/// node pool or host volume.
#[derive(Debug, clap::Parser)]
pub struct AclExplain {
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(
        value_name = "accessor> <capability> [object]",
        allow_hyphen_values = true,
        add = CompleteWith::Live(Objects::AclTokens)
    )]
    pub(crate) args: Vec<String>,
}

impl Run for AclExplain {
    const META: Meta = Meta::new("acl explain")
        .usage_exit(2)
        .exit_status(&[
            (0, "The token may do it."),
            (1, "The token may not do it, or has expired."),
            (2, "An error occurred, or the usage was wrong."),
        ])
        .examples(&[
            (
                "Explain whether a token may register jobs",
                "encamp acl explain e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 submit-job",
            ),
            (
                "Explain whether it may read a variable",
                "encamp acl explain e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 \\\n    variable:read default:nomad/jobs/web",
            ),
            ("Explain the token of the command", "encamp acl explain - node:write"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (accessor, capability, object) = match self.args.as_slice() {
            [accessor, capability] => (accessor, capability, ""),
            [accessor, capability, object] => (accessor, capability, object.as_str()),
            _ => {
                return context
                    .usage_error("This command takes two or three arguments: <accessor> <capability> [object]");
            }
        };
        let need = match parse_need(capability, object) {
            Ok(need) => need,
            Err(e) => return context.usage_error(&e.to_string()),
        };
        let ObjectFlags { format, general } = &self.flags;
        context.connected(general, |c, context| {
            let formatted = format.wanted().map_err(|e| e.with_exit_code(2))?;
            let rights = rights_of(c, accessor, context.env.now).map_err(|e| e.with_exit_code(2))?;
            let explained = need.explained_by(&rights.acl);
            if formatted {
                format.print(context.ui, &explained, "*encamp.Explanation")?;
            } else {
                context.ui.output(explained.to_string().trim_end());
                for remark in &rights.remarks {
                    context.ui.output(remark);
                }
            }
            Ok(u8::from(!explained.allowed || rights.expired))
        })
    }
}

/// What a token may do, as compiled by this command.
struct Rights {
    acl: Acl,
    expired: bool,
    /// What else is to be known: policies and roles that do not exist, expiry.
    remarks: Vec<String>,
}

/// The rights of a token; `-` for the token of the command.
fn rights_of(c: &Connection, accessor: &str, now: i64) -> CommandResult<Rights> {
    if accessor == "-" {
        return own_rights(c);
    }
    let token = AclToken::find(c, accessor)?;
    let mut remarks = Vec::new();
    let expired = is_expired(&token, now);
    if expired {
        let at = token.expiration_time.unwrap_or_default();
        remarks.push(format!("The token expired at {at}: it is refused whatever its policies are."));
    }
    if token.r#type == AclTokenType::Management {
        return Ok(Rights { acl: Acl::management(), expired, remarks });
    }
    let mut names: BTreeSet<String> = token.policies.iter().cloned().collect();
    for link in &token.roles {
        match c.wait(c.client.object::<AclRole>(&link.id)) {
            Ok((role, _)) => names.extend(policy_names(&role)),
            Err(e) if e.is_not_found() => remarks.push(format!("The role {} does not exist.", link.id)),
            Err(e) => return Err(CommandError::from(e).within("Error reading ACL role")),
        }
    }
    let mut rules = Vec::new();
    for name in names {
        match c.wait(c.client.object::<AclPolicy>(&name)) {
            Ok((policy, _)) => rules.push((name, Rules::parse_stored(&policy.rules))),
            Err(e) if e.is_not_found() => remarks.push(format!("The policy {name} does not exist: it grants nothing.")),
            Err(e) => return Err(CommandError::from(e).within(AclPolicy::SHOW.failed)),
        }
    }
    let acl = Acl::merge(rules.iter().map(|(name, rules)| (name.as_str(), rules)));
    Ok(Rights { acl, expired, remarks })
}

/// The rights of the token of the command, as a server tells them.
fn own_rights(c: &Connection) -> CommandResult<Rights> {
    let access = c.ask(c.client.acl_access(), "Error fetching the rights of the token")?;
    Ok(Rights { acl: Acl::of_answer(&access), expired: false, remarks: Vec::new() })
}
