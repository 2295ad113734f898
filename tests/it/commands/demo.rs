//! `legwork demo`, from the first line to the empty folder.

use super::User;

#[test]
fn a_town_lives_and_leaves_nothing_behind() {
    let user = User::at(String::new());
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let demo = ["demo", "--seed", "7", "--speed", "6000", "--for", "3"];
    let command = user.command(&demo).env("TMPDIR", folder);
    let output = command.output();
    let said = String::from_utf8(output.stdout).unwrap();
    let progress = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{progress}");
    assert!(
        said.contains("40 workers and 60 tasks of history"),
        "{said}"
    );
    for line in [
        "Dashboard",
        "Live key    svc_live_",
        "Test key    svc_test_",
        "legwork mcp --server http://127.0.0.1:",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(progress.contains("40 people sign up"), "{progress}");
    let verified = said.lines().rev().nth(1).unwrap().to_lowercase();
    assert!(
        said.contains("is removed.") && !verified.contains("differ"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
