//! The table of known members. Pure.

use std::collections::BTreeMap;

use super::identity::Identity;
use encamp_raft::ServerId;
use encamp_server::leadership::peers::{KnownServer, Status};

/// Most servers that are remembered; those that are alive are never forgotten for new ones.
const MOST: usize = 1024;

/// Servers by ID.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<ServerId, (Identity, Status)>);

impl Table {
    fn put(&mut self, identity: &Identity, status: Status) {
        let known = self.0.get(&identity.id);
        if known.is_some_and(|(k, _)| k.bump > identity.bump) || (known.is_none() && self.0.len() >= MOST) {
            return;
        }
        let status = if identity.left { Status::Left } else { status };
        // A failed member that was forced to leave counts as left until it returns.
        let gone = known.is_some_and(|(_, s)| *s == Status::Left) && status == Status::Failed;
        self.0.insert(identity.id, (identity.clone(), if gone { Status::Left } else { status }));
    }

    /// A server answers.
    pub(crate) fn up(&mut self, identity: &Identity) {
        self.put(identity, Status::Alive);
    }

    /// A server does not answer any more, or said that it leaves.
    pub(crate) fn down(&mut self, identity: &Identity) {
        self.put(identity, Status::Failed);
    }

    /// A member changed its identity.
    pub(crate) fn renamed(&mut self, old: &Identity, new: &Identity) {
        if old.id != new.id {
            self.down(old);
        }
        self.up(new);
    }

    /// A server that does not answer has left for good; with `prune` it is forgotten. False if no such server is known.
    pub(crate) fn force_leave(&mut self, name: &str, prune: bool) -> bool {
        let found = self.0.iter_mut().find(|(_, (k, s))| is_named(k, name) && *s != Status::Alive);
        let Some((id, entry)) = found.map(|(id, entry)| (*id, entry)) else { return false };
        entry.1 = Status::Left;
        if prune {
            self.0.remove(&id);
        }
        true
    }

    /// Whether a server of that name answers.
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        self.0.values().any(|(k, s)| is_named(k, name) && *s == Status::Alive)
    }

    /// The server with an ID, if it answers.
    pub(crate) fn alive(&self, id: ServerId) -> Option<&Identity> {
        self.0.get(&id).filter(|(_, s)| *s == Status::Alive).map(|(k, _)| k)
    }

    /// The server with an ID, as it was last heard of.
    pub(crate) fn last(&self, id: ServerId) -> Option<&Identity> {
        self.0.get(&id).map(|(k, _)| k)
    }

    /// Those that answer.
    pub(crate) fn all_alive(&self) -> Vec<Identity> {
        self.0.values().filter(|(_, s)| *s == Status::Alive).map(|(k, _)| k.clone()).collect()
    }

    /// All, by name.
    pub(crate) fn known(&self) -> Vec<KnownServer> {
        let mut all: Vec<KnownServer> = self.0.values().map(|(k, s)| k.known(*s)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

/// Whether a server has that name, given with or without its region.
fn is_named(server: &Identity, name: &str) -> bool {
    server.name == name || server.full_name() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(n: u8, bump: u64) -> Identity {
        let id = format!("00000000-0000-0000-0000-0000000000{n:02}").parse().expect("an ID");
        let at = Identity::at(([10, 0, 0, n], 4648).into());
        Identity { id, bump, name: format!("s{n}"), region: "global".into(), ..at }
    }

    fn statuses(table: &Table) -> Vec<(String, Status)> {
        table.known().into_iter().map(|k| (k.name, k.status)).collect()
    }

    #[test]
    fn news_of_the_past_count_no_more() {
        let mut table = Table::default();
        table.up(&server(1, 2));
        table.down(&server(1, 1));
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Alive)]);
        table.down(&server(1, 2));
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Failed)]);
        table.up(&server(1, 3));
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Alive)]);
    }

    #[test]
    fn who_leaves_has_not_failed() {
        let mut table = Table::default();
        table.up(&server(1, 1));
        table.down(&Identity { left: true, ..server(1, 2) });
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Left)]);
    }

    #[test]
    fn only_those_that_do_not_answer_are_forced() {
        let mut table = Table::default();
        table.up(&server(1, 1));
        assert!(!table.force_leave("s1", false) && table.is_alive("s1") && table.is_alive("s1.global"));
        table.down(&server(1, 1));
        assert!(table.force_leave("s1.global", false) && !table.is_alive("s1"));
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Left)]);
        assert!(table.force_leave("s1", true) && table.known().is_empty());
        assert!(!table.force_leave("s1", true));
    }

    #[test]
    fn a_new_server_at_an_old_address() {
        let mut table = Table::default();
        table.up(&server(1, 1));
        let new = Identity { addr: server(1, 1).addr, ..server(2, 2) };
        table.renamed(&server(1, 1), &new);
        let all = [("s1.global".to_string(), Status::Failed), ("s2.global".to_string(), Status::Alive)];
        assert_eq!(statuses(&table), all);
    }
}
