//! Hires somebody and waits for the proof. README.md shows the same.

use legwork_client::{Category, Client, CreateTask, Error, Location, Status};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let key = std::env::var("LEGWORK_KEY").unwrap_or_default();
    let client = Client::builder(&key).build()?;
    let task = CreateTask::new("Photograph a storefront", "With the opening hours in view.")
        .category(Category::Photography)
        .location(Location::new("Brooklyn", "NY", 40.7163, -73.9595))
        .budget_cents(2500);
    let task = client.tasks().create(&task).await?;
    println!("{} is {}", task.id, task.status);
    // With a test key nobody works: play the worker. Leave this out with a live key.
    let to = Some(Status::ProofSubmitted);
    client.test_helpers().advance_task(&task.id, to).await?;
    let wanted = [Status::ProofSubmitted];
    let task = client.tasks().wait_until(&task.id, &wanted, None).await?;
    println!("{} is {}", task.id, task.status);
    Ok(())
}
