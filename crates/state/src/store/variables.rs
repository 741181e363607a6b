//! Encrypted variables, by namespace and path, and by the key that encrypts them.

use std::sync::Arc;

use super::StateStore;
use encamp_model::VariableEncrypted;

fn by_key(v: &VariableEncrypted) -> (String, String, String) {
    (v.key_id.clone(), v.namespace.clone(), v.path.clone())
}

impl StateStore {
    /// The variable at a path.
    pub fn variable(&self, namespace: &str, path: &str) -> Option<&Arc<VariableEncrypted>> {
        self.variables.get(&(namespace.to_string(), path.to_string()))
    }

    /// All variables by namespace and path.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<VariableEncrypted>> {
        self.variables.values()
    }

    /// The variables of a namespace whose path begins with `prefix`, by path.
    pub fn variables_below<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
    ) -> impl Iterator<Item = &'a Arc<VariableEncrypted>> {
        let range = self.variables.range((namespace.to_string(), prefix.to_string())..);
        range.take_while(move |((ns, path), _)| ns == namespace && path.starts_with(prefix)).map(|(_, v)| v)
    }

    /// The variables that a key encrypts, by namespace and path.
    pub fn variables_of_key<'a>(&'a self, key_id: &'a str) -> impl Iterator<Item = &'a Arc<VariableEncrypted>> {
        let range = self.variables_by_key.range((key_id.to_string(), String::new(), String::new())..);
        range.take_while(move |(key, _, _)| key == key_id).filter_map(|(_, ns, path)| self.variable(ns, path))
    }

    /// Adds or replaces a variable.
    pub fn put_variable(&mut self, v: Arc<VariableEncrypted>) {
        self.remove_variable(&v.namespace, &v.path);
        self.variables_by_key.insert(by_key(&v));
        self.variables.insert((v.namespace.clone(), v.path.clone()), v);
    }

    /// Removes a variable.
    pub fn remove_variable(&mut self, namespace: &str, path: &str) -> Option<Arc<VariableEncrypted>> {
        let old = self.variables.remove(&(namespace.to_string(), path.to_string()))?;
        self.variables_by_key.remove(&by_key(&old));
        Some(old)
    }
}
