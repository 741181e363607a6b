//! Logins with identities of other systems: the real agent, the real `login` command, and identity providers that sign
//! with real keys, behave as they should, and misbehave.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{Agent, PATIENCE, Reply, bootstrap, call};
use crate::identity_provider::browser::{install, opened, parameter, redirected, visit};
use crate::identity_provider::published::published_provider;
use crate::identity_provider::{CLIENT, KeyAnswer, Provider, SigningKey, now};
use crate::program::{Folder, Ran, run_with};

/// Where logins of these tests come back to. Any port of this machine is allowed.
const REDIRECT: &str = "http://127.0.0.1:4649/oidc/callback";
/// The secret of a login.
const NONCE: &str = "nonce-s3cret";

/// A cluster with access control, and the token of its administrator.
struct Cluster {
    folder: Folder,
    agent: Agent,
    root: String,
}

impl Cluster {
    /// With a policy for developers.
    fn start(name: &str) -> Cluster {
        let folder = Folder::new(name);
        let agent = Agent::start(&folder, "acl {\n enabled = true\n}\nlog_level = \"debug\"", &["-dev"]);
        let root = bootstrap(agent.port);
        let cluster = Cluster { folder, agent, root };
        cluster.folder.file("dev.hcl", "namespace \"default\" {\n policy = \"read\"\n}\n");
        cluster.succeeds(&["acl", "policy", "apply", "dev", "dev.hcl"]);
        cluster
    }

    fn run(&self, args: &[&str]) -> Ran {
        let env = [("NOMAD_ADDR", self.agent.address()), ("NOMAD_TOKEN", self.root.clone())];
        let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
        run_with(self.folder.path(), args, &env, None)
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.exit, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Makes an auth method for these tests, with a rule for developers.
    fn method(&self, name: &str, kind: &str, config: &Json) {
        let mut all = json!({"ClaimMappings": {"email": "email"}, "ListClaimMappings": {"groups": "groups"}});
        for (member, value) in config.as_object().expect("an object") {
            all[member] = value.clone();
        }
        self.folder.file("method.json", all.to_string());
        let format = "${auth_method_name}-${value.email}";
        let method = ["-max-token-ttl", "1h", "-token-name-format", format, "-config", "@method.json"];
        self.succeeds(&[&["acl", "auth-method", "create", "-name", name, "-type", kind], &method[..]].concat());
        let rule = ["-bind-type", "policy", "-bind-name", "dev", "-selector", "\"developers\" in list.groups"];
        self.succeeds(&[&["acl", "binding-rule", "create", "-auth-method", name], &rule[..]].concat());
    }

    /// A method of type OIDC at a provider.
    fn oidc_method(&self, name: &str, provider: &str, more: &Json) {
        let mut config = json!({"OIDCDiscoveryURL": provider, "OIDCClientID": CLIENT.0, "OIDCClientSecret": CLIENT.1,
            "AllowedRedirectURIs": [REDIRECT], "OIDCScopes": ["email"]});
        for (member, value) in more.as_object().expect("an object") {
            config[member] = value.clone();
        }
        self.method(name, "OIDC", &config);
    }

    /// A login with a token of another system.
    fn login(&self, method: &str, token: &str) -> Reply {
        login_at(self.agent.port, method, token)
    }

    fn auth_url(&self, method: &str, redirect_uri: &str) -> Reply {
        let body = json!({"AuthMethodName": method, "RedirectURI": redirect_uri, "ClientNonce": NONCE});
        self.agent.send("PUT", "/v1/acl/oidc/auth-url", &body)
    }

    /// Begins a login and goes through the provider; gives what completes it.
    fn came_back(&self, method: &str) -> Json {
        let reply = self.auth_url(method, REDIRECT);
        assert_eq!(reply.status, 200, "{}", reply.body);
        let url = reply.json()["AuthURL"].as_str().expect("an address").to_string();
        let back = redirected("GET", &url, "");
        assert!(back.starts_with(REDIRECT), "{back}");
        json!({"AuthMethodName": method, "RedirectURI": REDIRECT, "ClientNonce": NONCE,
            "State": parameter(&back, "state"), "Code": parameter(&back, "code")})
    }

    fn complete(&self, body: &Json) -> Reply {
        self.agent.send("PUT", "/v1/acl/oidc/complete-auth", body)
    }

    /// What the agent says contains nothing that is secret.
    fn tells_no_secret(&mut self) {
        let log = self.agent.log();
        assert!(!log.contains("s3cret"), "{log}");
    }
}

/// A login with a token of another system, at the agent of a port.
fn login_at(port: u16, method: &str, token: &str) -> Reply {
    let body = json!({"AuthMethodName": method, "LoginToken": token}).to_string();
    call(port, "PUT", "/v1/acl/login", &body, PATIENCE).expect("an answer")
}

/// Status and text of a refusal.
fn refused(reply: &Reply, status: u16, text: &str) {
    assert_eq!(reply.status, status, "{}", reply.body);
    assert!(reply.body.contains(text), "{}", reply.body);
    assert!(!reply.body.contains("s3cret"), "{}", reply.body);
}

/// A token of the cluster that the developers have.
fn is_developer(token: &Json, name: &str) {
    assert_eq!((&token["Type"], &token["Policies"]), (&json!("client"), &json!(["dev"])), "{token}");
    assert_eq!((&token["Name"], &token["ExpirationTTL"]), (&json!(name), &json!("1h0m0s")), "{token}");
}

/// Runs `login` beside the test, as a user without a token would.
fn login_command(cluster: &Cluster, args: &[&str]) -> thread::JoinHandle<Ran> {
    let (folder, address) = (cluster.folder.path().to_path_buf(), cluster.agent.address());
    let path = install(&cluster.folder);
    let args: Vec<String> = ["login"].iter().chain(args).map(ToString::to_string).collect();
    thread::spawn(move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        run_with(&folder, &args, &[("NOMAD_ADDR", &address), ("PATH", &path)], None)
    })
}

#[test]
fn a_user_logs_in_with_a_browser() {
    let mut cluster = Cluster::start("login-browser");
    let provider = Provider::start();
    cluster.oidc_method("sso", provider.url(), &json!({"OIDCEnablePKCE": true, "VerboseLogging": true}));
    cluster.succeeds(&["acl", "auth-method", "update", "-default", "sso"]);

    let running = login_command(&cluster, &["-oidc-callback-addr", "127.0.0.1:0", "-json"]);
    let url = opened(&cluster.folder);
    assert_eq!(parameter(&url, "scope"), "openid email");
    assert_eq!(parameter(&url, "code_challenge_method"), "S256");
    let back = redirected("GET", &url, "");
    // Another page sends the browser to the program first.
    let (status, _, _) = visit("GET", &format!("{}x", back.replace("state=", "state=x")), "");
    assert_eq!(status, 400);
    let (status, _, page) = visit("GET", &back, "");
    assert_eq!((status, page.contains("You can close this page")), (200, true), "{page}");
    let ran = running.join().expect("the command");
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(&url), "{}", ran.stderr);
    let token: Json = serde_json::from_str(&ran.stdout).expect("JSON alone");
    is_developer(&token, "sso-alice@example.test");
    let (authorization, form) = provider.token_request();
    assert!(authorization.starts_with("Basic ") && form.contains_key("code_verifier"));
    cluster.agent.until("the mapped claims of a login");
    cluster.tells_no_secret();

    // The token works, and the text for people has it as well.
    let env =
        [("NOMAD_ADDR", cluster.agent.address()), ("NOMAD_TOKEN", token["SecretID"].as_str().expect("it").into())];
    let env: Vec<(&str, &str)> = env.iter().map(|(k, v): &(&str, String)| (*k, v.as_str())).collect();
    let own = run_with(cluster.folder.path(), &["acl", "token", "self", "-t", "{{.Name}}"], &env, None);
    assert_eq!(own.stdout.trim(), "sso-alice@example.test", "{}", own.stderr);
    let running = login_command(&cluster, &["-method", "sso", "-oidc-callback-addr", "127.0.0.1:0"]);
    visit("GET", &redirected("GET", &opened(&cluster.folder), ""), "");
    let ran = running.join().expect("the command");
    assert!(ran.stdout.starts_with("Successfully logged in via OIDC and sso\n\nAccessor ID"), "{}", ran.stdout);

    // The user says no; somebody else listens.
    let running = login_command(&cluster, &["-method", "sso", "-oidc-callback-addr", "127.0.0.1:0"]);
    let url = opened(&cluster.folder);
    let state = parameter(&url, "state");
    visit("GET", &format!("{}?error=access_denied&state={state}", parameter(&url, "redirect_uri")), "");
    let ran = running.join().expect("the command");
    let told = "Error performing login: the identity provider refused the login: access_denied";
    assert_eq!((ran.exit, ran.stderr.contains(told)), (1, true), "{}", ran.stderr);
    let taken = format!("127.0.0.1:{}", cluster.agent.port);
    let ran = login_command(&cluster, &["-oidc-callback-addr", &taken]).join().expect("the command");
    assert_eq!((ran.exit, ran.stderr.contains("choose another address")), (1, true), "{}", ran.stderr);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_published_provider_logs_users_in() {
    let user = json!({"sub": "alice", "email": "alice@example.test", "groups": ["developers"]});
    let Some(provider) = published_provider(&user) else { return };
    let cluster = Cluster::start("login-published");
    cluster.oidc_method("sso", &provider.url, &json!({}));
    let running = login_command(&cluster, &["-method", "sso", "-oidc-callback-addr", "127.0.0.1:0", "-json"]);
    // The form of the provider asks for the user.
    let back = redirected("POST", &opened(&cluster.folder), "sub=alice");
    visit("GET", &back, "");
    let ran = running.join().expect("the command");
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    is_developer(&serde_json::from_str(&ran.stdout).expect("JSON"), "sso-alice@example.test");
}

#[test]
fn logins_of_users_are_checked() {
    let mut cluster = Cluster::start("login-checks");
    let provider = Provider::start();
    cluster.oidc_method("sso", provider.url(), &json!({"OIDCEnablePKCE": true}));
    let good = cluster.came_back("sso");
    let reply = cluster.complete(&good);
    is_developer(&reply.json(), "sso-alice@example.test");
    refused(&cluster.complete(&good), 400, "no login with this state");

    for redirect_uri in ["http://evil.test/oidc/callback", "http://127.0.0.1:4649/other", "", "file:///x"] {
        refused(&cluster.auth_url("sso", redirect_uri), 400, "is not one of the auth method");
    }
    refused(&cluster.auth_url("nope", REDIRECT), 400, "auth-method \"nope\" not found");
    for (member, value) in [("State", "x"), ("ClientNonce", "x"), ("RedirectURI", "http://127.0.0.1:1/oidc/callback")] {
        let mut body = cluster.came_back("sso");
        body[member] = json!(value);
        refused(&cluster.complete(&body), 400, "no login with this state");
    }
    let mut body = cluster.came_back("sso");
    body["Code"] = json!("other");
    refused(&cluster.complete(&body), 401, "the identity provider refuses the code: invalid_grant");
    let body = cluster.came_back("sso");
    provider.change(|b| b.refusal = Some(json!({"error": "s3cret", "error_description": CLIENT.1})));
    refused(&cluster.complete(&body), 401, "refuses the code: another error");
    provider.change(|b| b.refusal = None);

    for (claims, told) in [
        (json!({"nonce": "other"}), "invalid nonce claim"),
        (json!({"nonce": null}), "invalid nonce claim"),
        (json!({"aud": "other"}), "invalid audience (aud) claim"),
        (json!({"aud": [CLIENT.0, "other"]}), "invalid authorized party (azp) claim"),
        (json!({"iss": "http://other.test"}), "invalid issuer (iss) claim"),
        (json!({"exp": now() - 3600}), "token is expired"),
        (json!({"exp": null}), "no expiration time (exp) claim"),
        (json!({"sub": "bob"}), "about another subject"),
    ] {
        let body = cluster.came_back("sso");
        provider.change(|b| b.claims = claims.clone());
        refused(&cluster.complete(&body), 401, told);
    }
    provider.change(|b| b.claims = json!({}));

    // Nobody but developers; a method that changes in the meantime.
    provider.change(|b| b.user_info = json!({"sub": "alice", "groups": ["guests"]}));
    let body = cluster.came_back("sso");
    refused(&cluster.complete(&body), 400, "no role or policy bindings matched");
    let body = cluster.came_back("sso");
    cluster.succeeds(&["acl", "auth-method", "update", "-max-token-ttl", "2h", "sso"]);
    refused(&cluster.complete(&body), 400, "the auth method was changed since the login began");
    cluster.tells_no_secret();
}

#[test]
fn servers_prove_who_they_are_with_an_assertion() {
    let cluster = Cluster::start("login-assertion");
    let provider = Provider::start();
    let key = rcgen::KeyPair::generate().expect("a key").serialize_pem();
    let key = json!({"PemKey": key, "KeyID": "k1"});
    let assertion = json!({"KeySource": "private_key", "KeyAlgorithm": "ES256", "PrivateKey": key});
    cluster.oidc_method("key", provider.url(), &json!({"OIDCClientSecret": "", "OIDCClientAssertion": assertion}));
    cluster.oidc_method("cluster", provider.url(), &json!({"OIDCClientAssertion": {"KeySource": "nomad"}}));
    for (method, algorithm) in [("key", "ES256"), ("cluster", "RS256")] {
        let reply = cluster.complete(&cluster.came_back(method));
        assert_eq!(reply.status, 200, "{}", reply.body);
        is_developer(&reply.json(), &format!("{method}-alice@example.test"));
        let (authorization, form) = provider.token_request();
        assert_eq!(authorization, "", "the client secret stays here");
        assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        assert_eq!(form["client_id"], CLIENT.0);
        let part = |n: usize| {
            use base64::Engine;
            let part = form["client_assertion"].split('.').nth(n).expect("a part");
            let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).expect("base64");
            serde_json::from_slice::<Json>(&bytes).expect("JSON")
        };
        assert_eq!(part(0)["alg"], algorithm);
        assert_eq!((&part(1)["iss"], &part(1)["aud"]), (&json!(CLIENT.0), &json!(provider.url())));
    }
    let shown = cluster.succeeds(&["acl", "auth-method", "info", "-json", "key"]);
    assert!(shown.contains("\"PemKey\": \"redacted\"") && !shown.contains("PRIVATE KEY"), "{shown}");
    // An update that shows no secret keeps it.
    cluster.succeeds(&["acl", "auth-method", "update", "-max-token-ttl", "2h", "key"]);
    assert_eq!(cluster.complete(&cluster.came_back("key")).json()["ExpirationTTL"], "2h0m0s");
    let wrong = json!({"OIDCClientAssertion": {"KeySource": "private_key"}});
    cluster.folder.file("wrong.json", wrong.to_string());
    let ran = cluster.run(&["acl", "auth-method", "update", "-config", "@wrong.json", "key"]);
    assert!(ran.exit == 1 && ran.stderr.contains("PrivateKey is missing"), "{}", ran.stderr);
}

#[test]
fn tokens_are_checked_with_the_keys_of_their_provider() {
    let mut cluster = Cluster::start("login-jwt");
    let provider = Provider::start();
    let bound = json!(["encamp"]);
    let set = json!({"JWKSURL": format!("{}/jwks", provider.url()), "BoundAudiences": bound, "SigningAlgs": ["ES256"]});
    cluster.method("set", "JWT", &set);
    cluster.method("found", "JWT", &json!({"OIDCDiscoveryURL": provider.url(), "BoundAudiences": bound}));
    for method in ["set", "found"] {
        let reply = cluster.login(method, &provider.token(&json!({})));
        is_developer(&reply.json(), &format!("{method}-alice@example.test"));
        for (claims, told) in [
            (json!({"aud": "other"}), "invalid audience (aud) claim"),
            (json!({"exp": now() - 3600}), "token is expired"),
            (json!({"nbf": now() + 3600}), "token not yet valid"),
        ] {
            refused(&cluster.login(method, &provider.token(&claims)), 401, told);
        }
    }
    let other = provider.token(&json!({"iss": "http://other.test"}));
    refused(&cluster.login("found", &other), 401, "invalid issuer (iss) claim");
    let asked = provider.key_requests();
    assert_eq!(asked, 2, "each method keeps the keys");

    // The command reads the token from standard input.
    cluster.folder.file("token", format!("{}\n", provider.token(&json!({}))));
    let address = cluster.agent.address();
    let stdin = cluster.folder.path().join("token");
    for args in [["-login-token", "-", "-method", "found"], ["-method", "found", "-json", "-"]] {
        let args = [&["login"], &args[..]].concat();
        let ran = run_with(cluster.folder.path(), &args, &[("NOMAD_ADDR", &address)], Some(Path::new(&stdin)));
        assert!(ran.exit == 0 && ran.stdout.contains("found-alice@example.test"), "{}{}", ran.stdout, ran.stderr);
    }

    // The provider rotates its keys: the next login reads them, at once.
    provider.change(|b| b.keys = vec![SigningKey::new("second")]);
    let reply = cluster.login("set", &provider.token(&json!({})));
    is_developer(&reply.json(), "set-alice@example.test");
    assert_eq!(provider.key_requests(), asked + 1);
    // Nobody makes the servers ask all the time.
    let stranger = SigningKey::new("unknown");
    for _ in 0..40 {
        let token = stranger.sign(&json!({"iss": provider.url(), "aud": "encamp", "exp": now() + 300}));
        refused(&cluster.login("set", &token), 401, "a key that the identity provider does not have");
    }
    let flood = provider.key_requests() - asked - 1;
    assert!(flood < 10, "40 tokens with unknown keys were {flood} requests to the provider");
    is_developer(&cluster.login("set", &provider.token(&json!({}))).json(), "set-alice@example.test");
    cluster.tells_no_secret();
}

#[test]
fn providers_that_misbehave_are_told() {
    let mut cluster = Cluster::start("login-hostile");
    let token = |provider: &Provider| provider.token(&json!({}));
    for (name, behaviour, told) in [
        ("endless", KeyAnswer::Endless, "is larger than 1024 KiB"),
        ("many", KeyAnswer::ManyKeys, "the set has more than 100 keys"),
        ("redirect", KeyAnswer::Redirect, "redirects, which is not followed"),
        ("failure", KeyAnswer::Failure, "answered with status 500"),
    ] {
        let provider = Provider::start();
        provider.change(|b| b.key_answer = behaviour);
        cluster.method(name, "JWT", &json!({"JWKSURL": format!("{}/jwks?key=s3cret", provider.url())}));
        refused(&cluster.login(name, &token(&provider)), 500, told);
    }
    let liar = Provider::start();
    liar.change(|b| b.issuer = Some("http://other.test".into()));
    cluster.method("liar", "JWT", &json!({"OIDCDiscoveryURL": liar.url()}));
    cluster.oidc_method("liar-sso", liar.url(), &json!({}));
    let text = "the identity provider says that its issuer is \"http://other.test\"";
    refused(&cluster.login("liar", &token(&liar)), 500, text);
    refused(&cluster.auth_url("liar-sso", REDIRECT), 500, text);
    cluster.method("gone", "JWT", &json!({"JWKSURL": "http://127.0.0.1:1/jwks"}));
    refused(&cluster.login("gone", &token(&liar)), 500, "no connection to http://127.0.0.1:1");

    // All that wait for a provider that hangs are answered together, and nobody else waits.
    let hanging = Provider::start();
    hanging.change(|b| b.key_answer = KeyAnswer::Silence);
    cluster.method("hanging", "JWT", &json!({"JWKSURL": format!("{}/jwks", hanging.url())}));
    let (begin, hanging_token) = (Instant::now(), token(&hanging));
    let port = cluster.agent.port;
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..6).map(|_| scope.spawn(|| login_at(port, "hanging", &hanging_token))).collect();
        let others = Instant::now();
        assert_eq!(call(port, "GET", "/v1/status/leader", "", PATIENCE).expect("an answer").status, 200);
        assert!(others.elapsed() < Duration::from_secs(5));
        for login in waiting {
            refused(&login.join().expect("an answer"), 500, "did not answer within 10 s");
        }
    });
    let took = begin.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(25)).contains(&took), "{took:?}");
    assert_eq!(hanging.key_requests(), 1);
    cluster.tells_no_secret();
}

#[test]
fn certificates_of_providers_are_checked() {
    let cluster = Cluster::start("login-tls");
    let folder = Folder::new("login-tls-provider");
    let provider = Provider::start_encrypted(&folder);
    let ca = std::fs::read_to_string(folder.path().join("ca.pem")).expect("a certificate");
    let set = format!("{}/jwks", provider.url());
    cluster.method("set", "JWT", &json!({"JWKSURL": set, "JWKSCACert": ca}));
    cluster.method("found", "JWT", &json!({"OIDCDiscoveryURL": provider.url(), "DiscoveryCaPem": [ca]}));
    for method in ["set", "found"] {
        let reply = cluster.login(method, &provider.token(&json!({})));
        is_developer(&reply.json(), &format!("{method}-alice@example.test"));
    }
    let folder = Folder::new("login-tls-other");
    Provider::start_encrypted(&folder);
    let other = std::fs::read_to_string(folder.path().join("ca.pem")).expect("a certificate");
    cluster.method("other", "JWT", &json!({"JWKSURL": set, "JWKSCACert": other}));
    refused(&cluster.login("other", &provider.token(&json!({}))), 500, "no connection to https://localhost:");
}

#[test]
fn settings_of_auth_methods_are_checked() {
    let cluster = Cluster::start("login-settings");
    for (config, told) in [
        (json!({"JWKSURL": "ftp://idp.test"}), "invalid JWKSURL"),
        (json!({"OIDCDiscoveryURL": "https://me:hush@idp.test"}), "contains a user name or a password"),
        (json!({"JWKSURL": "https://idp.test", "JWKSCACert": "none"}), "JWKSCACert has no certificate in PEM format"),
        (json!({"JWKSURL": "https://idp.test", "SigningAlgs": ["HS256"]}), "SigningAlgs contains \"HS256\""),
        (json!({"JWKSURL": "https://idp.test", "SigningAlgs": ["none"]}), "SigningAlgs contains \"none\""),
        (
            json!({"JWKSURL": "https://idp.test", "BoundIssuer": vec!["x"; 101]}),
            "BoundIssuer has more than 100 entries",
        ),
        (json!({"JWKSURL": "https://idp.test", "BoundAudiences": ["x".repeat(70_000)]}), "longer than 65536 bytes"),
    ] {
        cluster.folder.file("method.json", config.to_string());
        let method = ["-name", "a", "-type", "JWT", "-max-token-ttl", "1h", "-config", "@method.json"];
        let ran = cluster.run(&[&["acl", "auth-method", "create"], &method[..]].concat());
        assert!(ran.exit == 1 && ran.stderr.contains(told), "{config}: {}", ran.stderr);
    }
    cluster.method("a", "JWT", &json!({"JWKSURL": "https://idp.test"}));
    let selector = format!("value.x == \"{}\"", "x".repeat(5000));
    let rule = ["-auth-method", "a", "-bind-type", "policy", "-bind-name", "dev", "-selector", &selector];
    let ran = cluster.run(&[&["acl", "binding-rule", "create"], &rule[..]].concat());
    assert!(ran.exit == 1 && ran.stderr.contains("selector longer than 4096"), "{}", ran.stderr);
    // The rules of a method go with it.
    assert_eq!(cluster.succeeds(&["acl", "binding-rule", "list"]).lines().count(), 2);
    cluster.succeeds(&["acl", "auth-method", "delete", "a"]);
    assert!(cluster.succeeds(&["acl", "binding-rule", "list"]).starts_with("No ACL binding rules found"));
}
