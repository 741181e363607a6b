//! Variables: reading, writing with a check, locks (`docs/spec/http-api.md §5.10`, `§8`).

use std::collections::BTreeMap;
use std::fmt;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Call, Client, Meta, Query, path};
use super::error::ApiError;
use super::received::Received;
use encamp_model::json::null_is_default;
use encamp_model::{VariableLock, VariableMetadata};

/// A variable with its values. They may be secrets: they are not part of its debug form.
#[null_is_default]
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Variable {
    /// Its namespace.
    pub namespace: String,
    /// Its path.
    pub path: String,
    /// Index of its making.
    pub create_index: u64,
    /// Index of its last change.
    pub modify_index: u64,
    /// When it was made, Unix nanoseconds.
    pub create_time: i64,
    /// When it was last changed, Unix nanoseconds.
    pub modify_time: i64,
    /// The values by key.
    pub items: BTreeMap<String, String>,
    /// The ID of its holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<VariableLock>,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.items.keys().collect();
        let name = f.debug_struct("Variable").field("namespace", &self.namespace).field("path", &self.path).finish();
        name.and_then(|()| write!(f, " with {keys:?}"))
    }
}

/// Why a variable was not written.
#[derive(Debug)]
pub enum VariableError {
    /// It is not as it was expected to be: as it is on the server.
    Conflict(Box<Variable>),
    /// Something else.
    Other(ApiError),
}

impl From<ApiError> for VariableError {
    /// A conflict comes with the variable as it is.
    fn from(e: ApiError) -> VariableError {
        match &e {
            ApiError::Status { status: 409, body } => match serde_json::from_str::<Variable>(body) {
                Ok(variable) => VariableError::Conflict(Box::new(variable)),
                Err(_) => VariableError::Other(e),
            },
            _ => VariableError::Other(e),
        }
    }
}

/// Paths of variables keep their slashes.
fn variable_path(name: &str) -> String {
    let parts: Vec<String> = name.split('/').map(|part| path("", part, "")).collect();
    format!("/v1/var/{}", parts.join("/"))
}

fn in_namespace(namespace: &str) -> Query {
    Query { namespace: Some(namespace.to_string()).filter(|n| !n.is_empty()), ..Query::default() }
}

impl Client {
    /// Variables that the query asks for, without their values.
    pub async fn variables(&self, query: &Query) -> Result<(Vec<Received<VariableMetadata>>, Meta), ApiError> {
        self.rows("/v1/vars", query).await
    }

    /// One variable with its values.
    pub async fn variable(&self, name: &str) -> Result<Variable, ApiError> {
        Ok(self.get(&variable_path(name), &Query::default()).await?.0)
    }

    /// Writes a variable; with an index, only if it still has that (0: if there is none).
    pub async fn put_variable(&self, variable: &Variable, cas: Option<u64>) -> Result<Variable, VariableError> {
        let mut query = in_namespace(&variable.namespace);
        if let Some(index) = cas {
            query = query.with("cas", index.to_string());
        }
        let body = json!({"Namespace": variable.namespace, "Path": variable.path, "Items": variable.items});
        Ok(self.put(&variable_path(&variable.path), &query, &body).await?.0)
    }

    /// Deletes a variable; with an index, only if it still has that.
    pub async fn delete_variable(&self, name: &str, cas: Option<u64>) -> Result<(), VariableError> {
        let query = cas.map_or_else(Query::default, |index| Query::default().with("cas", index.to_string()));
        let path = variable_path(name);
        self.write::<(), Value>(Call { method: Method::DELETE, path: &path, query: &query, body: None }).await?;
        Ok(())
    }

    /// Takes the lock of a variable, and writes its values: the variable with the lock.
    pub async fn lock_variable(&self, variable: &Variable) -> Result<Variable, VariableError> {
        let query = in_namespace(&variable.namespace).with("lock-acquire", "");
        Ok(self.put(&variable_path(&variable.path), &query, variable).await?.0)
    }

    /// Keeps the lock for one more period (`lock-renew`), or gives it back (`lock-release`).
    pub async fn touch_lock(&self, operation: &'static str, variable: &Variable) -> Result<(), VariableError> {
        let query = in_namespace(&variable.namespace).with(operation, "");
        let body = json!({"Namespace": variable.namespace, "Path": variable.path, "Lock": variable.lock});
        self.put::<_, Value>(&variable_path(&variable.path), &query, &body).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_their_slashes_and_values_stay_hidden() {
        assert_eq!(variable_path("app/we b"), "/v1/var/app/we%20b");
        let items = BTreeMap::from([("key".to_string(), "hush".to_string())]);
        let shown = format!("{:?}", Variable { path: "p".into(), items, ..Variable::default() });
        assert!(shown.contains("key") && !shown.contains("hush"), "{shown}");
    }
}
