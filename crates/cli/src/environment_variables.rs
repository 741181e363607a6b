//! The environment variables that commands read, for help texts and manual pages (`docs/spec/cli.md §2.4`).

use clap::Command;

/// A variable and what it sets.
pub type Variable = (&'static str, &'static str);

/// The variables of the general options.
pub const GENERAL: &[Variable] = &[
    ("ENCAMP_CONFIG_DIR", "Directory of config.toml. By default, encamp in XDG_CONFIG_HOME or in ~/.config."),
    ("ENCAMP_CONTEXT", "Saved context that selects the cluster, as for -context, unless NOMAD_ADDR is set."),
    ("ENCAMP_PAGER, PAGER", "Program that shows output longer than the screen; none if empty. Default: less."),
    ("ENCAMP_ADDR, ENCAMP_TOKEN, …", "The variables of the connection, as with NOMAD_ below, which they override."),
    ("NOMAD_ADDR", "Address of the HTTP API, as for -address."),
    ("NOMAD_CACERT, NOMAD_CAPATH", "Certificate authorities, as for -ca-cert and -ca-path."),
    ("NOMAD_CLIENT_CERT, NOMAD_CLIENT_KEY", "Client certificate and key, as for -client-cert and -client-key."),
    ("NOMAD_CLI_FORCE_COLOR", "If not empty, print with colours, as for -force-color."),
    ("NOMAD_CLI_NO_COLOR, NO_COLOR", "If not empty, print without colours, as for -no-color."),
    ("NOMAD_CLI_SHOW_HINTS", "Whether to print hints after the output: true or false."),
    ("NOMAD_HTTP_AUTH", "User and password of HTTP basic authentication: user:password."),
    ("NOMAD_NAMESPACE", "Namespace of the request, as for -namespace."),
    ("NOMAD_REGION", "Region of the request, as for -region."),
    ("NOMAD_SKIP_VERIFY", "If true, do not verify the server's certificate, as for -tls-skip-verify."),
    ("NOMAD_TLS_SERVER_NAME", "Server name for TLS, as for -tls-server-name."),
    ("NOMAD_TOKEN", "Secret ID of the ACL token of the request, as for -token."),
];

/// The credentials of a provider of worker pools.
pub(crate) const PROVIDER_CREDENTIALS: Variable =
    ("AWS_PROFILE, AWS_ACCESS_KEY_ID, …", "Credentials of the provider aws, as for the AWS CLI.");

/// The variable that decides whether functions of job files may read files.
pub(crate) const FILE_FUNCTIONS: &str = "ENCAMP_FILE_FUNCTIONS";

/// The variables that the flags of a command stand for, besides the general options.
pub fn of_flags(command: &Command) -> Vec<Variable> {
    let has = |flag: &str| command.get_arguments().any(|a| a.get_long() == Some(flag));
    let mut found = Vec::new();
    if has("var-file") {
        found.push(("NOMAD_VAR_<name>", "Value of the variable <name> of the job file. -var takes precedence."));
        found.push((FILE_FUNCTIONS, "If false, functions of the job file may not read other files. Default: true."));
    }
    if has("no-cache") {
        let about =
            "Directory of caches of clusters and snapshot files. By default, encamp in XDG_CACHE_HOME or in ~/.cache.";
        found.push(("ENCAMP_CACHE_DIR", about));
    }
    if has("provider") || has("provider-command") {
        found.push(PROVIDER_CREDENTIALS);
    }
    found
}
