//! `autoscale failsafe`: failsafe mode of a worker pool or a job's group (`docs/spec/cluster-scaling.md §7`, `§13`).

use serde_json::json;

use super::groups::{Groups, Source};
use super::pools::{Pools, unknown};
use super::state::{self, Stored};
use crate::cluster::{ClusterFlags, FetchFlags, TimeFlags};
use crate::context::clock;
use crate::prelude::*;
use crate::prompt;
use encamp_api::{Client, Query, path};
use encamp_autoscale::paths::pool_state;
use encamp_autoscale::record::Record;
use encamp_autoscale::status::PoolStatus;
use encamp_model::{AclToken, Time, quoted};
use serde_json::Value;

/// The maximum number of attempts to update a state object that other processes write at the same time.
const ATTEMPTS: usize = 5;

/// Enable or disable failsafe mode of a worker pool or job group
///
/// A pool in failsafe mode is neither evaluated nor scaled by any autoscaler until failsafe mode is disabled. Pools
/// enter failsafe mode after repeated failures; disabling it resets the failure count. The pool's state records who
/// changed the mode and when.
///
/// Give the pool as the argument or with -pool, or with -state-path, the path of the Variable that holds its state.
/// Give a job group with -group; it is looked up in the namespace of the command.
///
/// If the cluster's servers do not scale pools themselves, the command updates the state object in the Variables, which
/// an external autoscaler reads.
#[derive(Debug, clap::Parser)]
pub struct AutoscaleFailsafe {
    /// Enable failsafe mode
    #[arg(long)]
    pub enable: bool,
    /// Disable failsafe mode
    #[arg(long)]
    pub disable: bool,
    /// The worker pool
    #[arg(long, value_name = "name")]
    pub pool: Option<String>,
    /// Path of the Variable that holds the state of the pool: encamp/autoscale/state/nodes/NAME
    #[arg(long, value_name = "path")]
    pub state_path: Option<String>,
    /// The job group, as JOB/GROUP
    #[arg(long, value_name = "job/group")]
    pub group: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Alias of -yes
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "pool")]
    pub(crate) optional_args: Vec<String>,
}

/// How a pool is named.
enum Named {
    Pool(String),
    StatePath(String),
    Group(String),
}

impl Named {
    fn is(&self, pool: &str) -> bool {
        match self {
            Named::Pool(name) => name == pool,
            Named::StatePath(path) => *path == pool_state(pool),
            Named::Group(_) => false,
        }
    }

    fn find<'a>(&self, pools: impl Iterator<Item = &'a String> + Clone) -> CommandResult<String> {
        let found = pools.clone().find(|p| self.is(p)).cloned();
        found.ok_or_else(|| match self {
            Named::Pool(name) => unknown(name, pools),
            Named::StatePath(path) => CommandError::new(format!("No worker pool has its state at {}", quoted(path))),
            Named::Group(name) => CommandError::new(format!("{} is a job group", quoted(name))),
        })
    }
}

impl AutoscaleFailsafe {
    fn named(&self) -> CommandResult<Named> {
        let given = |flag: &Option<String>| flag.clone().filter(|v| !v.is_empty());
        let argument = match self.optional_args.as_slice() {
            [] => None,
            [pool] => Some(pool.clone()),
            _ => return Err(CommandError::new("This command takes one argument: <pool>")),
        };
        let mut names = argument.into_iter().chain(given(&self.pool)).map(Named::Pool).collect::<Vec<_>>();
        names.extend(given(&self.state_path).map(|p| Named::StatePath(p.trim_start_matches('/').to_string())));
        names.extend(given(&self.group).map(Named::Group));
        match (names.pop(), names.is_empty()) {
            (Some(name), true) => Ok(name),
            (Some(_), false) => Err(CommandError::new(
                "Name the pool once: as an argument, with -pool or with -state-path; or a group with -group",
            )),
            (None, _) => Err(CommandError::new("This command takes one argument: <pool>")),
        }
    }

    fn change(&self, c: &Connection, context: &mut Context<'_, '_>, named: &Named) -> CommandResult<u8> {
        if let Named::Group(name) = named {
            return self.change_group(c, context, name);
        }
        let answer = c.wait(c.client.rows::<PoolStatus>("/v1/autoscale/pools", &Query::default()));
        match state::offered(answer, "querying worker pools")? {
            Some((pools, _)) => self.through_the_leader(c, context, named, &pools),
            None => self.in_the_variable(c, context, named),
        }
    }

    fn through_the_leader(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        named: &Named,
        pools: &[PoolStatus],
    ) -> CommandResult<u8> {
        let name = named.find(pools.iter().map(|p| &p.pool))?;
        let now = pools.iter().find(|p| p.pool == name).is_some_and(|p| p.failsafe);
        let what = pool(&name);
        if let Some(code) = self.settled(context, &what, now) {
            return Ok(code);
        }
        let to = path("/v1/autoscale/pool/", &name, "/failsafe");
        let body = json!({"Enable": self.enable, "Operator": self.who(c, context)});
        let put = c.wait(c.client.put::<_, Value>(&to, &Query::default(), &body));
        put.map_err(|e| CommandError::new(format!("Error setting failsafe mode: {e}")))?;
        self.done(context, &what);
        Ok(0)
    }

    fn change_group(&self, c: &Connection, context: &mut Context<'_, '_>, name: &str) -> CommandResult<u8> {
        let read = Groups::read(c, &FetchFlags::default(), &self.general, context.env)?;
        let group = read.find(name)?;
        let id = group.id();
        let what = format!("job group {}", quoted(&id.name()));
        if let Some(code) = self.settled(context, &what, group.failsafe) {
            return Ok(code);
        }
        let who = self.who(c, context);
        match read.source {
            Source::Leader => {
                let to = path("/v1/autoscale/group/", &format!("{}/{}", id.job, id.group), "/failsafe");
                let body = json!({"Enable": self.enable, "Operator": who});
                let put = c.wait(c.client.put::<_, Value>(&to, &Query::in_namespace(&id.namespace), &body));
                put.map_err(|e| CommandError::new(format!("Error setting failsafe mode: {e}")))?;
            }
            Source::Variables => {
                let client = state::client(c)?;
                let (path, name) = (id.state_path(), id.name());
                self.write_until_it_holds(c, &client, (&path, &name), &who, || state::read_group(c, &client, &id))?;
            }
        }
        self.done(context, &what);
        Ok(0)
    }

    /// Without a leader that scales pools, the state object itself is updated.
    fn in_the_variable(&self, c: &Connection, context: &mut Context<'_, '_>, named: &Named) -> CommandResult<u8> {
        let pools = Pools::load(&ClusterFlags::default(), &TimeFlags::default(), &self.general, context.env)?;
        let name = named.find(pools.registry.pools().keys())?;
        let client = state::client(c)?;
        let before = state::read(c, &client, &name)?.record;
        let what = pool(&name);
        if let Some(code) = self.settled(context, &what, before.failsafe_mode) {
            return Ok(code);
        }
        let who = self.who(c, context);
        let path = pool_state(&name);
        self.write_until_it_holds(c, &client, (&path, &name), &who, || state::read(c, &client, &name))?;
        self.done(context, &what);
        Ok(0)
    }

    /// Updates the state object with this path and name; retries while other processes write it at the same time.
    fn write_until_it_holds(
        &self,
        c: &Connection,
        client: &Client,
        (path, name): (&str, &str),
        who: &str,
        read: impl Fn() -> CommandResult<Stored>,
    ) -> CommandResult<()> {
        for _ in 0..ATTEMPTS {
            let mut stored = read()?;
            let now = clock();
            stored.record.set_failsafe(self.enable, who, now);
            stored.record.last_updated = Some(Time::from_unix_nanos(now));
            stored.record = Record { resource_name: name.to_string(), ..stored.record };
            if state::write(c, client, &stored)? {
                return Ok(());
            }
        }
        Err(CommandError::new(format!("Error: other processes keep writing the Variable {path}; try again")))
    }

    /// The accessor of the token, or the user and host if there is no token.
    fn who(&self, c: &Connection, context: &Context<'_, '_>) -> String {
        if c.client.config().token.is_some() {
            let token = c.wait(c.client.get::<AclToken>("/v1/acl/token/self", &Query::default()));
            if let Ok((AclToken { accessor_id, .. }, _)) = token
                && !accessor_id.is_empty()
            {
                return format!("token {accessor_id}");
            }
        }
        let user = ["USER", "LOGNAME"].into_iter().find_map(|name| context.env.var(name)).unwrap_or("unknown");
        format!("{user}@{}", encamp_host::platform::process::host_name())
    }

    /// Ends the command if the mode is already set or the operator does not confirm. `what`: the pool or group.
    fn settled(&self, context: &mut Context<'_, '_>, what: &str, now: bool) -> Option<u8> {
        let mode = if self.enable { "enabled" } else { "disabled" };
        if now == self.enable {
            context.ui.output(&format!("Failsafe mode of {what} is already {mode}"));
            return Some(0);
        }
        if self.yes || self.force {
            return None;
        }
        let verb = if self.enable { "enable" } else { "disable" };
        let question = format!("Are you sure you want to {verb} failsafe mode of {what}? [y/N]");
        prompt::confirm(context.ui, &question, "Cancelling: failsafe mode is unchanged").err()
    }

    fn done(&self, context: &mut Context<'_, '_>, what: &str) {
        let text = match self.enable {
            true => format!("Failsafe mode of {what} enabled: it is neither evaluated nor scaled"),
            false => format!("Failsafe mode of {what} disabled: it is evaluated again"),
        };
        context.ui.output(&text);
    }
}

/// A pool in messages.
fn pool(name: &str) -> String {
    format!("worker pool {}", quoted(name))
}

impl Run for AutoscaleFailsafe {
    const META: Meta = Meta::new("autoscale failsafe")
        .exit_status(&[
            (0, "The mode was set, or the pool was already in that mode."),
            (1, "An error occurred, or the pool or group does not exist."),
        ])
        .examples(&[
            ("Stop all scaling of a worker pool", "encamp autoscale failsafe -enable -yes web-workers"),
            ("Scale the pool again", "encamp autoscale failsafe -disable -yes web-workers"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.enable == self.disable {
            return context.usage_error("Exactly one of -enable and -disable is required");
        }
        let named = match self.named() {
            Ok(named) => named,
            Err(e) => return context.usage_error(e.message()),
        };
        context.connected(&self.general, |c, context| self.change(c, context, &named))
    }
}
