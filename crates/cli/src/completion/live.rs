//! The names of objects of the cluster, for completion: requested while the shell waits, within a short time.

use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Builder;

use super::super::context::Environment;
use super::super::data::text;
use super::super::general::GeneralFlags;
use super::super::object_kinds::{Objects, Selection, Source};
use super::cache::Cache;
use super::candidates::{Candidate, Ending};
use encamp_api::Client;
use encamp_model::duration::parse_duration;

/// Longest wait for the cluster. A shell that waits longer seems to hang.
const LIMIT: Duration = Duration::from_millis(300);
/// The environment variable that replaces [`LIMIT`]: a duration; 0 if the cluster shall not be asked.
const LIMIT_VARIABLE: &str = "ENCAMP_COMPLETION_TIMEOUT";
/// Longest description, in characters.
const LONGEST_DESCRIPTION: usize = 60;
/// The most objects that a list is asked for: nobody reads more.
const MOST_ROWS: u32 = 200;

/// The objects as completions, by word; none if the cluster does not answer in time, or refuses. `typed` is the beginning
/// of the word, `given` are the flags of the line with their values.
pub fn candidates(objects: Objects, typed: &str, given: &[(String, String)], env: &Environment) -> Vec<Candidate> {
    let limit = limit(env);
    if limit.is_zero() {
        return Vec::new();
    }
    let Some(client) = general(given).and_then(|flags| flags.client(env).ok()) else { return Vec::new() };
    // Without the notes that a client writes when it tries again: they would appear in the line.
    let Ok(client) = Client::new(client.config().clone()) else { return Vec::new() };
    let cache = Cache::of(client.config(), objects, typed, env);
    if let Some(found) = cache.as_ref().and_then(Cache::read) {
        return found;
    }
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let source = objects.source();
    let selection = Selection { prefix: typed, most: Some(MOST_ROWS), of_type: None };
    let rows = runtime.block_on(async { tokio::time::timeout(limit, source.read(&client, &selection)).await });
    // A look-up of a host name goes on for longer.
    runtime.shutdown_background();
    let Ok(Ok(rows)) = rows else { return Vec::new() };
    let mut found: Vec<Candidate> = rows.iter().filter_map(|row| candidate(&source, row)).collect();
    found.sort_by(|a, b| a.text.cmp(&b.text));
    // A CSI volume and a host volume may have one ID.
    found.dedup_by(|a, b| a.text == b.text);
    if let Some(cache) = cache {
        cache.write(&found);
    }
    found
}

/// How long the cluster may take.
fn limit(env: &Environment) -> Duration {
    let set = env.var(LIMIT_VARIABLE).and_then(|text| parse_duration(text).ok());
    set.and_then(|nanos| u64::try_from(nanos).ok()).map_or(LIMIT, Duration::from_nanos)
}

/// The flags that select the cluster. `None` if the shell would replace a part of a value: a request with anything else
/// would go elsewhere, or with another token.
fn general(given: &[(String, String)]) -> Option<GeneralFlags> {
    let mut flags = GeneralFlags::default();
    for (name, value) in given {
        let target = match name.as_str() {
            "address" => &mut flags.address,
            "region" => &mut flags.region,
            "namespace" => &mut flags.namespace,
            "token" => &mut flags.token,
            "ca-cert" => &mut flags.ca_cert,
            "ca-path" => &mut flags.ca_path,
            "client-cert" => &mut flags.client_cert,
            "client-key" => &mut flags.client_key,
            "tls-server-name" => &mut flags.tls_server_name,
            "tls-skip-verify" | "insecure" => {
                flags.tls_skip_verify |= encamp_model::parse_bool(value).unwrap_or(true);
                continue;
            }
            _ => continue,
        };
        if value.contains(['$', '`', '*', '?']) || value.starts_with('~') {
            return None;
        }
        *target = Some(value.clone());
    }
    Some(flags)
}

/// The completion for an object. `None` for a word that a shell would not take as it is: what servers answer must not
/// become a command.
fn candidate(source: &Source, row: &Value) -> Option<Candidate> {
    let word = text(row, source.word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+".contains(c);
    if word.is_empty() || word.starts_with('-') || !word.chars().all(plain) {
        return None;
    }
    let texts = source.descriptions.iter().map(|member| text(row, member)).filter(|t| !t.is_empty());
    let joined = texts.collect::<Vec<_>>().join(", ");
    let line = joined.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let description = match line.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    };
    Some(Candidate { text: word.to_string(), description, ending: Ending::Complete })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(objects: Objects, row: &Value) -> Option<(String, String)> {
        candidate(&objects.source(), row).map(|c| (c.text, c.description))
    }

    #[test]
    fn objects_are_named_and_described() {
        let pair = |word: &str, description: &str| Some((word.to_string(), description.to_string()));
        let role = json!({"ID": "6c5ab0e7-92d4", "Name": "developers", "Description": "of the\n shop\u{7}"});
        assert_eq!(shown(Objects::AclRoles, &role), pair("6c5ab0e7-92d4", "developers, of the shop"));
        assert_eq!(shown(Objects::AclRoleNames, &role), pair("developers", "of the shop"));
        let token = json!({"AccessorID": "e0b47c92-5a1d", "Name": "", "Type": "client", "SecretID": "secret"});
        assert_eq!(shown(Objects::AclTokens, &token), pair("e0b47c92-5a1d", "client"));
        let long = json!({"Name": "dev", "Description": "ä".repeat(61)});
        assert_eq!(shown(Objects::AclPolicies, &long), pair("dev", &format!("{}…", "ä".repeat(60))));
        for word in ["", "-force", "$(reboot)", "a b", "a;b", "`id`", "a\nb", "a|b", "é"] {
            assert_eq!(shown(Objects::AclPolicies, &json!({"Name": word})), None, "{word}");
        }
        assert_eq!(shown(Objects::AclPolicies, &json!({"Name": 7})), None);
    }

    #[test]
    fn the_limit_is_set_by_the_environment() {
        let of = |text: &str| {
            let vars = [(LIMIT_VARIABLE.to_string(), text.to_string())].into();
            limit(&Environment { vars, ..Environment::default() })
        };
        assert_eq!(limit(&Environment::default()), LIMIT);
        assert_eq!(
            [of("2s"), of("0"), of("0s"), of("soon"), of("-1s")],
            [Duration::from_secs(2), Duration::ZERO, Duration::ZERO, LIMIT, LIMIT]
        );
    }

    #[test]
    fn flags_select_the_cluster() {
        let of = |pairs: &[(&str, &str)]| {
            general(&pairs.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect::<Vec<_>>())
        };
        let flags = of(&[("address", "http://a:1"), ("token", "t"), ("policy", "$x"), ("insecure", "true")]);
        let flags = flags.expect("flags");
        assert_eq!((flags.address.as_deref(), flags.token.as_deref()), (Some("http://a:1"), Some("t")));
        assert!(flags.tls_skip_verify && !of(&[("tls-skip-verify", "false")]).expect("flags").tls_skip_verify);
        for value in ["$TOKEN", "`cat token`", "~/token", "a*"] {
            assert!(of(&[("token", value)]).is_none(), "{value}");
        }
    }
}
