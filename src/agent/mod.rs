//! The agent: configuration, wiring of server, client and HTTP interface, signals (`spec/agent-config.md`).
