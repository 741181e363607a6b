//! A browser that follows redirections, and the program that opens it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::agent::{PATIENCE, wait_for};
use crate::program::Folder;

/// Status, location and body of one answer.
pub(crate) fn visit(method: &str, url: &str, form: &str) -> (u16, String, String) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} is not for this browser"));
    let (host, path) = rest.split_once('/').unwrap_or_else(|| panic!("{url} has no path"));
    let mut stream = TcpStream::connect(host).unwrap_or_else(|e| panic!("{host}: {e}"));
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let head = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let kind = "Content-Type: application/x-www-form-urlencoded";
    write!(stream, "{head}{kind}\r\nContent-Length: {}\r\n\r\n{form}", form.len()).expect("written");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
    let location = head.lines().find_map(|l| {
        let (name, value) = l.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_string())
    });
    (status, location.unwrap_or_default(), body.to_string())
}

/// Where an address redirects to.
pub(crate) fn redirected(method: &str, url: &str, form: &str) -> String {
    let (status, location, body) = visit(method, url, form);
    assert_eq!(status, 302, "{url}: {body}");
    location
}

/// A parameter of an address.
pub(crate) fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').expect("a query").1;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(n, _)| n == name).unwrap_or_else(|| panic!("{url} has no {name}")).1.into_owned()
}

/// Puts an `xdg-open` into the folder, which writes down the address. Returns the search path that has it.
pub(crate) fn install(folder: &Folder) -> String {
    let bin = folder.path().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let opener = bin.join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" > opened.new && mv opened.new opened\n").expect("a script");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).expect("a program");
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

/// The address that was opened, once.
pub(crate) fn opened(folder: &Folder) -> String {
    let path = folder.path().join("opened");
    let mut url = String::new();
    wait_for("an opened browser", || {
        url = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        Ok(())
    });
    std::fs::remove_file(&path).expect("removed");
    url
}
