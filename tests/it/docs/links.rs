//! Links between documents lead to a file and a heading that are there.

use super::markdown::{documents, read, root};

/// What a document links to, apart from other sites.
fn links(text: &str) -> Vec<String> {
    let prose = without_blocks(text);
    let targets = prose.split("](").skip(1);
    targets
        .map(|rest| rest.split(')').next().unwrap_or_default().to_owned())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

fn without_blocks(text: &str) -> String {
    let parts = text.split("\n```").step_by(2);
    parts.collect::<Vec<_>>().join("\n")
}

/// The anchors that GitHub gives to headings.
fn anchors(text: &str) -> Vec<String> {
    let prose = without_blocks(text);
    let headings = prose
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    headings
        .map(|heading| heading.chars().filter(kept).collect::<String>())
        .map(|heading| heading.replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    for document in documents() {
        let folder = root().join(&document).parent().unwrap().to_owned();
        for link in links(&read(&document)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let file = match path {
                "" => root().join(&document),
                path => folder.join(path),
            };
            assert!(file.exists(), "{document}: {link}");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                let anchors = anchors(&text);
                assert!(
                    anchors.iter().any(|a| a == anchor),
                    "{document}: {link} is none of {anchors:?}"
                );
            }
        }
    }
}

#[test]
fn the_index_names_every_page() {
    let index = links(&read("docs/README.md"));
    for document in documents() {
        if let Some(page) = document.strip_prefix("docs/")
            && page != "README.md"
            && !page.starts_with("adr/")
        {
            assert!(index.iter().any(|link| link == page), "{page}");
        }
    }
}
