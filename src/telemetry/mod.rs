//! Metrics: what the agent counts and how it is shown (`spec/agent-config.md`, `spec/server.md §24`).
