//! /v1/account/webhook

pub mod deliveries;
pub mod settings;
