//! Measures the resolution of tokens and decisions about them, with as many tokens and policies as a large organisation
//! has: 10,000 tokens, 1,000 policies, 20 policies a token, most of them with wildcards.
//!
//! `cargo bench --bench acl` prints the median and the 99th percentile of a resolution with a decision, with all
//! permissions compiled and with none, and the memory of both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use encamp_acl::{Capability, Need};
use encamp_model::random::Random;
use encamp_model::*;
use encamp_server::acl::Resolver;
use encamp_server::keyring::Keyring;
use encamp_state::{StateStore, Table};

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOKENS: usize = 10_000;
const POLICIES: usize = 1000;
const OF_A_TOKEN: usize = 20;
const NOW: i64 = 1_700_000_000 * SECOND;

/// Bytes of memory in use.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn store(random: &mut Random) -> (StateStore, Vec<String>) {
    let mut store = StateStore::new();
    for i in 0..POLICIES {
        let rules = format!(
            "namespace \"team-{i}-*\" {{\n  policy = \"write\"\n}}\nnamespace \"team-{i}\" {{\n  policy = \"read\"\n\
             \n  variables {{\n    path \"app-{i}/*\" {{ capabilities = [\"read\"] }}\n  }}\n}}\nnode {{\n  \
             policy = \"read\"\n}}\n"
        );
        store.put_acl_policy(Arc::new(AclPolicy {
            name: format!("p{i}"),
            rules,
            modify_index: 5,
            ..Default::default()
        }));
    }
    store.set_index(Table::AclPolicy, 5);
    let mut secrets = Vec::with_capacity(TOKENS);
    for _ in 0..TOKENS {
        let secret = random.uuid();
        let policies = (0..OF_A_TOKEN).map(|_| format!("p{}", random.below(POLICIES as u64))).collect();
        store.put_acl_token(Arc::new(AclToken {
            accessor_id: random.uuid(),
            secret_id: SecretString::new(secret.clone()),
            r#type: AclTokenType::Client,
            policies,
            modify_index: 6,
            ..Default::default()
        }));
        secrets.push(secret);
    }
    store.set_index(Table::AclToken, 6);
    (store, secrets)
}

/// Resolves every token once and asks for a decision; what each took.
fn round(resolver: &Resolver, store: &StateStore, keyring: &Keyring, secrets: &[String]) -> Vec<Duration> {
    let mut took: Vec<Duration> = Vec::with_capacity(secrets.len());
    let mut allowed = 0_usize;
    for secret in secrets {
        let start = Instant::now();
        if let Ok(access) = resolver.resolve(store, keyring, secret, NOW) {
            allowed += usize::from(access.allows(&Need::Namespace("team-500-web", &[Capability::SubmitJob])));
        }
        took.push(start.elapsed());
    }
    assert!(allowed > 0, "some tokens have the policy");
    took.sort_unstable();
    took
}

fn print(what: &str, took: &[Duration]) {
    let at = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or_default();
    println!("{what}: median {:?}, 99 % {:?}", at(50), at(99));
}

fn main() {
    let random = &mut Random::new(7, "acl");
    let before = resident();
    let (store, secrets) = store(random);
    let stored = resident();
    let (resolver, keyring) = (Resolver::default(), Keyring::default());
    print("resolution, cold", &round(&resolver, &store, &keyring, &secrets));
    let compiled = resident();
    for _ in 0..3 {
        print("resolution, warm", &round(&resolver, &store, &keyring, &secrets));
    }
    let mib = |bytes: u64| bytes >> 20;
    println!("memory: tables {} MiB, compiled {} MiB", mib(stored - before), mib(compiled.saturating_sub(stored)));
}
