//! A scale-out or scale-in as a state machine (`docs/spec/cluster-scaling.md §5`, `§6`).
