//! `operator api`: raw HTTP API requests (`docs/spec/cli.md §14`).

use std::borrow::Cow;
use std::io::Read;

use crate::platform::is_device;
use crate::prelude::*;
use encamp_api::Query;
use encamp_api::stream::RawRequest;

/// Query the HTTP API
///
/// Sends a request with the address, the token and the certificates of the flags and the environment, and prints the
/// body of the response unchanged. The argument is a path such as /v1/nodes, or a full URL. Standard input is sent as
/// the request body.
#[derive(Debug, clap::Parser)]
pub struct OperatorApi {
    /// HTTP method. Default: GET, or POST if there is a body
    #[arg(long = "X", value_name = "method", add = CompleteWith::Words(&["GET", "POST", "PUT", "DELETE", "HEAD"]))]
    pub method: Option<String>,
    /// Additional header, as key: value. Can be repeated
    #[arg(long = "H", value_name = "header")]
    pub headers: Vec<String>,
    /// Filter expression, sent as a parameter of the request
    #[arg(long, value_name = "expression")]
    pub filter: Option<String>,
    /// Print a curl command instead of sending the request
    #[arg(long)]
    pub dryrun: bool,
    /// Print the OpenAPI document of the HTTP API instead of sending a request
    #[arg(long)]
    pub schema: bool,
    /// Print request and response information to standard error
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path")]
    pub(crate) args: Vec<String>,
}

/// The OpenAPI document; the test program `cli` writes it (`openapi`).
const DOCUMENT: &str = include_str!("../../../../docs/reference/openapi.json");

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error performing request";

impl Run for OperatorApi {
    const META: Meta = Meta::new("operator api").flag_error_note(FlagErrorNote::Flags).examples(&[
        ("Print the response to a request", "encamp operator api /v1/agent/self"),
        ("Filter the response", "encamp operator api -filter 'Status == \"ready\"' /v1/nodes"),
        (
            "Send a request with a body",
            "echo '{\"Prefix\": \"web\", \"Context\": \"jobs\"}' |
    encamp operator api /v1/search",
        ),
        ("Print the OpenAPI document of the HTTP API", "encamp operator api -schema"),
    ]);

    fn run(mut self, context: &mut Context<'_, '_>) -> u8 {
        if self.schema {
            if !self.args.is_empty() {
                return context.usage_error("This command takes no arguments with -schema");
            }
            context.ui.bytes(DOCUMENT.as_bytes());
            return 0;
        }
        let given = match self.args.as_slice() {
            [given] if !given.is_empty() => given.clone(),
            [] => return context.usage_error("A path or URL is required"),
            _ => return context.usage_error("This command takes one argument: <path>"),
        };
        let (address, path) = parts(&given);
        if address.is_some() {
            self.general.address = address;
        }
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let mut parameters: Vec<(String, String)> = url_pairs(query);
        if let Some(filter) = self.filter.clone().filter(|f| !f.is_empty()) {
            parameters.push(("filter".into(), filter));
        }
        let headers = match self.headers.iter().map(|h| header(h)).collect::<Result<Vec<_>, _>>() {
            Ok(headers) => headers,
            Err(e) => return context.report(&e),
        };
        let body = match body() {
            Ok(body) => body,
            Err(e) => return context.failure(&format!("Error reading standard input: {e}")),
        };
        let method = self.method.clone().filter(|m| !m.is_empty());
        let method = method.unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.into());
        let parameters = parameters.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
        let query = Query { parameters, ..Query::default() };
        let request = RawRequest { method, path: path.into(), query, headers, body };
        context.connected(&self.general, |c, context| {
            if self.dryrun {
                let text = curl(c, &request)?;
                context.ui.output(&text);
                return Ok(0);
            }
            self.send(c, context, &request)
        })
    }
}

impl OperatorApi {
    fn send(&self, c: &Connection, context: &mut Context<'_, '_>, request: &RawRequest) -> CommandResult<u8> {
        c.wait(async {
            if self.verbose {
                let url = c.client.url_of(request).context(FAILED)?;
                context.ui.error_plain(&format!("> {} {url}", request.method));
                for (name, value) in &request.headers {
                    context.ui.error_plain(&format!("> {name}: {value}"));
                }
                context.ui.error_plain(">");
            }
            let mut stream = c.client.send(request, true).await.context(FAILED)?;
            if self.verbose {
                for line in stream.head() {
                    context.ui.error_plain(&format!("< {line}"));
                }
                context.ui.error_plain("<");
            }
            while let Some(bytes) = stream.next().await.context(FAILED)? {
                if !context.ui.bytes(&bytes) {
                    break;
                }
            }
            Ok(0)
        })
    }
}

/// The address and path of a URL; a path has no address.
fn parts(given: &str) -> (Option<String>, String) {
    let Some((scheme, rest)) = given.split_once("://").filter(|(s, _)| matches!(*s, "http" | "https")) else {
        return (None, if given.starts_with('/') { given.into() } else { format!("/{given}") });
    };
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
    (Some(format!("{scheme}://{host}")), path)
}

/// The parameters of a query, decoded.
fn url_pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn header(text: &str) -> CommandResult<(String, String)> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| CommandError::new(format!("Invalid header {text:?}: it must be key: value")))?;
    Ok((name.trim().into(), value.trim().into()))
}

/// The content of standard input, unless it is a terminal or empty.
fn body() -> std::io::Result<Option<Vec<u8>>> {
    if is_device() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The request as a curl command. The token is taken from the environment, so that it is not printed.
fn curl(c: &Connection, request: &RawRequest) -> CommandResult<String> {
    let url = c.client.url_of(request).context(FAILED)?;
    let mut lines = vec!["curl".to_string()];
    if request.method != "GET" {
        lines.push(format!("-X {}", request.method));
    }
    lines.extend(request.headers.iter().map(|(name, value)| format!("-H '{name}: {value}'")));
    let config = c.client.config();
    if config.token.is_some() {
        lines.push("-H 'X-Nomad-Token: ${NOMAD_TOKEN}'".into());
    }
    let tls = &config.tls;
    let files = [
        ("--cacert", &tls.ca_cert),
        ("--capath", &tls.ca_path),
        ("--cert", &tls.client_cert),
        ("--key", &tls.client_key),
    ];
    lines
        .extend(files.iter().filter_map(|(flag, file)| Some(format!("{flag} {:?}", file.as_ref()?.to_string_lossy()))));
    if tls.skip_verify {
        lines.push("--insecure".into());
    }
    if request.body.is_some() {
        lines.push("--data-binary @-".into());
    }
    lines.push(url);
    Ok(lines.join(" \\\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_paths_or_urls() {
        assert_eq!(parts("/v1/jobs?a=b"), (None, "/v1/jobs?a=b".into()));
        assert_eq!(parts("v1/jobs"), (None, "/v1/jobs".into()));
        assert_eq!(parts("http://a:1/v1/x?y"), (Some("http://a:1".into()), "/v1/x?y".into()));
        assert_eq!(parts("https://a"), (Some("https://a".into()), "/".into()));
        assert_eq!(
            url_pairs("a=b%20c&d&e=%zz+"),
            [("a", "b c"), ("d", ""), ("e", "%zz ")].map(|(k, v)| (k.into(), v.into()))
        );
        assert_eq!(header("X-Y:  z").unwrap(), ("X-Y".to_string(), "z".to_string()));
        assert!(header("nope").is_err());
    }
}
