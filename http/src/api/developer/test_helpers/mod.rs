//! /v1/test_helpers: drive test tasks without a real worker.

pub mod advance;
pub mod clock;
pub mod proofs;

use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::domain::{Environment, Owner};

pub fn only_in_test(caller: &Caller) -> Result<Owner, ApiError> {
    match caller.owner().environment {
        Environment::Test => Ok(caller.owner()),
        Environment::Live => Err(ApiError::TestModeOnly),
    }
}
