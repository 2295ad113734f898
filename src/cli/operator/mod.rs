//! Commands for the operator of a service. They work on its database and its files.

pub mod audit;
pub mod backup;
pub mod bundle;
pub mod doctor;
pub mod job;
pub mod ledger;
pub mod master_key;
pub mod payments;
pub mod people;
pub mod relocate;
pub mod report;
pub mod sandbox;
pub mod secrets;
