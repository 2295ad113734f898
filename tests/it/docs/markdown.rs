//! The parts of a Markdown document that tests look at: fenced blocks, marked tables, links.

use std::path::{Path, PathBuf};

/// A fenced block. Its info string says what it is; CONTRIBUTING.md lists the kinds.
#[derive(Clone, Debug)]
pub struct Block {
    /// The line of the opening fence.
    pub line: usize,
    pub info: String,
    pub text: String,
    /// The line right above the fence.
    pub above: String,
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(document: &str) -> String {
    let file = root().join(document);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// README, CONTRIBUTING, the CHANGELOG and every page under docs/, as paths from the root.
pub fn documents() -> Vec<String> {
    let mut found = vec!["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    collect(&root().join("docs"), &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let path = path.strip_prefix(root()).unwrap();
            found.push(path.to_str().unwrap().to_owned());
        }
    }
}

pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut above = "";
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line);
            let inside = inside.take_while(|line| *line != "```");
            blocks.push(Block {
                line: number + 1,
                info: info.to_owned(),
                text: inside.map(|line| format!("{line}\n")).collect(),
                above: above.to_owned(),
            });
        }
        above = line;
    }
    blocks
}

/// The cells of the table between `<!-- name -->` and `<!-- /name -->`, without its head. A remark
/// may follow the name in the first: `<!-- name: remark -->`.
pub fn table(text: &str, name: &str) -> Vec<Vec<String>> {
    let bare = name.split(':').next().unwrap_or(name);
    let (opening, closing) = (format!("<!-- {name} -->"), format!("<!-- /{bare} -->"));
    let (_, rest) = text.split_once(&opening).expect(&opening);
    let (part, _) = rest.split_once(&closing).expect(&closing);
    let rows = part.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let row = row.trim().trim_matches('|').replace("\\|", "\u{0}");
        let cells = row.split('|');
        cells
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect()
    })
    .collect()
}

/// What stands between backquotes.
pub fn code(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
