//! Who looks at the pages: cookies with the token of a person, and the tokens of forms.
//!
//! The cookie of a session holds a random ID, another one the API token of the person who signed in. Scripts cannot read
//! them, and browsers send them to requests of our own pages alone (`SameSite=Strict`). A request that changes anything
//! needs the token of a form as well, which is made of the session's ID with a key of this process.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use encamp_model::SecretString;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::hmac;

// Browsers send cookies of one host to all its ports. The names of ours end with the port, so that pages of another
// cluster on the same host neither replace nor receive them.

/// The cookie with the ID of a session.
const SESSION: &str = "encamp_session";
/// The cookie with the API token of a person.
const TOKEN: &str = "encamp_token";
/// The cookie with the message of an action for the page that follows it.
const MESSAGE: &str = "encamp_message";
/// How long that cookie is kept, in seconds.
const MESSAGE_AGE: u32 = 30;
/// The cookie with a sign-in that has begun at an identity provider.
const OIDC: &str = "encamp_oidc";
/// How long that cookie is kept, in seconds: clusters wait as long for the provider.
const OIDC_AGE: u32 = 600;
/// The bytes of keys and IDs.
const RANDOM: usize = 32;

/// Who may open the pages.
#[derive(Debug, Clone)]
pub enum Entrance {
    /// Everybody who reaches the port; what they see and do depends on their API token.
    Open,
    /// The browser that first shows a token, which the first address contains. Requests have to name one of these hosts,
    /// so that no other site's name leads here (DNS rebinding).
    Token {
        /// The token.
        token: SecretString,
        /// Host and port as browsers send them, such as `127.0.0.1:4747`.
        hosts: Vec<String>,
    },
}

/// Why a request is refused before any page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// The request names another host.
    #[error("This address does not belong to the web UI. Open the address that encamp printed.")]
    Host,
    /// A browser was admitted by the token before.
    #[error("This address has admitted a browser already. Go on there, or start encamp ui again for a new address.")]
    Used,
    /// The token of the entrance is missing.
    #[error("The address lacks the token of this web UI. Open the address that encamp printed.")]
    NoEntrance,
    /// The request comes from another site, or from a page of an earlier session.
    #[error("This form is from another site or from an earlier session. Go back, reload the page, and send it again.")]
    Form,
}

/// Checks requests and makes cookies.
pub(crate) struct Sessions {
    key: hmac::Key,
    entrance: Entrance,
    /// Whether the token of the entrance has admitted a browser.
    used: AtomicBool,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("entrance", &self.entrance).finish_non_exhaustive()
    }
}

/// The session of a request.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Its ID.
    id: String,
    /// Whether the browser does not have its cookie yet.
    pub new: bool,
    /// The API token of the person; empty for none.
    pub token: SecretString,
}

impl Sessions {
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(entrance: Entrance) -> Result<Sessions, getrandom::Error> {
        let mut key = [0; RANDOM];
        getrandom::fill(&mut key)?;
        Ok(Sessions { key: hmac::Key::new(hmac::HMAC_SHA256, &key), entrance, used: AtomicBool::new(false) })
    }

    /// The session of a request for a page. `given`: the token of the entrance in the address.
    ///
    /// # Errors
    /// [`Refused`], if the entrance is not open for the request.
    pub(crate) fn of(&self, headers: &HeaderMap, given: Option<&str>) -> Result<Session, Refused> {
        let known = cookie(headers, SESSION).filter(|id| !id.is_empty());
        let session = match &self.entrance {
            Entrance::Open => known,
            Entrance::Token { token, .. } => {
                self.check_host(headers)?;
                // The ID of an admitted session is made of the token, so nothing has to be remembered.
                let admitted = self.sign("entrance", token.expose());
                let entered = given.is_some_and(|given| *token == SecretString::from(given.to_string()));
                match known {
                    Some(id) if self.verify("entrance", token.expose(), &id) => Some(id),
                    _ if entered && self.used.swap(true, Ordering::AcqRel) => return Err(Refused::Used),
                    _ if entered => return Ok(Session { id: admitted, new: true, token: SecretString::default() }),
                    _ => return Err(Refused::NoEntrance),
                }
            }
        };
        let token = SecretString::from(cookie(headers, TOKEN).unwrap_or_default());
        match session {
            Some(id) => Ok(Session { id, new: false, token }),
            None => Ok(Session { id: random_id(), new: true, token }),
        }
    }

    /// Checks that a request names a host of these pages.
    ///
    /// # Errors
    /// [`Refused::Host`].
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = headers.get(HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
        match &self.entrance {
            Entrance::Token { hosts, .. } if !hosts.iter().any(|h| h == host) => Err(Refused::Host),
            Entrance::Token { .. } | Entrance::Open => Ok(()),
        }
    }

    /// The token for forms of a session's pages.
    pub(crate) fn form_token(&self, session: &Session) -> String {
        self.sign("form", &session.id)
    }

    /// Checks a request that changes something: `given` is the token of its form.
    ///
    /// # Errors
    /// [`Refused::Form`].
    pub(crate) fn check_form(&self, headers: &HeaderMap, session: &Session, given: &str) -> Result<(), Refused> {
        let text = |name| headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
        let from_here = match text(ORIGIN) {
            Some(origin) => origin.split_once("://").map(|(_, host)| host) == text(HOST),
            None => true,
        };
        let site = headers.get("sec-fetch-site").and_then(|v| v.to_str().ok());
        let same_site = matches!(site, None | Some("same-origin"));
        if from_here && same_site && !session.new && self.verify("form", &session.id, given) {
            Ok(())
        } else {
            Err(Refused::Form)
        }
    }

    /// A text that stands for an API token, of which it tells nothing.
    pub(crate) fn signature_of(&self, token: &SecretString) -> String {
        self.sign("token", token.expose())
    }

    fn sign(&self, purpose: &str, of: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, format!("{purpose}\0{of}").as_bytes()))
    }

    fn verify(&self, purpose: &str, of: &str, signature: &str) -> bool {
        URL_SAFE_NO_PAD
            .decode(signature)
            .is_ok_and(|given| hmac::verify(&self.key, format!("{purpose}\0{of}").as_bytes(), &given).is_ok())
    }
}

impl Session {
    /// The header that gives the browser the session's cookie. `headers`: those of the request.
    pub(crate) fn cookie(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let name = name_for(headers, SESSION);
        HeaderValue::from_str(&format!("{name}={}; Path=/ui/; HttpOnly; SameSite=Strict", self.id)).ok()
    }
}

/// Whether a link of another site led to a page: browsers send no cookies then.
pub(crate) fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|v| v == value);
    is("sec-fetch-site", "cross-site") && is("sec-fetch-mode", "navigate") && !headers.contains_key(COOKIE)
}

/// The header that gives the browser an API token. `headers`: those of the request. An empty token removes it.
pub(crate) fn token_cookie(headers: &HeaderMap, token: &SecretString) -> Option<HeaderValue> {
    let name = name_for(headers, TOKEN);
    let age = if token.is_empty() { "; Max-Age=0" } else { "" };
    let text = format!("{name}={}; Path=/ui/; HttpOnly; SameSite=Strict{age}", token.expose());
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The message of the action that led to a page.
pub(crate) fn message(headers: &HeaderMap) -> Option<String> {
    let encoded = cookie(headers, MESSAGE).filter(|text| !text.is_empty())?;
    Some(percent_decode_str(&encoded).decode_utf8_lossy().into_owned())
}

/// The header that gives the browser the message for the next page; an empty one removes it. `headers`: those of the
/// request.
pub(crate) fn message_cookie(headers: &HeaderMap, message: &str) -> Option<HeaderValue> {
    let name = name_for(headers, MESSAGE);
    let age = if message.is_empty() { 0 } else { MESSAGE_AGE };
    let text = utf8_percent_encode(message, NON_ALPHANUMERIC);
    HeaderValue::from_str(&format!("{name}={text}; Path=/ui/; HttpOnly; SameSite=Strict; Max-Age={age}")).ok()
}

/// The sign-in at an identity provider that has begun.
pub(crate) fn oidc(headers: &HeaderMap) -> Option<String> {
    cookie(headers, OIDC).filter(|text| !text.is_empty())
}

/// The header that gives the browser a sign-in that has begun (of letters that need no encoding); an empty one removes it.
pub(crate) fn oidc_cookie(headers: &HeaderMap, begun: &str) -> Option<HeaderValue> {
    let name = name_for(headers, OIDC);
    let age = if begun.is_empty() { 0 } else { OIDC_AGE };
    let text = format!("{name}={begun}; Path=/ui/oidc/; HttpOnly; SameSite=Strict; Max-Age={age}");
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The name of a cookie for the host and port that a request was sent to.
fn name_for(headers: &HeaderMap, name: &str) -> String {
    let host = headers.get(HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    match host.rsplit_once(':').map(|(_, port)| port).filter(|p| p.bytes().all(|b| b.is_ascii_digit())) {
        Some(port) => format!("{name}_{port}"),
        None => name.to_string(),
    }
}

/// The value of a cookie.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let name = &name_for(headers, name);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|v| v.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| found == name).map(|(_, value)| value.to_string())
}

/// A random ID; without random numbers an empty one, which no form token fits.
pub(crate) fn random_id() -> String {
    let mut bytes = [0; RANDOM];
    match getrandom::fill(&mut bytes) {
        Ok(()) => URL_SAFE_NO_PAD.encode(bytes),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    fn sessions(entrance: Entrance) -> Sessions {
        Sessions::new(entrance).expect("random numbers")
    }

    /// The cookie that a browser sends back.
    fn kept(cookie: &HeaderValue) -> String {
        cookie.to_str().expect("text").split(';').next().expect("a cookie").to_string()
    }

    #[test]
    fn cookies_belong_to_a_port() {
        let sessions = sessions(Entrance::Open);
        let (one, other) = ("127.0.0.1:1", "127.0.0.1:2");
        let secret = SecretString::from("s.1".to_string());
        let cookie = kept(&token_cookie(&headers(&[("host", one)]), &secret).expect("a cookie"));
        let token =
            |host| sessions.of(&headers(&[("host", host), ("cookie", &cookie)]), None).expect("a session").token;
        assert_eq!((token(one).expose(), token(other).expose()), ("s.1", ""));
        for host in ["nomad.example", "[::1]", "x:y"] {
            assert_eq!(name_for(&headers(&[("host", host)]), SESSION), SESSION, "{host}");
        }
    }

    #[test]
    fn the_token_of_the_entrance_admits_one_browser() {
        let token = SecretString::from("first".to_string());
        let hosts = vec!["127.0.0.1:1".to_string()];
        let sessions = sessions(Entrance::Token { token, hosts });
        let here = [("host", "127.0.0.1:1")];
        let refused = |given: Option<&str>, pairs: &[(&'static str, &str)]| sessions.of(&headers(pairs), given).err();
        assert_eq!(refused(None, &here), Some(Refused::NoEntrance));
        assert_eq!(refused(Some("guess"), &here), Some(Refused::NoEntrance));
        assert_eq!(refused(Some("first"), &[("host", "evil.example:1")]), Some(Refused::Host));
        let admitted = sessions.of(&headers(&here), Some("first")).expect("admitted");
        let cookie = kept(&admitted.cookie(&headers(&here)).expect("a cookie"));
        assert_eq!(refused(Some("first"), &here), Some(Refused::Used));
        let back = [here[0], ("cookie", cookie.as_str())];
        assert_eq!((refused(None, &back), refused(Some("first"), &back)), (None, None));
        assert_eq!(refused(None, &[("host", "evil.example:1"), back[1]]), Some(Refused::Host));
        let forged = [here[0], ("cookie", "encamp_session_1=first")];
        assert_eq!(refused(None, &forged), Some(Refused::NoEntrance));
    }

    #[test]
    fn forms_are_of_this_site_and_of_this_session() {
        let sessions = sessions(Entrance::Open);
        let here = ("host", "127.0.0.1:1");
        let session = |id: &str| Session { id: id.into(), new: false, token: SecretString::default() };
        let given = sessions.form_token(&session("a"));
        let check = |id: &str, given: &str, pairs: &[(&'static str, &str)]| {
            sessions.check_form(&headers(&[&[here], pairs].concat()), &session(id), given).is_ok()
        };
        assert!(check("a", &given, &[]) && check("a", &given, &[("origin", "http://127.0.0.1:1")]));
        assert!(!check("b", &given, &[]) && !check("a", "", &[]) && !check("a", "x", &[]));
        for bad in [("origin", "null"), ("origin", "http://127.0.0.1:2"), ("sec-fetch-site", "same-site")] {
            assert!(!check("a", &given, &[bad]), "{bad:?}");
        }
        let new = Session { new: true, ..session("a") };
        assert!(sessions.check_form(&headers(&[here]), &new, &given).is_err());
    }

    #[test]
    fn links_of_other_sites_bring_no_cookies() {
        let from = |site| headers(&[("sec-fetch-site", site), ("sec-fetch-mode", "navigate")]);
        assert!(comes_from_elsewhere(&from("cross-site")));
        assert!(!comes_from_elsewhere(&from("same-origin")) && !comes_from_elsewhere(&from("none")));
        let mut with = from("cross-site");
        with.insert(COOKIE, HeaderValue::from_static("a=b"));
        assert!(!comes_from_elsewhere(&with));
    }
}
