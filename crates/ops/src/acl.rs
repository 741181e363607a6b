//! Changes of ACL objects (`docs/spec/http-api.md §7`). The leader has checked them; the state machine refuses what
//! another change made impossible in the meantime.

use serde::{Deserialize, Serialize};

use encamp_model::*;

/// A change of ACL objects.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AclChange {
    /// The first management token is made, or one more after a reset.
    Bootstrap {
        /// The token.
        token: AclToken,
        /// The bootstrap index that the operator confirmed; 0: there was no bootstrap yet.
        reset_index: u64,
    },
    /// Policies are written.
    PolicyUpsert(Vec<AclPolicy>),
    /// Policies are removed: names.
    PolicyDelete(Vec<String>),
    /// Tokens are written.
    TokenUpsert(Vec<AclToken>),
    /// Tokens are removed: accessors.
    TokenDelete(Vec<String>),
    /// Roles are written.
    RoleUpsert(Vec<AclRole>),
    /// Roles are removed: IDs.
    RoleDelete(Vec<String>),
    /// Auth methods are written.
    AuthMethodUpsert(Vec<AclAuthMethod>),
    /// Auth methods are removed, with their binding rules: names.
    AuthMethodDelete(Vec<String>),
    /// Binding rules are written.
    BindingRuleUpsert(Vec<AclBindingRule>),
    /// Binding rules are removed: IDs.
    BindingRuleDelete(Vec<String>),
    /// A one-time token is made.
    OneTimeUpsert(OneTimeToken),
    /// A one-time token was exchanged: the accessor, and the index of the write that made it.
    OneTimeDelete(String, u64),
    /// One-time tokens that expire at this time or before are removed.
    OneTimeExpire(i64),
}

impl AclChange {
    /// The name of the operation in metrics.
    pub fn metric(&self) -> &'static str {
        match self {
            AclChange::Bootstrap { .. } => "apply_acl_token_bootstrap",
            AclChange::PolicyUpsert(_) => "apply_acl_policy_upsert",
            AclChange::PolicyDelete(_) => "apply_acl_policy_delete",
            AclChange::TokenUpsert(_) => "apply_acl_token_upsert",
            AclChange::TokenDelete(_) => "apply_acl_token_delete",
            AclChange::RoleUpsert(_) => "apply_acl_role_upsert",
            AclChange::RoleDelete(_) => "apply_acl_role_delete_by_id",
            AclChange::AuthMethodUpsert(_) => "apply_acl_auth_method_upsert",
            AclChange::AuthMethodDelete(_) => "apply_acl_auth_method_delete",
            AclChange::BindingRuleUpsert(_) => "apply_acl_binding_rule_upsert",
            AclChange::BindingRuleDelete(_) => "apply_acl_binding_rule_delete",
            AclChange::OneTimeUpsert(_) => "apply_one_time_token_upsert",
            AclChange::OneTimeDelete(..) => "apply_one_time_token_delete",
            AclChange::OneTimeExpire(_) => "apply_one_time_token_expire",
        }
    }

    /// The type of the events the operation makes, none if it makes no events.
    pub fn event_type(&self) -> Option<&'static str> {
        Some(match self {
            AclChange::Bootstrap { .. } | AclChange::TokenUpsert(_) => "ACLTokenUpserted",
            AclChange::TokenDelete(_) => "ACLTokenDeleted",
            AclChange::PolicyUpsert(_) => "ACLPolicyUpserted",
            AclChange::PolicyDelete(_) => "ACLPolicyDeleted",
            AclChange::RoleUpsert(_) => "ACLRoleUpserted",
            AclChange::RoleDelete(_) => "ACLRoleDeleted",
            AclChange::AuthMethodUpsert(_) => "ACLAuthMethodUpserted",
            AclChange::AuthMethodDelete(_) => "ACLAuthMethodDeleted",
            AclChange::BindingRuleUpsert(_) => "ACLBindingRuleUpserted",
            AclChange::BindingRuleDelete(_) => "ACLBindingRuleDeleted",
            AclChange::OneTimeUpsert(_) | AclChange::OneTimeDelete(..) | AclChange::OneTimeExpire(_) => return None,
        })
    }
}
