//! What a person may do, as far as the cluster tells: pages offer no action that the API would refuse. The API decides
//! in any case.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use encamp_acl::{Acl, Rules};
use encamp_model::acl::{AclPolicy, AclRole, AclToken};
use encamp_model::status::AclTokenType;
use parking_lot::Mutex;

use crate::cluster::Source;
use crate::visit::{Visit, path};

/// How long an answer counts.
const KEPT: Duration = Duration::from_secs(10);
/// Persons whose rights are kept.
const MOST: usize = 256;
/// Policies and roles of a token that are read; the rights of a token with more are not known.
const MOST_POLICIES: usize = 64;
/// The accessor ID of every caller where access control is off.
const NO_ACCESS_CONTROL: &str = "acls-disabled";

/// The rights of a person; none: the cluster does not tell.
pub(crate) type Rights = Option<Arc<Acl>>;

/// The rights of those who opened pages lately, by a signature of their tokens.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<String, (Instant, Rights)>>);

impl Known {
    /// The rights of the person of a visit, whose token has this signature.
    pub(crate) async fn of(&self, visit: &Visit, signature: String) -> Rights {
        match visit.source() {
            Source::File { .. } => return None,
            Source::Agent { acl: false, .. } => return Some(Arc::new(Acl::management())),
            Source::Agent { acl: true, .. } | Source::Address(_) => {}
        }
        let known = self.0.lock().get(&signature).filter(|(read, _)| read.elapsed() < KEPT).cloned();
        if let Some((_, rights)) = known {
            return rights;
        }
        let rights = read(visit).await.map(Arc::new);
        let mut all = self.0.lock();
        if all.len() >= MOST {
            all.retain(|_, (read, _)| read.elapsed() < KEPT);
        }
        if all.len() < MOST {
            all.insert(signature, (Instant::now(), rights.clone()));
        }
        rights
    }
}

/// Reads the policies of the person's token; none if the cluster does not tell all of them.
async fn read(visit: &Visit) -> Option<Acl> {
    let token: AclToken = visit.read("/v1/acl/token/self", &[]).await.ok()?;
    if token.r#type == AclTokenType::Management || token.accessor_id == NO_ACCESS_CONTROL {
        return Some(Acl::management());
    }
    if token.roles.len() > MOST_POLICIES {
        return None;
    }
    let mut names: BTreeSet<String> = token.policies.into_iter().collect();
    for role in &token.roles {
        let role: Option<AclRole> = visit.find(&path("/v1/acl/role/", &role.id, ""), &[]).await.ok()?;
        names.extend(role.into_iter().flat_map(|role| role.policies).map(|policy| policy.name));
    }
    if names.len() > MOST_POLICIES {
        return None;
    }
    let mut rules = Vec::new();
    for name in names {
        // A policy that does not exist grants nothing.
        let policy: Option<AclPolicy> = visit.find(&path("/v1/acl/policy/", &name, ""), &[]).await.ok()?;
        if let Some(policy) = policy {
            rules.push((name, Rules::parse(&policy.rules).ok()?));
        }
    }
    Some(Acl::merge(rules.iter().map(|(name, rules)| (name.as_str(), rules))))
}
