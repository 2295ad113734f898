#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Responses cause many small allocations on several threads. mimalloc is faster at those.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    legwork::cli::run()
}
