//! Numbers with a 512-bit mantissa.
