//! The HTTP interface of an agent (`spec/http-api.md`).
