//! The programs that agents run in, and where each keeps its list of servers.

use std::path::{Path, PathBuf};

pub struct AgentClient {
    pub name: &'static str,
    pub title: &'static str,
    /// The field that holds the servers.
    pub field: &'static str,
    /// Below the home folder, or the current one for a client that is set up by project.
    pub file: &'static str,
    pub of_project: bool,
}

const fn of_home(name: &'static str, title: &'static str, file: &'static str) -> AgentClient {
    AgentClient {
        name,
        title,
        field: "mcpServers",
        file,
        of_project: false,
    }
}

#[cfg(target_os = "macos")]
const CLAUDE_DESKTOP: &str = "Library/Application Support/Claude/claude_desktop_config.json";
#[cfg(windows)]
const CLAUDE_DESKTOP: &str = "AppData/Roaming/Claude/claude_desktop_config.json";
#[cfg(not(any(target_os = "macos", windows)))]
const CLAUDE_DESKTOP: &str = ".config/Claude/claude_desktop_config.json";

pub const CLIENTS: &[AgentClient] = &[
    of_home("claude-desktop", "Claude Desktop", CLAUDE_DESKTOP),
    AgentClient {
        of_project: true,
        ..of_home("claude-code", "Claude Code", ".mcp.json")
    },
    of_home("cursor", "Cursor", ".cursor/mcp.json"),
    AgentClient {
        field: "servers",
        of_project: true,
        ..of_home("vscode", "VS Code", ".vscode/mcp.json")
    },
    of_home("windsurf", "Windsurf", ".codeium/windsurf/mcp_config.json"),
    of_home("gemini", "Gemini CLI", ".gemini/settings.json"),
];

impl AgentClient {
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    pub fn path(&self, home: &Path) -> PathBuf {
        match self.of_project {
            true => PathBuf::from(self.file),
            false => home.join(self.file),
        }
    }

    /// Whether the program seems to be here: its folder is, or a file of its kind in this project.
    pub fn is_here(&self, home: &Path) -> bool {
        let path = self.path(home);
        path.exists() || (!self.of_project && path.parent().is_some_and(Path::is_dir))
    }
}
