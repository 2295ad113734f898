//! For property tests.

use proptest::test_runner::Config;

/// How many cases a property test tries: this many, or what LEGWORK_TEST_CASES asks for.
pub fn cases(usual: u32) -> Config {
    let asked = std::env::var("LEGWORK_TEST_CASES").ok();
    let cases = asked.and_then(|asked| asked.parse().ok());
    Config::with_cases(cases.unwrap_or(usual))
}
