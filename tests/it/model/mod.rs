//! The service against a model of it. The model is the table of moves, written once more in
//! `table.rs` and `task.rs`; developers, workers, admins, clocks and crashes come at random. Every
//! answer, every event and every posting must be as the model says.
//!
//! LEGWORK_TEST_STEPS asks for more steps, LEGWORK_TEST_SEED for the one story that it names.

mod check;
mod developers;
mod helpers;
mod mandates;
mod money;
mod people;
mod random;
mod table;
mod task;
mod time;
mod workers;
mod world;

use std::sync::Arc;

use legwork::ambient;

use crate::support::{Database, Engine};
use world::World;

/// A story ends after so many steps: what a database holds stays small enough to be looked through.
const STEPS_OF_A_STORY: u64 = 1_000;
/// In a plain run each of the seeds gets so many.
const STEPS: u64 = 100;
const SEEDS: [u64; 2] = [1, 2];
const LOOK_EVERY: u64 = 40;

#[test]
fn the_service_does_what_the_model_says_on_sqlite() {
    tell_stories(Engine::Sqlite);
}

#[test]
fn the_service_does_what_the_model_says_on_postgres() {
    tell_stories(Engine::Postgres);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Known seeds, and one that nobody has seen before.
fn tell_stories(engine: Engine) {
    let new = u64::from_be_bytes(ambient::random()) >> 16;
    let asked = number("LEGWORK_TEST_STEPS");
    if let Some(seed) = number("LEGWORK_TEST_SEED") {
        return tell(engine, seed, asked.unwrap_or(STEPS));
    }
    let Some(mut left) = asked else {
        for seed in SEEDS.into_iter().chain([new]) {
            tell(engine, seed, STEPS);
        }
        return;
    };
    let mut seed = new;
    while left > 0 {
        let steps = left.min(STEPS_OF_A_STORY);
        tell(engine, seed, steps);
        (left, seed) = (left - steps, seed + 1);
    }
}

fn tell(engine: Engine, seed: u64, steps: u64) {
    println!("{engine:?}: {steps} steps of seed {seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let mut world = World::create(database, seed).await;
        for step in 1..=steps {
            world.step().await;
            if step % LOOK_EVERY == 0 {
                world.check_all().await;
            }
        }
        world.come_to_an_end().await;
    });
}
