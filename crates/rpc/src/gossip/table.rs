//! The table of known members. Pure.

use std::collections::BTreeMap;

use super::identity::Identity;
use encamp_raft::ServerId;
use encamp_server::leadership::peers::{KnownServer, Status};

/// Most servers that are remembered; those that are alive are never forgotten for new ones.
const MOST: usize = 1024;

/// What is known of a server.
#[derive(Debug)]
struct Entry {
    identity: Identity,
    status: Status,
    /// Whether it is forgotten when it stops answering: it was forced to leave like that.
    prune: bool,
}

/// What came of forcing a server to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    /// No server of that name is known.
    Unknown,
    /// It does not answer: it has left, or is forgotten.
    Gone,
    /// It answers: it leaves, until somebody says that it stays.
    Leaving(ServerId),
}

/// Servers by ID.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<ServerId, Entry>);

impl Table {
    fn put(&mut self, identity: &Identity, status: Status) {
        let known = self.0.get(&identity.id);
        if known.is_some_and(|k| k.identity.bump > identity.bump) || (known.is_none() && self.0.len() >= MOST) {
            return;
        }
        let status = if identity.left { Status::Left } else { status };
        // A member that was forced to leave, and does not answer, counts as left until it returns.
        let forced = known.is_some_and(|k| matches!(k.status, Status::Left | Status::Leaving));
        let status = if forced && status == Status::Failed { Status::Left } else { status };
        if status == Status::Left && known.is_some_and(|k| k.prune) {
            self.0.remove(&identity.id);
            return;
        }
        self.0.insert(identity.id, Entry { identity: identity.clone(), status, prune: false });
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

    /// Forces a server to leave. One that does not answer has left for good; with `prune` it is forgotten. Of several
    /// with that name, those that do not answer come first.
    pub(crate) fn force_leave(&mut self, name: &str, prune: bool) -> Forced {
        let named = self.0.values_mut().filter(|k| is_named(&k.identity, name));
        let Some(entry) = named.min_by_key(|k| k.status.responds()) else { return Forced::Unknown };
        let id = entry.identity.id;
        if entry.status.responds() {
            (entry.status, entry.prune) = (Status::Leaving, prune);
            return Forced::Leaving(id);
        }
        entry.status = Status::Left;
        if prune {
            self.0.remove(&id);
        }
        Forced::Gone
    }

    /// A server that was forced to leave still answers: it stays.
    pub(crate) fn stays(&mut self, id: ServerId) {
        if let Some(entry) = self.0.get_mut(&id).filter(|k| k.status == Status::Leaving) {
            (entry.status, entry.prune) = (Status::Alive, false);
        }
    }

    /// Whether a server of that name answers, and was not forced to leave.
    pub(crate) fn is_alive(&self, name: &str) -> bool {
        self.0.values().any(|k| is_named(&k.identity, name) && k.status == Status::Alive)
    }

    /// The server with an ID, if it answers.
    pub(crate) fn alive(&self, id: ServerId) -> Option<&Identity> {
        self.0.get(&id).filter(|k| k.status.responds()).map(|k| &k.identity)
    }

    /// The server with an ID, as it was last heard of.
    pub(crate) fn last(&self, id: ServerId) -> Option<&Identity> {
        self.0.get(&id).map(|k| &k.identity)
    }

    /// Those that answer.
    pub(crate) fn all_alive(&self) -> Vec<Identity> {
        self.0.values().filter(|k| k.status.responds()).map(|k| k.identity.clone()).collect()
    }

    /// All, by name.
    pub(crate) fn known(&self) -> Vec<KnownServer> {
        let mut all: Vec<KnownServer> = self.0.values().map(|k| k.identity.known(k.status)).collect();
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
    fn servers_in_every_state_are_forced() {
        let s1 = |status| vec![("s1.global".to_string(), status)];
        // The status before; with `prune`?; what comes of it; the status then, after it stops, and after it is back.
        for (before, prune, forced, then, stopped) in [
            (Status::Alive, false, Forced::Leaving(server(1, 1).id), s1(Status::Leaving), s1(Status::Left)),
            (Status::Alive, true, Forced::Leaving(server(1, 1).id), s1(Status::Leaving), vec![]),
            (Status::Leaving, false, Forced::Leaving(server(1, 1).id), s1(Status::Leaving), s1(Status::Left)),
            (Status::Leaving, true, Forced::Leaving(server(1, 1).id), s1(Status::Leaving), vec![]),
            (Status::Failed, false, Forced::Gone, s1(Status::Left), s1(Status::Left)),
            (Status::Failed, true, Forced::Gone, vec![], s1(Status::Failed)),
            (Status::Left, false, Forced::Gone, s1(Status::Left), s1(Status::Left)),
            (Status::Left, true, Forced::Gone, vec![], s1(Status::Failed)),
        ] {
            for name in ["s1", "s1.global"] {
                let mut table = Table::default();
                table.up(&server(1, 1));
                match before {
                    Status::Alive => {}
                    Status::Leaving => assert_ne!(table.force_leave("s1", !prune), Forced::Unknown),
                    Status::Failed => table.down(&server(1, 1)),
                    Status::Left => table.down(&Identity { left: true, ..server(1, 1) }),
                }
                assert_eq!(statuses(&table), s1(before));
                assert_eq!((table.force_leave("nobody", prune), statuses(&table)), (Forced::Unknown, s1(before)));
                assert_eq!((table.force_leave(name, prune), statuses(&table)), (forced, then.clone()), "{before:?}");
                assert!(!table.is_alive(name), "{before:?}");
                assert_eq!(table.alive(server(1, 1).id).is_some(), forced != Forced::Gone, "a leaving one is reached");
                table.down(&server(1, 1));
                assert_eq!(statuses(&table), stopped, "{before:?} {prune}");
                table.up(&server(1, 2));
                assert_eq!(statuses(&table), s1(Status::Alive), "it returns");
            }
        }
    }

    #[test]
    fn who_still_answers_stays() {
        let mut table = Table::default();
        table.up(&server(1, 1));
        table.force_leave("s1", true);
        table.stays(server(1, 1).id);
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Alive)]);
        table.down(&server(1, 1));
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Failed)], "it is not forgotten");
        table.stays(server(1, 1).id);
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Failed)]);
    }

    #[test]
    fn of_two_servers_with_a_name_the_failed_one_goes() {
        let mut table = Table::default();
        let twin = Identity { name: "s1".into(), ..server(2, 1) };
        table.up(&server(1, 1));
        table.up(&twin);
        table.down(&twin);
        assert_eq!(table.force_leave("s1", true), Forced::Gone);
        assert_eq!(statuses(&table), [("s1.global".to_string(), Status::Alive)]);
        assert!(table.alive(server(1, 1).id).is_some());
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
