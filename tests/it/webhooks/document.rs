//! docs/guides/webhooks.md: its code is run elsewhere; what it shows and lists is checked here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::vectors;

const TEXT: &str = include_str!("../../../docs/guides/webhooks.md");

/// The fenced blocks in this language.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = TEXT.lines();
    while let Some(opening) = lines.find_map(|line| line.strip_prefix("```")) {
        let block = lines.by_ref().take_while(|line| *line != "```");
        let block: String = block.map(|line| format!("{line}\n")).collect();
        if opening == language {
            blocks.push(block);
        }
    }
    blocks
}

/// The one block in this language that says this.
pub fn block(language: &str, saying: &str) -> String {
    let mut blocks = blocks(language);
    blocks.retain(|block| block.contains(saying));
    assert_eq!(blocks.len(), 1, "blocks in {language} with {saying}");
    blocks.remove(0)
}

#[test]
fn the_deliveries_that_it_shows_are_in_the_vectors() {
    let vectors = vectors::all();
    for event in ["task.completed", "task.proof_submitted"] {
        let shown = block("json example", &format!("{{\"event\": \"{event}\",\n"));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let is_shown = |body: &str| serde_json::from_str::<Value>(body).unwrap() == shown;
        assert!(
            vectors.iter().any(|vector| is_shown(&vector.body)),
            "{event}"
        );
    }
    let headers = block("http", "POST /legwork HTTP/1.1");
    let shows = |(name, value): (&String, &String)| headers.contains(&format!("{name}: {value}\n"));
    let completed = &vectors[0];
    assert!(completed.headers.iter().all(shows));
    let rotation = block("http", "X-Service-Signature: v1=d7b0");
    let is_shown = |vector: &vectors::Vector| {
        rotation
            .trim_end()
            .ends_with(&vector.headers["X-Service-Signature"])
    };
    assert!(vectors.iter().any(is_shown));
}

#[test]
fn the_task_and_the_proof_that_it_shows_have_all_their_fields() {
    let api: Value = serde_json::from_str(include_str!("../../../openapi.json")).unwrap();
    let documented = |schema: &str, without: &str| {
        let properties = api["components"]["schemas"][schema]["properties"].as_object();
        let mut names: BTreeSet<_> = properties.unwrap().keys().cloned().collect();
        assert!(names.remove(without));
        names
    };
    let shown = block("json example", "{\"event\": \"task.proof_submitted\"");
    let mut shown: Value = serde_json::from_str(&shown).unwrap();
    let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect();
    let proof = shown["data"]
        .as_object_mut()
        .unwrap()
        .remove("proof")
        .unwrap();
    let (task, proof): (BTreeSet<_>, BTreeSet<_>) = (names(&shown["data"]), names(&proof));
    assert_eq!(task, documented("Task", "instructions"));
    assert_eq!(proof, documented("Proof", "file_url"));
}
