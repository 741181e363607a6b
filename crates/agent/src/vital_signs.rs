//! Whether a running agent still works, for a service manager that restarts those that hang.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::workplace::Workplace;

/// Why an agent does not work any more.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Lifeless {
    /// The HTTP interface accepts no connections.
    #[error("the HTTP interface at {0} accepts no connections")]
    Http(SocketAddr),
    /// The threads of the server run nothing.
    #[error("the threads of the server do not respond")]
    Threads,
}

/// What is checked: the listeners of the HTTP interface, and the threads of the server. That a leader is missing, or
/// that servers cannot be reached, is no reason to restart an agent.
#[derive(Debug, Clone)]
pub struct VitalSigns {
    addresses: Vec<SocketAddr>,
    threads: Vec<Handle>,
}

impl VitalSigns {
    /// Those of an agent with these listeners and threads.
    pub(super) fn new<'a>(
        addresses: &[SocketAddr],
        threads: impl IntoIterator<Item = &'a Option<Workplace>>,
    ) -> VitalSigns {
        let threads = threads.into_iter().flatten().filter_map(Workplace::handle).collect();
        VitalSigns { addresses: addresses.iter().copied().map(reachable).collect(), threads }
    }

    /// Looks at all of them, each for so long at most.
    ///
    /// # Errors
    /// One of them does not respond.
    pub async fn check(&self, limit: Duration) -> Result<(), Lifeless> {
        for threads in &self.threads {
            match timeout(limit, threads.spawn(async {})).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(Lifeless::Threads),
            }
        }
        for address in &self.addresses {
            match timeout(limit, TcpStream::connect(address)).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return Err(Lifeless::Http(*address)),
            }
        }
        Ok(())
    }
}

/// The address at which a listener is reached from this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let local: IpAddr = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(local);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn an_agent_that_accepts_and_runs_is_alive() {
        let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let threads = Some(Workplace::new("test").unwrap());
        let signs = VitalSigns::new(&[address], [&threads, &None]);
        assert_eq!(signs.check(Duration::from_secs(20)).await, Ok(()));
        drop(listener);
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()));
        assert_eq!(signs.check(LIMIT).await, Err(Lifeless::Http(at)));
    }

    #[tokio::test]
    async fn threads_that_hang_are_noticed() {
        let threads = Some(Workplace::new("test").unwrap());
        let signs = VitalSigns::new(&[], [&threads]);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        let handle = threads.as_ref().and_then(Workplace::handle).unwrap();
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let held = held.clone();
            handle.spawn(async move {
                let _ = held.lock().map(|held| held.recv());
            });
        }
        let mut found = Ok(());
        // The threads hang as soon as all of them have taken a task.
        for _ in 0..20 {
            found = signs.check(LIMIT).await;
            if found.is_err() {
                break;
            }
        }
        drop(release);
        assert_eq!(found, Err(Lifeless::Threads));
    }
}
