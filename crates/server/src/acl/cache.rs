//! Compiled policies, bounded in number.
//!
//! Three steps, each keyed by what decides it: the rules of a policy by its name and index; merged rules by the set of
//! policies; the set of policies of a token by the indexes of the token and of the tables of policies and roles. A
//! write to any of them changes the key, so that nothing has to be removed for correctness.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use encamp_acl::{Acl, Rules};
use encamp_model::AclPolicy;
use parking_lot::RwLock;
use rustc_hash::FxBuildHasher;

/// The number of entries of each step. A step that is full starts again from nothing.
const ENTRIES: usize = 16_384;

/// A policy as it was at an index.
pub(super) type PolicyKey = (String, u64);

/// What decides the permissions of a token: its ModifyIndex, and the indexes of policies and roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The token's ModifyIndex.
    pub token: u64,
    /// The index of the table of policies.
    pub policies: u64,
    /// The index of the table of roles.
    pub roles: u64,
}

/// A map that never holds more than [`ENTRIES`].
struct Bounded<K, V>(RwLock<HashMap<K, V, FxBuildHasher>>);

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Bounded(RwLock::new(HashMap::default()))
    }
}

impl<K: Eq + Hash, V: Clone> Bounded<K, V> {
    fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.read().get(key).cloned()
    }

    fn put(&self, key: K, value: V) {
        let mut map = self.0.write();
        if map.len() >= ENTRIES && !map.contains_key(&key) {
            map.clear();
        }
        map.insert(key, value);
    }
}

/// The caches of a server.
#[derive(Default)]
pub(super) struct Cache {
    rules: Bounded<PolicyKey, Arc<Rules>>,
    merged: Bounded<Vec<PolicyKey>, Arc<Acl>>,
    /// By accessor.
    tokens: Bounded<String, (Stamp, Arc<Acl>)>,
}

impl Cache {
    /// The permissions of a token, if nothing that decides them has changed.
    pub(super) fn of_token(&self, accessor: &str, stamp: &Stamp) -> Option<Arc<Acl>> {
        self.tokens.get(accessor).filter(|(known, _)| known == stamp).map(|(_, acl)| acl)
    }

    /// Keeps the permissions of a token.
    pub(super) fn keep(&self, accessor: &str, stamp: Stamp, acl: &Arc<Acl>) {
        self.tokens.put(accessor.to_string(), (stamp, acl.clone()));
    }

    /// The merged rules of policies.
    pub(super) fn merged(&self, mut policies: Vec<Arc<AclPolicy>>) -> Arc<Acl> {
        policies.sort_by(|a, b| a.name.cmp(&b.name));
        policies.dedup_by(|a, b| a.name == b.name);
        let key: Vec<PolicyKey> = policies.iter().map(|p| (p.name.clone(), p.modify_index)).collect();
        if let Some(acl) = self.merged.get(&key) {
            return acl;
        }
        let rules: Vec<(&str, Arc<Rules>)> = policies.iter().map(|p| (p.name.as_str(), self.rules(p))).collect();
        let acl = Arc::new(Acl::merge(rules.iter().map(|(name, rules)| (*name, &**rules))));
        self.merged.put(key, acl.clone());
        acl
    }

    fn rules(&self, policy: &AclPolicy) -> Arc<Rules> {
        let key = (policy.name.clone(), policy.modify_index);
        if let Some(rules) = self.rules.get(&key) {
            return rules;
        }
        let rules = Arc::new(Rules::parse_stored(&policy.rules));
        self.rules.put(key, rules.clone());
        rules
    }
}
