#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Answers are many small allocations on several threads; mimalloc serves those better.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    legwork::cli::run()
}
