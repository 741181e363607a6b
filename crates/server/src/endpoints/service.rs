//! Service registrations (`docs/spec/http-api.md §5.11`).

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::leading::Leading;
use encamp_model::*;
use encamp_ops::Operation;

/// Removes a service registration. Returns the index.
///
/// # Errors
/// The registration is unknown, or there is no leader.
pub async fn delete(server: &Leading, namespace: &str, id: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    if server.snapshot().service(namespace, id).is_none() {
        return Err(Error::internal("service registration not found"));
    }
    Ok(server.commit(Operation::ServiceDelete { id: (namespace.into(), id.into()) }).await?.0)
}

/// Chooses some of the registrations of a service: always the same ones for the same key (rendezvous hashing). `choose`
/// is `<number>|<key>`.
///
/// # Errors
/// 400: `choose` has a different form.
pub fn choose(
    mut services: Vec<Arc<ServiceRegistration>>,
    choose: &str,
) -> Result<Vec<Arc<ServiceRegistration>>, Error> {
    let form = || Error::bad("failed to choose services: Parameter for choose must be in form '<number>|<key>'");
    let (number, key) = choose.split_once('|').ok_or_else(form)?;
    let number: usize = number.parse().map_err(|_| form())?;
    services.sort_by_cached_key(|s| digest(s, key));
    services.truncate(number);
    Ok(services)
}

fn digest(s: &ServiceRegistration, key: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(s.port.to_be_bytes());
    for text in [&s.alloc_id, &s.id, &s.namespace, &s.address, &s.service_name].into_iter().chain(&s.tags) {
        hash.update(text);
    }
    hash.update(key);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_chooses_the_same() {
        let services: Vec<_> = (0..10)
            .map(|i| Arc::new(ServiceRegistration { id: format!("s{i}"), port: 80 + i, ..Default::default() }))
            .collect();
        let mut turned = services.clone();
        turned.reverse();
        let chosen = choose(services.clone(), "3|key").unwrap();
        assert_eq!(chosen.len(), 3);
        assert_eq!(choose(turned, "3|key").unwrap(), chosen);
        assert_eq!(choose(services.clone(), "99|key").unwrap().len(), 10);
        assert!(choose(services.clone(), "zz").is_err() && choose(services, "x|y").is_err());
    }
}
