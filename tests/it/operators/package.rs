//! What the Debian package brings. `scripts/package --check` builds one and installs it.

use crate::support::Command;

fn read(file: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(file)).unwrap()
}

#[test]
fn the_guide_shows_the_service_of_the_package() {
    let shown = format!(
        "```ini\n# deploy/legwork.service\n{}```",
        read("deploy/legwork.service")
    );
    assert!(read("docs/guides/going-live.md").contains(&shown));
}

#[test]
fn the_program_takes_the_settings_of_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/debian/legwork.toml");
    let doctor = ["doctor", "--config", settings, "--data", data];
    let output = Command::new(&doctor).output();
    let report = String::from_utf8(output.stdout).unwrap();
    let listen = report.lines().find(|line| line.contains("LEGWORK_LISTEN"));
    let origin = format!("({settings})");
    assert!(
        listen.is_some_and(|line| line.ends_with(&origin)),
        "{report}"
    );

    // Those that are commented out are settings too.
    let all = read("deploy/debian/legwork.toml");
    let all = all
        .lines()
        .map(|line| line.strip_prefix('#').unwrap_or(line));
    let all = all.filter(|line| line.contains(" = ")).collect::<Vec<_>>();
    let file = folder.path().join("all.toml");
    std::fs::write(&file, all.join("\n")).unwrap();
    let doctor = ["doctor", "--data", data, "--config", file.to_str().unwrap()];
    let report = String::from_utf8(Command::new(&doctor).output().stdout).unwrap();
    assert!(report.contains("https://legwork.example.com"), "{report}");
    assert_eq!(all.len(), 5);
}
