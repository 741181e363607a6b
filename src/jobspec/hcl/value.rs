//! Values and types of expressions.
