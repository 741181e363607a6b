//! The node agent: fingerprints, allocation and task runners, drivers, logs (`spec/client.md`).
