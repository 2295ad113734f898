//! Code that receives deliveries, as the guide has it: our tests run it there.

/// In one language.
pub struct Receiver {
    pub language: &'static str,
    pub code: &'static str,
}

const GUIDE: &str = include_str!("../../../docs/guides/webhooks.md");
const FROM: &str = "## Verify the signature";
const TO: &str = "### With a library";

/// Every heading of that part of the guide is a language, with one block of code.
pub fn receivers() -> Vec<Receiver> {
    let part = GUIDE.split_once(FROM).map_or("", |(_, part)| part);
    let part = part.split_once(TO).map_or("", |(part, _)| part);
    part.split("\n### ").skip(1).filter_map(receiver).collect()
}

fn receiver(section: &'static str) -> Option<Receiver> {
    let (language, rest) = section.split_once('\n')?;
    let (_, block) = rest.split_once("```")?;
    let (_, code) = block.split_once('\n')?;
    let (code, _) = code.split_once("\n```")?;
    Some(Receiver { language, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_code_in_six_languages() {
        let found = receivers();
        let languages: Vec<_> = found.iter().map(|one| one.language).collect();
        let known = ["Python", "TypeScript (Node)", "Go", "Ruby", "PHP", "Rust"];
        assert_eq!(languages, known);
        for one in found {
            let is_whole = one.code.contains("5 * 60") && one.code.contains("v1=");
            assert!(is_whole && !one.code.contains("```"), "{}", one.code);
        }
    }
}
