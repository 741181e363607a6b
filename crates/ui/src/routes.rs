//! Which path leads to which page, action or stream, and what happens around them.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::map_response_with_state;
use axum::routing::{MethodRouter, any, get, post};
use jiff::Timestamp;
use maud::html;

use crate::appearance::{self, Appearance, Label};
use crate::cluster::{Cluster, Source};
use crate::error::PageError;
use crate::layout::{Area, Page, document, onward};
use crate::pages::routes::{ActionHandler, Download, PageHandler, QuestionHandler, Reply, StreamHandler};
use crate::pages::{AREAS, Done, QUESTIONS, oidc, sign_in};
use crate::parts::state::{Tone, notice};
use crate::session::{Entrance, Session, Sessions};
use crate::visit::Visit;
use crate::{assets, rights, security, session};

/// The longest form, in bytes: job files are parts of forms.
const MAX_FORM: usize = 4 << 20;
/// The parameter of the first address with the token of the entrance.
const ENTRANCE: &str = "entrance";
/// The header of a request that reads an open page again: a message is for the page that follows an action.
const LIVE: &str = "x-encamp-live";
/// The field of forms with their token.
const FORM_TOKEN: &str = "form_token";

#[derive(Clone)]
struct Ui {
    cluster: Arc<dyn Cluster>,
    sessions: Arc<Sessions>,
    rights: Arc<rights::Known>,
}

impl Ui {
    /// The visit with the rights of its person.
    async fn with_rights(&self, visit: Visit, session: &Session) -> Visit {
        let rights = self.rights.of(&visit, self.sessions.signature_of(&session.token)).await;
        visit.with_rights(rights)
    }
}

/// The service of all paths below `/ui/`.
///
/// # Errors
/// The system has no random numbers.
pub fn router(cluster: Arc<dyn Cluster>, entrance: Entrance) -> std::io::Result<Router> {
    let ui = Ui {
        cluster,
        sessions: Arc::new(Sessions::new(entrance).map_err(std::io::Error::other)?),
        rights: Arc::default(),
    };
    let mut router = Router::new()
        // The cookies are those of `/ui/`.
        .route("/ui", get(async || security::protect(to_overview())))
        .route("/ui/assets/{version}/{name}", get(asset))
        .route(appearance::LABEL_STYLE, get(label_style))
        .route("/ui/sign-in", post(sign_in))
        .route("/ui/sign-out", post(sign_out))
        .fallback(nothing);
    for area in AREAS {
        for (path, handler) in area.pages {
            router = router.route(path, page(*handler));
        }
        for (path, handler) in area.actions {
            router = router.route(path, action(*handler));
        }
        for (path, handler) in area.streams {
            router = router.route(path, stream(*handler));
        }
    }
    for (path, handler) in QUESTIONS {
        router = router.route(path, question(*handler));
    }
    let policy = ui.cluster.appearance().and_then(Appearance::policy).cloned();
    let router = router.with_state(ui);
    let Some(policy) = policy else { return Ok(router) };
    Ok(router.layer(map_response_with_state(policy, with_policy)))
}

/// The response with another content security policy.
async fn with_policy(State(policy): State<HeaderValue>, mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn to_overview() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/ui/"));
    response
}

/// The paths of all pages, as the router has them: `/ui/jobs/{job}`.
pub fn paths_of_pages() -> impl Iterator<Item = &'static str> {
    AREAS.iter().flat_map(|area| area.pages).map(|(path, _)| *path)
}

fn page(handler: PageHandler) -> MethodRouter<Ui, Infallible> {
    get(async move |State(ui): State<Ui>, names: RawPathParams, request: Request| {
        if let Some(response) = oidc::returned(&request) {
            return security::protect(response);
        }
        let headers = request.headers().clone();
        let (session, visit) = match begin(&ui, &names, &request) {
            Ok(Begun::Visit(session, visit)) => (session, visit),
            Ok(Begun::Answered(response)) => return security::protect(response),
            Err(refused) => return plain(&refused),
        };
        let visit = ui.with_rights(visit, &session).await;
        let page = handler(&visit).await;
        let (status, page) = match page {
            Ok(page) => (StatusCode::OK, page),
            // An open page reads its address again when its object is removed: nothing is wrong with that request.
            Err(e @ PageError::Missing { .. }) if headers.contains_key(LIVE) => (StatusCode::OK, problem(&e)),
            Err(e) => (e.status(), problem(&e)),
        };
        finish(&visit, &session, &headers, status, page)
    })
}

fn action(handler: ActionHandler) -> MethodRouter<Ui, Infallible> {
    post(async move |State(ui): State<Ui>, names: RawPathParams, request: Request| {
        let headers = request.headers().clone();
        let (session, visit, done) = match submitted(&ui, &names, request).await {
            Ok((session, visit)) => {
                let done = match visit.live_only() {
                    Ok(()) => handler(&visit).await,
                    Err(e) => Err(e),
                };
                (session, visit, done)
            }
            Err(refused) => return plain(&refused),
        };
        match done {
            Ok(done) => went(&headers, &done),
            Err(e) => finish(&visit, &session, &headers, e.status(), problem(&e)),
        }
    })
}

fn question(handler: QuestionHandler) -> MethodRouter<Ui, Infallible> {
    post(async move |State(ui): State<Ui>, names: RawPathParams, request: Request| {
        let headers = request.headers().clone();
        let (session, visit) = match submitted(&ui, &names, request).await {
            Ok((session, visit)) => {
                let visit = ui.with_rights(visit, &session).await;
                (session, visit)
            }
            Err(refused) => return plain(&refused),
        };
        match handler(&visit).await {
            Ok(Reply::Page(page)) => finish(&visit, &session, &headers, StatusCode::OK, page),
            Ok(Reply::Done(done)) => went(&headers, &done),
            Ok(Reply::File(file)) => download(file),
            Err(e) => finish(&visit, &session, &headers, e.status(), problem(&e)),
        }
    })
}

fn stream(handler: StreamHandler) -> MethodRouter<Ui, Infallible> {
    any(async move |State(ui): State<Ui>, names: RawPathParams, request: Request| {
        let visit = match begin(&ui, &names, &request) {
            Ok(Begun::Visit(session, visit)) => match reading_or_from_here(&ui, &session, &request, &visit) {
                Ok(()) => visit,
                Err(refused) => return plain(&refused),
            },
            Ok(Begun::Answered(response)) => return security::protect(response),
            Err(refused) => return plain(&refused),
        };
        match handler(visit, request).await {
            Ok(response) => security::protect(response),
            Err(e) => plain(&e),
        }
    })
}

/// A WebSocket is opened by other sites too, with the cookies of this one: it needs the token of a form.
fn reading_or_from_here(ui: &Ui, session: &Session, request: &Request, visit: &Visit) -> Result<(), PageError> {
    if *request.method() == Method::GET && !request.headers().contains_key(header::UPGRADE) {
        return Ok(());
    }
    let given = visit.parameter(FORM_TOKEN).unwrap_or_default();
    Ok(ui.sessions.check_form(request.headers(), session, given)?)
}

/// What a request begins with.
enum Begun {
    Visit(Session, Visit),
    /// The browser goes on without the token of the entrance in the address, or with its cookies.
    Answered(Response<Body>),
}

fn begin(ui: &Ui, names: &RawPathParams, request: &Request) -> Result<Begun, PageError> {
    let query = request.uri().query().unwrap_or_default();
    let mut parameters: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let entrance = parameters.iter().position(|(name, _)| name == ENTRANCE).map(|at| parameters.remove(at).1);
    let path = request.uri().path();
    if *request.method() == Method::GET && entrance.is_none() && session::comes_from_elsewhere(request.headers()) {
        ui.sessions.check_host(request.headers())?;
        let address = request.uri().path_and_query().map_or("/ui/", |a| a.as_str());
        return Ok(Begun::Answered(onward(address, "Going on")));
    }
    let session = ui.sessions.of(request.headers(), entrance.as_deref())?;
    if entrance.is_some() {
        let pairs: Vec<_> = parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let mut response = redirect(&crate::visit::with_query(path, &pairs));
        response.headers_mut().extend(session.cookie(request.headers()).map(|cookie| (header::SET_COOKIE, cookie)));
        return Ok(Begun::Answered(response));
    }
    let form_token = ui.sessions.form_token(&session);
    let now = match ui.cluster.source() {
        // The times of a file are as old as they were then.
        Source::File { taken, .. } if *taken > 0 => *taken,
        _ => i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX),
    };
    let visit = Visit::new(ui.cluster.clone(), session.token.clone(), path.to_string(), parameters, form_token, now);
    let names = names.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Ok(Begun::Visit(session, visit.with_names(names).with_connection(request.extensions().clone())))
}

/// A request with a form, after its token was checked.
async fn submitted(ui: &Ui, names: &RawPathParams, request: Request) -> Result<(Session, Visit), PageError> {
    let Begun::Visit(session, visit) = begin(ui, names, &request)? else {
        return Err(PageError::Input("A form has no token of the entrance.".into()));
    };
    let (parts, body) = request.into_parts();
    let long = |_| PageError::Input(format!("The form is longer than {} MiB.", MAX_FORM >> 20));
    let body = to_bytes(body, MAX_FORM).await.map_err(long)?;
    let fields: Vec<(String, String)> = form_urlencoded::parse(&body).into_owned().collect();
    let visit = visit.with_fields(fields);
    ui.sessions.check_form(&parts.headers, &session, visit.field(FORM_TOKEN).unwrap_or_default())?;
    Ok((session, visit))
}

/// The response with a page.
fn finish(visit: &Visit, session: &Session, headers: &HeaderMap, status: StatusCode, mut page: Page) -> Response<Body> {
    let message = session::message(headers).filter(|_| !headers.contains_key(LIVE));
    if let Some(message) = &message {
        let said = notice(Tone::Good, &html! { (message) });
        page.body = html! { div id="message" data-keep { (said) } (page.body) };
    }
    let mut response = Response::new(Body::from(document(visit, &page).into_string()));
    *response.status_mut() = status;
    let out = response.headers_mut();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    if session.new {
        out.extend(session.cookie(headers).map(|cookie| (header::SET_COOKIE, cookie)));
    }
    if message.is_some() {
        out.extend(session::message_cookie(headers, "").map(|cookie| (header::SET_COOKIE, cookie)));
    }
    security::protect(response)
}

/// The page about an error.
fn problem(e: &PageError) -> Page {
    let body = html! {
        (notice(Tone::Bad, &html! { p { (e) } }))
        @if e.is_denied() {
            p { "Your token does not allow this. " a href="/ui/settings/tokens" { "Sign in with another one" } "." }
        }
        p { a href="/ui/" { "Go to the overview" } }
    };
    let title = match e {
        PageError::Missing { .. } => "Not found",
        _ if e.is_denied() => "Permission denied",
        _ => "This did not work",
    };
    Page::new(Area::Other, title, body)
}

/// An error where no page can be made.
fn plain(e: &PageError) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{e}\n")));
    *response.status_mut() = e.status();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    security::protect(response)
}

fn redirect(to: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().extend(HeaderValue::from_str(to).ok().map(|to| (header::LOCATION, to)));
    response
}

/// The browser goes to the page that follows an action.
fn went(headers: &HeaderMap, done: &Done) -> Response<Body> {
    let mut response = redirect(&done.to);
    response
        .headers_mut()
        .extend(session::message_cookie(headers, &done.message).map(|cookie| (header::SET_COOKIE, cookie)));
    security::protect(response)
}

/// A file that the browser stores.
fn download(file: Download) -> Response<Body> {
    let mut response = Response::new(Body::from(file.content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", file.name));
    headers.extend(disposition.ok().map(|value| (header::CONTENT_DISPOSITION, value)));
    security::protect(response)
}

async fn asset(names: RawPathParams) -> Response<Body> {
    let name = names.iter().find(|(name, _)| *name == "name").map(|(_, value)| value).unwrap_or_default();
    let missing = || plain(&PageError::Missing { kind: "asset", name: name.to_string() });
    assets::response(name).map_or_else(missing, security::protect)
}

/// The colours of the label.
async fn label_style(State(ui): State<Ui>) -> Response<Body> {
    let label = ui.cluster.appearance().and_then(|a| a.label.as_ref());
    let mut response = Response::new(Body::from(label.map(Label::style).unwrap_or_default()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    security::protect(response)
}

/// Signs in: the token becomes a cookie if the cluster knows it.
async fn sign_in(State(ui): State<Ui>, names: RawPathParams, request: Request) -> Response<Body> {
    let headers = request.headers().clone();
    let (session, visit) = match submitted(&ui, &names, request).await {
        Ok(submitted) => submitted,
        Err(refused) => return plain(&refused),
    };
    let signed = match visit.live_only() {
        Ok(()) => sign_in::sign_in(&visit).await,
        Err(e) => Err(e),
    };
    match signed {
        Ok((token, done)) => {
            let mut response = went(&headers, &done);
            response
                .headers_mut()
                .extend(session::token_cookie(&headers, &token).map(|cookie| (header::SET_COOKIE, cookie)));
            response
        }
        Err(e) => finish(&visit, &session, &headers, e.status(), problem(&e)),
    }
}

/// Signs out: the cookie with the token is removed.
async fn sign_out(State(ui): State<Ui>, names: RawPathParams, request: Request) -> Response<Body> {
    let headers = request.headers().clone();
    if let Err(refused) = submitted(&ui, &names, request).await {
        return plain(&refused);
    }
    let mut response = went(&headers, &Done::new("/ui/settings/tokens", "You are signed out."));
    let removed = session::token_cookie(&headers, &encamp_model::SecretString::default());
    response.headers_mut().extend(removed.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

async fn nothing(State(ui): State<Ui>, names: RawPathParams, request: Request) -> Response<Body> {
    let headers = request.headers().clone();
    match begin(&ui, &names, &request) {
        Ok(Begun::Visit(session, visit)) => {
            let e = PageError::Missing { kind: "page", name: visit.path.clone() };
            finish(&visit, &session, &headers, e.status(), problem(&e))
        }
        Ok(Begun::Answered(response)) => security::protect(response),
        Err(refused) => plain(&refused),
    }
}
