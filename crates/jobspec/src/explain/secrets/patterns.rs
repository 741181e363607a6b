//! How secrets are recognised: the name of a setting, or the form of a value.

use std::ops::Range;

/// What kind of secret a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its name says so.
    Named,
    /// A private key in PEM form.
    PrivateKey,
    /// The ID of an access key of AWS, beside which the key itself stands.
    AwsKey,
    /// A token of Vault.
    VaultToken,
    /// A token of GitHub.
    GithubToken,
    /// A token of GitLab.
    GitlabToken,
    /// A token of Slack.
    SlackToken,
    /// A key of Stripe for real payments.
    StripeKey,
    /// A password in an address.
    AddressPassword,
}

impl Kind {
    /// With its article.
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Named => "a secret",
            Kind::PrivateKey => "a private key",
            Kind::AwsKey => "an access key of AWS",
            Kind::VaultToken => "a token of Vault",
            Kind::GithubToken => "a token of GitHub",
            Kind::GitlabToken => "a token of GitLab",
            Kind::SlackToken => "a token of Slack",
            Kind::StripeKey => "a key of Stripe",
            Kind::AddressPassword => "an address with a password",
        }
    }

    /// A name for it where its setting has none.
    pub(super) fn item(self) -> &'static str {
        match self {
            Kind::Named => "secret",
            Kind::PrivateKey => "private_key",
            Kind::AwsKey => "aws_access_key",
            Kind::VaultToken => "vault_token",
            Kind::GithubToken => "github_token",
            Kind::GitlabToken => "gitlab_token",
            Kind::SlackToken => "slack_token",
            Kind::StripeKey => "stripe_key",
            Kind::AddressPassword => "address",
        }
    }
}

/// Texts that begin a secret, and how many letters, digits, `-` and `_` follow at least. `exact`: no more of them.
const TOKENS: [(&str, Kind, usize, bool); 15] = [
    ("AKIA", Kind::AwsKey, 16, true),
    ("ASIA", Kind::AwsKey, 16, true),
    ("hvs.", Kind::VaultToken, 20, false),
    ("hvb.", Kind::VaultToken, 20, false),
    ("hvr.", Kind::VaultToken, 20, false),
    ("ghp_", Kind::GithubToken, 36, false),
    ("gho_", Kind::GithubToken, 36, false),
    ("ghs_", Kind::GithubToken, 36, false),
    ("github_pat_", Kind::GithubToken, 40, false),
    ("glpat-", Kind::GitlabToken, 20, false),
    ("xoxb-", Kind::SlackToken, 20, false),
    ("xoxp-", Kind::SlackToken, 20, false),
    ("xoxa-", Kind::SlackToken, 20, false),
    ("sk_live_", Kind::StripeKey, 16, false),
    ("rk_live_", Kind::StripeKey, 16, false),
];

const BEGIN: &str = "-----BEGIN ";
const PRIVATE: &str = "PRIVATE KEY-----";

/// The parts of a text that have the form of a secret, whatever they are called.
pub(super) fn hits(text: &str) -> impl Iterator<Item = (Kind, Range<usize>)> {
    let tokens = TOKENS.iter().flat_map(move |(start, kind, length, exact)| {
        let found = text.match_indices(start);
        found.filter_map(move |(at, _)| Some((*kind, token(text, at, start.len(), *length, *exact)?)))
    });
    let keys = text.match_indices(BEGIN).filter_map(move |(at, _)| Some((Kind::PrivateKey, private_key(text, at)?)));
    let addresses =
        text.match_indices("://").filter_map(move |(at, _)| Some((Kind::AddressPassword, address(text, at)?)));
    tokens.chain(keys).chain(addresses)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// A token at a byte.
fn token(text: &str, at: usize, prefix: usize, length: usize, exact: bool) -> Option<Range<usize>> {
    if text.get(..at)?.ends_with(|c: char| is_part(c) || c == '.') {
        return None;
    }
    let rest = text.get(at + prefix..)?;
    let found = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let body = rest.get(..found)?;
    // The keys of documentation end so, and such tokens are made of one character.
    let is_example = body.ends_with("EXAMPLE") || is_repeated(body);
    let fits = if exact { found == length } else { found >= length };
    (fits && !is_example).then_some(at..at + prefix + found)
}

/// A private key whose first line begins at a byte, with its last line.
fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let first = rest.lines().next()?;
    // In one line the line ends are written as \n.
    let head = first.find(PRIVATE)?;
    let body = rest.get(head + PRIVATE.len()..)?;
    let end = body.find("-----END ")?;
    let last = body.get(end..)?.find(PRIVATE)?;
    // Templates may put the key between the two lines.
    let key = body.get(..end)?;
    let is_key = key.chars().filter(|c| is_part(*c)).count() >= 16 && !key.contains("{{") && !key.contains("${");
    is_key.then(|| at..at + head + PRIVATE.len() + end + last + PRIVATE.len())
}

/// The password of an address whose `://` begins at a byte.
fn address(text: &str, at: usize) -> Option<Range<usize>> {
    if !text.get(..at)?.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let start = at + "://".len();
    let rest = text.get(start..)?;
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#' | '<' | '>' | '`'));
    let (credentials, _) = rest.get(..end.unwrap_or(rest.len()))?.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let from = start + user.len() + 1;
    (!refers(user) && may_be_secret(password)).then_some(from..from + password.len())
}

/// The last words of names of secrets.
const WORDS: [&str; 8] = ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "APIKEY", "SECRETKEY", "CREDENTIALS"];
/// Words of which the last one is KEY.
const KEYS: [&str; 8] = ["API", "SECRET", "PRIVATE", "ENCRYPTION", "SIGNING", "AUTH", "ACCESS", "MASTER"];

/// Whether a setting of this name holds a secret: `DB_PASSWORD`, not `DB_PASSWORD_FILE`.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words: Vec<&str> = name.split(['_', '-', '.']).filter(|w| !w.is_empty()).collect();
    if words.last().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    match words.as_slice() {
        [.., "SECRET", "KEY", "BASE"] => true,
        [.., kind, "KEY"] => KEYS.contains(kind),
        [.., last] => WORDS.contains(last) || last.ends_with("PASSWORD") || last.ends_with("PASSWD"),
        [] => false,
    }
}

/// Whether a value refers to one that stands elsewhere.
fn refers(value: &str) -> bool {
    const PREFIXES: [&str; 14] = [
        "/", "./", "../", "~/", "file:", "local/", "secrets/", "alloc/", "vault:", "op://", "arn:", "ssm:", "sm://",
        "env:",
    ];
    ["${", "{{", "$(", "%{"].iter().any(|open| value.contains(open))
        || value.starts_with('$')
        || PREFIXES.iter().any(|prefix| value.starts_with(prefix))
}

/// Values of switches.
const SWITCHES: [&str; 14] =
    ["true", "false", "yes", "no", "on", "off", "0", "1", "none", "null", "nil", "enabled", "disabled", "default"];

/// Whether a value may be a secret: no reference, no switch, no gap to be filled. A default such as `changeme` is one:
/// it is the password of whoever does not change it.
pub(super) fn may_be_secret(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let is_gap = value.starts_with('<') && value.ends_with('>')
        || value.starts_with('[') && value.ends_with(']')
        || value.starts_with('%') && value.ends_with('%')
        || ["your-", "your_", "replace", "todo", "redacted", "placeholder"].iter().any(|word| lower.starts_with(word));
    !value.is_empty() && !refers(value) && !SWITCHES.contains(&lower.as_str()) && !is_gap && !is_repeated(value)
}

/// `xxxx`, `****`, `…`
fn is_repeated(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(|first| chars.all(|c| c == first))
}
