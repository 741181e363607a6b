//! How results look on a terminal: tables, diffs, markup colours.
