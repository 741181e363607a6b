//! `server members`, `server join`, `server force-leave` (`docs/spec/cli.md §15.1`).

use std::collections::BTreeMap;

use super::prelude::*;
use super::render::table::{Form, headed, table};
use crate::web::hint::UiPage;
use encamp_api::Received;
use encamp_api::types::{AgentMember, AgentMembers};
use encamp_model::quoted;
use serde_json::Value;

/// Display a list of known servers and their status
///
/// Lists the servers that the contacted server knows, and which of them are leaders.
#[derive(Debug, clap::Parser)]
pub struct ServerMembers {
    /// Show protocol versions and tags
    #[arg(long)]
    pub verbose: bool,
    /// Alias of -verbose
    #[arg(long)]
    pub detailed: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for ServerMembers {
    const META: Meta =
        Meta::new("server members").former_names(&[FormerName::deprecated("server-members")]).examples(&[
            ("List the servers", "encamp server members"),
            (
                "Print the name and the status of each server",
                "encamp server members \\
    -t '{{range .}}{{.Name}} {{.Status}} {{end}}'",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.show(c, context))
    }
}

type Member = Received<AgentMember>;

/// The RPC address of a member, which identifies leaders.
fn rpc_address(member: &Member) -> String {
    format!("{}:{}", member.addr, tag(member, "port"))
}

fn tag<'a>(member: &'a Member, name: &str) -> &'a str {
    member.tags.get(name).map(String::as_str).unwrap_or_default()
}

/// The addresses of the leaders by region, and the errors of other regions.
fn leaders(c: &Connection, members: &[Member]) -> (BTreeMap<String, String>, Option<String>) {
    let mut regions: Vec<&str> = members.iter().map(|member| tag(member, "region")).collect();
    regions.sort_unstable();
    regions.dedup();
    let (mut found, mut errors) = (BTreeMap::new(), Vec::new());
    for region in regions {
        match c.wait(c.client.leader(region)) {
            Ok((address, _)) => drop(found.insert(region.to_string(), address)),
            Err(e) => errors.push(format!("\t* Region {}: {e}", quoted(region))),
        }
    }
    let count = errors.len();
    let text = (count > 0).then(|| {
        let word = if count == 1 { "error" } else { "errors" };
        format!("{count} {word} occurred:\n{}\n\n", errors.join("\n"))
    });
    (found, text)
}

impl ServerMembers {
    fn show(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let read = c.wait(c.client.agent_members::<AgentMembers<Member>>());
        let (AgentMembers { mut members }, _) = read.context("Error querying servers")?;
        if members.is_empty() {
            return Err(CommandError::new("Agent doesn't know about server members"));
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let (leaders, problem) = leaders(c, &members);
        let leads = |m: &Member| leaders.get(tag(m, "region")).is_some_and(|leader| *leader == rpc_address(m));
        if self.format.wanted()? {
            for member in &mut members {
                // The tag is for the output alone: no server has it.
                if leads(member)
                    && let Some(Value::Object(tags)) = member.json.get_mut("Tags")
                {
                    tags.insert("Leader".into(), "true".into());
                }
            }
            return self.format.print(context.ui, &members, "[]*api.AgentMember");
        }
        context.ui.output(&self.table(&members, leads));
        if let Some(problem) = problem {
            context.ui.output("");
            context.ui.warn(&format!("Error determining leaders: {problem}"));
            return Ok(1);
        }
        UiPage::servers().show(c, self.ui, context);
        Ok(0)
    }

    fn table(&self, members: &[Member], leads: impl Fn(&Member) -> bool) -> String {
        let verbose = self.verbose || self.detailed;
        let (protocol, tags) = if verbose { ("|Protocol", "|Tags") } else { ("", "") };
        // Servers of other programs have none.
        let leveled = members.iter().any(|m| m.tags.contains_key("capability_level"));
        let level = if leveled { "|Level" } else { "" };
        let rows = members.iter().map(|m| {
            let mut cells = vec![m.name.clone(), m.addr.clone(), m.port.to_string(), m.status.clone()];
            cells.push(leads(m).to_string());
            if verbose {
                cells.push(m.protocol_cur.to_string());
            }
            cells.extend(["raft_vsn", "build", "dc", "region"].map(|name| tag(m, name).to_string()));
            if leveled {
                let level = m.tags.get("capability_level").map_or("-", String::as_str);
                cells.push(level.to_string());
            }
            if verbose {
                let tags: Vec<String> = m.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
                cells.push(tags.join(","));
            }
            cells.join("|")
        });
        table(
            &headed(
                &format!("Name|Address|Port|Status|Leader{protocol}|Raft Version|Build|Datacenter|Region{level}{tags}"),
                rows,
            ),
            Form::Spaced,
        )
    }
}

/// Join servers together
///
/// The arguments are the addresses of servers that the contacted server joins.
#[derive(Debug, clap::Parser)]
pub struct ServerJoin {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<address>...")]
    pub(crate) args: Vec<String>,
}

impl Run for ServerJoin {
    const META: Meta = Meta::new("server join").former_names(&[FormerName::deprecated("server-join")]).examples(&[
        ("Let the contacted server join another one", "encamp server join 10.0.0.12:4648"),
        ("Let it join two servers", "encamp server join 10.0.0.12:4648 10.0.0.13:4648"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.args.is_empty() {
            return context.usage_error("One or more server addresses must be given as arguments");
        }
        context.connected(&self.general, |c, context| {
            let (joined, _) = c.wait(c.client.join(&self.args)).context("Error joining")?;
            if !joined.error.is_empty() {
                return Err(CommandError::new(format!("Error joining: {}", joined.error)));
            }
            context.ui.output(&format!("Joined {} servers successfully", joined.num_joined));
            Ok(0)
        })
    }
}

/// Force a server into the "left" state
///
/// Removes a failed server from the list of members immediately. The argument is the name of the server.
#[derive(Debug, clap::Parser)]
pub struct ServerForceLeave {
    /// Remove the server from the list of members completely
    #[arg(long)]
    pub prune: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node")]
    pub(crate) name: String,
}

impl Run for ServerForceLeave {
    const META: Meta =
        Meta::new("server force-leave").former_names(&[FormerName::deprecated("server-force-leave")]).examples(&[
            ("Remove a failed server from the members", "encamp server force-leave server-3.global"),
            (
                "Remove a server completely, so that no list shows it",
                "encamp server force-leave -prune server-3.global",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = &self.name;
        context.connected(&self.general, |c, _| {
            let done = c.wait(c.client.force_leave(name, self.prune));
            done.context(format_args!("Error force-leaving server {name}"))?;
            Ok(0)
        })
    }
}
