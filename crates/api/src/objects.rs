//! Objects that are read, written and deleted by name or ID, in the same way for each kind, such as those of access
//! control (`docs/spec/http-api.md §5`).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use super::received::Received;
use encamp_model::{AclAuthMethod, AclBindingRule, AclPolicy, AclRole, AclToken};

type Answer<T> = Result<(T, Meta), ApiError>;

/// A kind of objects.
pub trait ApiObject: DeserializeOwned + Default {
    /// The path of an object, without its name or ID.
    const ONE: &'static str;
    /// The path of the list.
    const ALL: &'static str;
}

/// The paths of kinds of objects.
macro_rules! paths {
    ($($kind:ty: $one:literal, $all:literal;)+) => {
        $(impl ApiObject for $kind {
            const ONE: &'static str = $one;
            const ALL: &'static str = $all;
        })+
    };
}

paths! {
    AclPolicy: "/v1/acl/policy", "/v1/acl/policies";
    AclToken: "/v1/acl/token", "/v1/acl/tokens";
    AclRole: "/v1/acl/role", "/v1/acl/roles";
    AclAuthMethod: "/v1/acl/auth-method", "/v1/acl/auth-methods";
    AclBindingRule: "/v1/acl/binding-rule", "/v1/acl/binding-rules";
}

impl Client {
    /// The objects of a kind that the token may see and the query selects.
    pub async fn objects<T: ApiObject>(&self, query: &Query) -> Answer<Vec<Received<T>>> {
        self.rows(T::ALL, query).await
    }

    /// The object of this name or ID; a token of this accessor.
    pub async fn object<T: ApiObject>(&self, id: &str) -> Answer<Received<T>> {
        self.get(&path_of::<T>(id), &Query::default()).await
    }

    /// Creates an object whose ID the servers choose, or which contains its name.
    pub async fn create_object<T: ApiObject>(&self, object: &impl Serialize) -> Answer<Received<T>> {
        self.put(T::ONE, &Query::default(), object).await
    }

    /// Writes the object of this name or ID.
    pub async fn put_object<T: ApiObject>(&self, id: &str, object: &impl Serialize) -> Answer<Received<T>> {
        self.put(&path_of::<T>(id), &Query::default(), object).await
    }

    /// Deletes the object of this name or ID.
    pub async fn delete_object<T: ApiObject>(&self, id: &str) -> Answer<Value> {
        self.delete(&path_of::<T>(id), &Query::default()).await
    }
}

fn path_of<T: ApiObject>(id: &str) -> String {
    path(&format!("{}/", T::ONE), id, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_member_of_an_object_is_lost() {
        let sent = json!({"ID": "1", "Name": "ops", "Policies": null, "New": [1, {"a": null}]});
        let role: Received<AclRole> = serde_json::from_value(sent.clone()).expect("a role");
        assert_eq!((role.id.as_str(), role.name.as_str(), role.policies.len()), ("1", "ops", 0));
        assert_eq!(serde_json::to_value(&role).expect("an object"), sent);
        let wrong = serde_json::from_value::<Received<AclRole>>(json!({"Policies": [{"Name": 7}]})).map(|r| r.json);
        assert!(wrong.expect_err("no role").to_string().contains("Policies[0].Name"));
    }
}
