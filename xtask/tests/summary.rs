//! The last program of `cargo test`: prints what the tests before it skipped, and which of them took long.

use encamp_test_support::notes;

fn main() {
    let notes = notes::take();
    if !notes.slow.is_empty() {
        println!("\nTests that took longer than {} s:", notes::SLOW.as_secs());
        for (seconds, test) in &notes.slow {
            println!("  {seconds:>4.0} s  {test}");
        }
    }
    if notes.skipped.is_empty() {
        println!("\nNo suite was skipped.");
    } else {
        println!("\nSkipped, because this machine lacks something (CONTRIBUTING.md, \"Set up\"):");
        for what in &notes.skipped {
            println!("  {what}");
        }
    }
}
