//! How many cases of a property are tried.

use proptest::test_runner::Config;

/// This number of cases of a property, or as many as `PROPTEST_CASES` says, and no file of those that failed:
/// `.cargo/config.toml` fixes their seed.
pub fn cases(cases: u32) -> Config {
    let default = Config::default();
    let told = std::env::var_os("PROPTEST_CASES").map(|_| default.cases);
    Config { cases: told.unwrap_or(cases), failure_persistence: None, ..default }
}
