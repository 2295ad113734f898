//! Every command of README and of docs/ is run: in order, as pasted, on a fresh data folder.

use super::answers::{differences, json_values, missing_lines, shown_json};
use super::markdown::{Block, blocks, documents, read};
use super::shell::{Output, Shell};

/// The section of the quick start whose commands every guide builds on.
const PRELUDE: (&str, &str) = ("docs/quick-start.md", "## Start the server");

/// Runs the blocks of a document and compares what it shows with what was answered.
fn run(document: &str) {
    let text = read(document);
    let mut shell = Shell::open();
    if !["README.md", PRELUDE.0].contains(&document) {
        let start = read(PRELUDE.0);
        let (_, section) = start.split_once(PRELUDE.1).expect(PRELUDE.1);
        let section = section.split("\n## ").next().unwrap_or_default();
        run_blocks(PRELUDE.0, &blocks(section), &mut shell);
    }
    run_blocks(document, &blocks(&text), &mut shell);
}

fn run_blocks(document: &str, blocks: &[Block], shell: &mut Shell) {
    let mut last = None;
    for block in blocks {
        let at = format!("{document}:{}", block.line);
        match block.info.as_str() {
            "sh" => {
                println!("{at}");
                let output = shell.run(&block.text);
                assert_eq!(output.refused, announced(&block.text), "{at}");
                last = Some(output);
            }
            "sh background" => {
                println!("{at}");
                last = Some(shell.run_in_background(&block.text));
            }
            "json" => compare_json(&at, block, last.as_ref()),
            "text" => compare_text(&at, block, last.as_ref()),
            _ => {}
        }
    }
}

/// The statuses in comments such as `# answers 409`.
fn announced(text: &str) -> Vec<u16> {
    let lines = text
        .lines()
        .filter_map(|line| line.split_once("# answers "));
    lines.map(|(_, status)| status.parse().unwrap()).collect()
}

fn compare_json(at: &str, block: &Block, last: Option<&Output>) {
    let last = last.unwrap_or_else(|| panic!("{at}: there is no command that answers this"));
    let answer = json_values(&last.text).pop();
    let answer = answer.unwrap_or_else(|| panic!("{at}: no JSON in {:?}", last.text));
    let different = differences(&shown_json(&block.text), &answer, "");
    assert!(different.is_empty(), "{at}: {different:#?}\n{answer:#}");
}

fn compare_text(at: &str, block: &Block, last: Option<&Output>) {
    let last = last.unwrap_or_else(|| panic!("{at}: there is no command that prints this"));
    let missing = missing_lines(&block.text, &last.text);
    assert!(missing.is_empty(), "{at}: {missing:#?} in\n{}", last.text);
}

/// One test for each document that has commands.
macro_rules! documents {
    ($($name:ident: $path:literal,)+) => {
        $(#[test]
        fn $name() {
            run($path);
        })+

        const TESTED: &[&str] = &[$($path),+];
    };
}

documents! {
    readme: "README.md",
    quick_start: "docs/quick-start.md",
    first_integration: "docs/guides/first-integration.md",
    libraries: "docs/guides/libraries.md",
    testing: "docs/guides/testing.md",
    webhooks: "docs/guides/webhooks.md",
    workers: "docs/guides/workers.md",
    disputes_and_money: "docs/guides/disputes-and-money.md",
    proof_bundles: "docs/guides/proof-bundles.md",
    agents: "docs/guides/agents.md",
    going_live: "docs/guides/going-live.md",
    conventions: "docs/reference/conventions.md",
    account: "docs/reference/account.md",
    admin: "docs/reference/admin.md",
    events: "docs/reference/events.md",
    mandates: "docs/reference/mandates.md",
    payments: "docs/reference/payments.md",
    proofs: "docs/reference/proofs.md",
    quotes: "docs/reference/quotes.md",
    tasks: "docs/reference/tasks.md",
    operating_payments: "docs/operating/payments.md",
    running: "docs/operating/running.md",
    backup: "docs/operating/backup.md",
    security: "docs/operating/security.md",
    troubleshooting: "docs/operating/troubleshooting.md",
}

#[test]
fn every_document_with_commands_is_run() {
    let with_commands = documents().into_iter().filter(|document| {
        let blocks = blocks(&read(document));
        blocks.iter().any(|block| block.info == "sh")
    });
    let mut tested = TESTED.to_vec();
    tested.sort_unstable();
    assert_eq!(with_commands.collect::<Vec<_>>(), tested);
}

/// The kinds of blocks that CONTRIBUTING.md explains, and the languages of code.
const KINDS: [&str; 18] = [
    "sh",
    "sh background",
    "sh no-run",
    "json",
    "json example",
    "text",
    "text example",
    "http",
    "toml",
    "ini",
    "nginx",
    "sql",
    "python",
    "ts",
    "go",
    "ruby",
    "php",
    "rust",
];

#[test]
fn every_block_says_what_it_is() {
    for document in documents() {
        let text = read(&document);
        for line in text.lines() {
            let indented = line.starts_with(' ') && line.trim_start().starts_with("```");
            assert!(!indented, "{document}: a block must not be indented");
        }
        for Block {
            line, info, above, ..
        } in blocks(&text)
        {
            let at = format!("{document}:{line}");
            assert!(KINDS.contains(&info.as_str()), "{at}: unknown kind {info}");
            let is_explained = above.starts_with("<!-- not run: ");
            assert_eq!(info == "sh no-run", is_explained, "{at}: the reason");
        }
    }
}
