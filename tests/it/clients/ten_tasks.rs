//! The ten tasks of docs/guides/libraries.md, in every language. curl's are run with all documents.

use std::process::Command;
use std::time::Duration;

use legwork_client::{
    Category, Client, CreateTask, Error, Location, Page, Status, StreamOptions, TaskFilter,
    TaskSearch,
};
use serde_json::json;

use super::{python, typescript};
use crate::docs::markdown::{blocks, read};
use crate::support::{TestApp, in_time, on_sqlite, peer};

on_sqlite!(in_rust, in_python, in_typescript);

const GUIDE: &str = "docs/guides/libraries.md";
const TASKS: usize = 10;

/// The blocks of a language, one for each task.
fn code(language: &str) -> Vec<String> {
    let guide = blocks(&read(GUIDE));
    let found = guide.into_iter().filter(|block| block.info == language);
    found.map(|block| block.text).collect()
}

#[test]
fn each_task_is_shown_in_each_language() {
    let text = read(GUIDE);
    let sections = text.split("\n## ").skip(1);
    let sections: Vec<_> = sections.collect();
    assert_eq!(sections.len(), TASKS);
    for section in sections {
        let mut kinds: Vec<_> = blocks(section)
            .into_iter()
            .map(|block| block.info)
            .collect();
        // What one command answers, the next one may need.
        kinds.dedup();
        assert_eq!(kinds, ["sh", "rust", "python", "ts"], "{section}");
    }
}

/// What the guide shows is what `in_rust` runs.
#[test]
fn the_rust_of_the_guide_is_run() {
    let own: String = without_layout(include_str!("ten_tasks.rs"));
    for block in code("rust") {
        assert!(own.contains(&without_layout(&block)), "{block}");
    }
}

fn without_layout(code: &str) -> String {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    // The formatter breaks long lines, and ends what it breaks with a comma.
    code.replace(",)", ")").replace(",}", "}")
}

async fn in_rust(app: TestApp) {
    let developer = app.developer().await;
    let server = format!("http://{}", app.address);
    in_time(ten_tasks(developer.test_key, server))
        .await
        .unwrap();
}

async fn ten_tasks(key: String, server: String) -> Result<(), Error> {
    let client = Client::builder(&key).base_url(&server).build()?;
    let mut order = CreateTask::new("Photograph a storefront", "With the opening hours in view.")
        .category(Category::Photography)
        .location(Location::new("Brooklyn", "NY", 40.7163, -73.9595))
        .budget_cents(2500);
    order.metadata = json!({"order": "4711"}).as_object().cloned();
    let task = client.tasks().create(&order).await?;
    println!("{} is {}", task.id, task.status);

    let once = client.with_idempotency_key("order-4711");
    let first = once.tasks().create(&order).await?;
    let second = once.tasks().create(&order).await?;
    assert_eq!(first.id, second.id);

    let cheap = order.clone().budget_cents(1);
    if let Err(Error::Api(refused)) = client.tasks().create(&cheap).await {
        println!("{}, request {}", refused.code, refused.request_id);
        for fault in refused.fields() {
            println!("{} {}", fault.field, fault.message);
        }
    }

    let filter = TaskFilter {
        status: Some(Status::Funded),
        ..TaskFilter::default()
    };
    let mut tasks = client.tasks().list(&filter);
    while let Some(each) = tasks.next().await? {
        println!("{} {}", each.id, each.title);
    }

    let reference = [("order".to_owned(), "4711".to_owned())].into();
    let search = TaskSearch {
        metadata: Some(reference),
        ..TaskSearch::default()
    };
    let found = client.tasks().search(&search).take(10).await?;
    assert_eq!(found.len(), 2);

    let done = Some(Status::ProofSubmitted);
    client.test_helpers().advance_task(&task.id, done).await?;
    let limit = Some(Duration::from_secs(600));
    let wanted = [Status::ProofSubmitted];
    let waited = client.tasks().wait_until(&task.id, &wanted, limit).await?;

    let proofs = client
        .proofs()
        .list(&waited.id, &Page::default())
        .take(10)
        .await?;
    let proof = &proofs[0];
    let photo = client.proofs().download(proof).await?;
    println!(
        "{} bytes of {}, {:?} m away",
        photo.len(),
        proof.content_type,
        proof.distance_from_task_meters
    );

    match proof.geo_valid {
        true => println!(
            "{}",
            client
                .proofs()
                .approve(&task.id, &proof.id)
                .await?
                .task
                .status
        ),
        false => println!(
            "{}",
            client
                .proofs()
                .reject(&task.id, &proof.id, "Not at the shop.")
                .await?
                .task
                .status
        ),
    }

    let cancelled = client.tasks().cancel(&first.id, Some(2500)).await?;
    println!("{}", cancelled.status);

    let mut stream = client.events().stream(StreamOptions::default());
    stream.connect().await?;
    client.tasks().create(&order).await?;
    let event = stream.next().await?;
    println!(
        "{} {} {:?}",
        event.number,
        event.event,
        event.task().map(|task| task.status)
    );
    Ok(())
}

async fn in_python(app: TestApp) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ten_tasks.py");
    std::fs::write(&file, code("python").join("\n")).unwrap();
    let mut command = Command::new(python::environment());
    command.arg("-B").arg(file);
    run(command, &app).await;
}

async fn in_typescript(app: TestApp) {
    let folder = typescript::environment();
    let name = format!("ten_tasks_{}", app.address.port());
    let file = folder.join(format!("{name}.mts"));
    std::fs::write(&file, code("ts").join("\n") + "\nprocess.exit();\n").unwrap();
    typescript::compile(folder, file.to_str().unwrap());
    let mut command = Command::new(peer::variable("LEGWORK_TEST_NODE"));
    command.arg(folder.join(format!("{name}.mjs")));
    run(command, &app).await;
}

/// It must do what each task is for.
async fn run(mut command: Command, app: &TestApp) {
    let developer = app.developer().await;
    command.env("LEGWORK_KEY", &developer.test_key);
    command.env("LEGWORK_SERVER", format!("http://{}", app.address));
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = in_time(run).await.unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && problem.is_empty(), "{problem}");
    let wanted = [
        "is funded",
        "VALIDATION_ERROR",
        "budget_cents",
        "bytes of image/",
        "cancelled",
        "task.created",
    ];
    for word in wanted {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let tasks = developer
        .test
        .get("/v1/tasks?status=completed")
        .await
        .expect(200);
    assert_eq!(tasks["meta"]["total"], 1);
}
