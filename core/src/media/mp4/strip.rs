//! Removes from an MP4 what a player does not need. A film is found by its place in the file, so
//! nothing may move: what is removed becomes a box `free` of the same size, full of zeros, and samples of
//! tracks that are removed become zeros where they stand.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::super::InspectError;
use super::tree::{Node, Tree};
use super::{is_foreign, samples};

/// Zeros, or the name of an empty box.
pub struct Edit {
    start: u64,
    end: u64,
    name: Option<[u8; 4]>,
}

pub fn strip(
    file: &mut (impl Read + Seek),
    length: u64,
    target: &mut impl Write,
) -> Result<(), InspectError> {
    let tree = Tree::read(file, length)?;
    let edits = edits(&tree, file)?;
    let mut at = 0;
    for edit in edits {
        copy(file, at, edit.start, target)?;
        match edit.name {
            Some(name) => target.write_all(&name)?,
            None => {
                io::copy(&mut io::repeat(0).take(edit.end - edit.start), target)?;
            }
        }
        at = edit.end;
    }
    copy(file, at, length, target)?;
    Ok(())
}

/// In the order of the file, none across another.
pub fn edits(tree: &Tree, file: &mut (impl Read + Seek)) -> Result<Vec<Edit>, InspectError> {
    let mut edits = Vec::new();
    let mut emptied_up_to = 0;
    for node in &tree.nodes {
        if node.start < emptied_up_to {
            continue;
        }
        if !node.known || node.kind == *b"trak" && is_foreign(tree, file, node)? {
            emptied_up_to = node.end;
            edits.extend(empty(node));
        } else {
            edits.extend(blank_part(tree, file, node)?);
        }
    }
    // They lie in the film, which no other edit touches.
    for samples in samples::foreign(tree, file)? {
        edits.push(Edit {
            start: samples.start,
            end: samples.end,
            name: None,
        });
    }
    edits.retain(|edit| edit.start < edit.end);
    edits.sort_unstable_by_key(|edit| edit.start);
    Ok(edits)
}

fn empty(node: &Node) -> [Edit; 2] {
    [
        Edit {
            start: node.start + 4,
            end: node.start + 8,
            name: Some(*b"free"),
        },
        Edit {
            start: node.body,
            end: node.end,
            name: None,
        },
    ]
}

/// When the film was made, and the names of the program's parts that made it.
fn blank_part(
    tree: &Tree,
    file: &mut (impl Read + Seek),
    node: &Node,
) -> Result<Option<Edit>, InspectError> {
    let (from, to) = match &node.kind {
        b"mvhd" | b"tkhd" | b"mdhd" => match tree.head(file, node, 1)?.first() {
            Some(1) => (4, 20),
            _ => (4, 12),
        },
        b"hdlr" => (24, u64::MAX),
        _ => return Ok(None),
    };
    Ok(Some(Edit {
        start: node.body.saturating_add(from).min(node.end),
        end: node.body.saturating_add(to).min(node.end),
        name: None,
    }))
}

fn copy(
    file: &mut (impl Read + Seek),
    from: u64,
    to: u64,
    target: &mut impl Write,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let copied = io::copy(&mut file.take(to - from), target)?;
    if copied != to - from {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
