//! What an operator can do about a request that failed: lines below the error, on terminals only
//! (`docs/spec/cli.md §4.3`).

use encamp_api::TransportFailure;

use crate::error::FailedRequest;

/// The actions that may help. `reads_files`: the command can read a snapshot instead.
pub(crate) fn about(request: &FailedRequest, reads_files: bool) -> String {
    let lines: Vec<String> = match request {
        FailedRequest::Transport { address, kind } => match kind {
            TransportFailure::Unreachable => unreachable(address, reads_files),
            TransportFailure::Late => vec![
                format!(
                    "The agent at {address} does not answer in time. Check the address (-address, NOMAD_ADDR) and the"
                ),
                "network, and try again; a loaded server takes longer.".into(),
            ],
            TransportFailure::ServerWithoutTls => {
                vec![format!("The agent does not use TLS: try -address={}", with_scheme(address, "http"))]
            }
            TransportFailure::ServerWithTls => {
                vec![format!("The agent may use TLS: try -address={}", with_scheme(address, "https"))]
            }
            TransportFailure::ServerCertificate => vec![
                "The certificate of the agent is not accepted. Name the certificate of its authority with -ca-cert or"
                    .into(),
                "NOMAD_CACERT, and the name in its certificate with -tls-server-name or NOMAD_TLS_SERVER_NAME.".into(),
            ],
            TransportFailure::ClientCertificate => vec![
                "The agent requires a certificate that it accepts: name one and its key with -client-cert and".into(),
                "-client-key, or NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY.".into(),
            ],
            TransportFailure::Other => Vec::new(),
        },
        FailedRequest::Unauthenticated => {
            vec!["The agent requires a user and a password: set NOMAD_HTTP_AUTH=user:password.".into()]
        }
        FailedRequest::Denied => vec![
            "Access control does not permit this. Use a token that may do it, with -token or NOMAD_TOKEN.".into(),
            "encamp acl token self shows the token that is in use, and encamp acl explain its rights.".into(),
        ],
    };
    lines.join("\n")
}

fn unreachable(address: &str, reads_files: bool) -> Vec<String> {
    let mut lines = vec![
        format!("No agent answers at {address}. You can:"),
        "  name the address of an agent   -address=URL, or NOMAD_ADDR".into(),
    ];
    if reads_files {
        lines.push("  read a file instead            -snapshot=FILE".into());
    }
    lines.push("  start an agent for trials      encamp agent -dev".into());
    lines
}

fn with_scheme(address: &str, scheme: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_where_they_help() {
        let request =
            FailedRequest::Transport { address: "http://127.0.0.1:4646".into(), kind: TransportFailure::Unreachable };
        assert!(about(&request, true).contains("-snapshot=FILE"));
        assert!(!about(&request, false).contains("-snapshot"));
        let request =
            FailedRequest::Transport { address: "https://a:1".into(), kind: TransportFailure::ServerWithoutTls };
        assert_eq!(about(&request, true), "The agent does not use TLS: try -address=http://a:1");
    }
}
