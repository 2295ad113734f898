//! Where the boxes of an MP4 lie. Each must fit into the one around it, exactly.

use std::io::{self, Read, Seek, SeekFrom};

use super::super::{InspectError, Rejection, be32, be64};

pub type Kind = [u8; 4];

/// A box costs its sender eight bytes. A long film in fragments has some thousands.
const MAX_BOXES: usize = 50_000;

/// What belongs where, from the outside inwards, so far as a player needs it. Boxes that are listed
/// on the left are looked into; what is in none of these lists is not, and does not get past
/// `strip`.
const KNOWN: [(Option<&Kind>, &[&Kind]); 12] = [
    (
        None,
        &[
            b"ftyp", b"moov", b"mdat", b"moof", b"styp", b"sidx", b"ssix", b"mfra",
        ],
    ),
    (Some(b"moov"), &[b"mvhd", b"trak", b"mvex", b"iods"]),
    (Some(b"trak"), &[b"tkhd", b"edts", b"mdia", b"tref"]),
    (Some(b"edts"), &[b"elst"]),
    (Some(b"mdia"), &[b"mdhd", b"hdlr", b"minf", b"elng"]),
    (
        Some(b"minf"),
        &[
            b"vmhd", b"smhd", b"hmhd", b"sthd", b"nmhd", b"dinf", b"stbl",
        ],
    ),
    (Some(b"dinf"), &[b"dref"]),
    (Some(b"stbl"), &SAMPLES),
    (Some(b"mvex"), &[b"mehd", b"trex", b"leva", b"trep"]),
    (Some(b"moof"), &[b"mfhd", b"traf"]),
    (Some(b"traf"), &FRAGMENT),
    (Some(b"mfra"), &[b"tfra", b"mfro"]),
];

const SAMPLES: [&Kind; 19] = [
    b"stsd", b"stts", b"ctts", b"cslg", b"stsc", b"stsz", b"stz2", b"stco", b"co64", b"stss",
    b"stsh", b"padb", b"stdp", b"sdtp", b"sbgp", b"sgpd", b"subs", b"saiz", b"saio",
];

const FRAGMENT: [&Kind; 9] = [
    b"tfhd", b"tfdt", b"trun", b"sbgp", b"sgpd", b"subs", b"saiz", b"saio", b"sdtp",
];

pub struct Node {
    pub kind: Kind,
    pub parent: Option<usize>,
    /// Its own place in the list.
    pub place: usize,
    pub start: u64,
    /// Behind its head.
    pub body: u64,
    pub end: u64,
    /// It belongs where it stands.
    pub known: bool,
}

/// All boxes that were looked at, in the order of the file.
pub struct Tree {
    pub nodes: Vec<Node>,
    /// Of the file.
    pub length: u64,
}

impl Tree {
    /// The first is `ftyp`.
    pub fn read(file: &mut (impl Read + Seek), length: u64) -> Result<Self, InspectError> {
        let mut tree = Self {
            nodes: Vec::new(),
            length,
        };
        tree.read_inside(file, None, 0, length)?;
        if tree.nodes.first().map(|node| node.kind) != Some(*b"ftyp") {
            return Err(Rejection::of("must be an MP4 video").into());
        }
        Ok(tree)
    }

    /// Goes down only along the table of what belongs where, which is five boxes deep.
    fn read_inside(
        &mut self,
        file: &mut (impl Read + Seek),
        parent: Option<usize>,
        mut at: u64,
        end: u64,
    ) -> Result<(), InspectError> {
        let inside = parent.map(|parent| self.nodes[parent].kind);
        while at < end {
            if self.nodes.len() >= MAX_BOXES {
                return Err(Rejection::of("has too many boxes").into());
            }
            let (kind, body, next) = read_head(file, at, end, parent.is_none())?;
            let known = KNOWN
                .iter()
                .any(|(outer, inner)| outer.copied() == inside && inner.contains(&&kind));
            let place = self.nodes.len();
            self.nodes.push(Node {
                kind,
                parent,
                place,
                start: at,
                body,
                end: next,
                known,
            });
            if known && KNOWN.iter().any(|(outer, _)| *outer == Some(&kind)) {
                self.read_inside(file, Some(place), body, next)?;
            }
            at = next;
        }
        Ok(())
    }

    pub fn top(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.parent.is_none())
    }

    pub fn children(&self, parent: &Node) -> impl Iterator<Item = &Node> {
        // What lies inside of a box follows it in the list, up to the box's end.
        let end = parent.end;
        self.nodes[parent.place + 1..]
            .iter()
            .take_while(move |node| node.start < end)
            .filter(|node| node.parent == Some(parent.place))
    }

    pub fn child(&self, parent: &Node, kind: Kind) -> Option<&Node> {
        self.children(parent).find(|node| node.kind == kind)
    }

    pub fn children_of(&self, parent: &Node, kind: Kind) -> impl Iterator<Item = &Node> {
        self.children(parent).filter(move |node| node.kind == kind)
    }

    /// Follows the first of each kind.
    pub fn descendant<'a>(&'a self, node: &'a Node, path: &[Kind]) -> Option<&'a Node> {
        path.iter()
            .try_fold(node, |outer, kind| self.child(outer, *kind))
    }

    /// Wherever they belong.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Node> {
        let known = self.nodes.iter().filter(|node| node.known);
        known.filter(move |node| node.kind == kind)
    }

    /// The first bytes of a box, up to so many.
    pub fn head(
        &self,
        file: &mut (impl Read + Seek),
        node: &Node,
        most: u64,
    ) -> io::Result<Vec<u8>> {
        let length = (node.end - node.body).min(most);
        let mut head = vec![0; length as usize];
        file.seek(SeekFrom::Start(node.body))?;
        file.read_exact(&mut head)?;
        Ok(head)
    }
}

/// Kind, start of the body and end of the box that stands here.
fn read_head(
    file: &mut (impl Read + Seek),
    at: u64,
    end: u64,
    on_top: bool,
) -> Result<(Kind, u64, u64), InspectError> {
    // At the top level the end is that of the file, so what does not fit is missing. Inside another
    // box, the length is wrong.
    let does_not_fit = match on_top {
        true => Rejection::TRUNCATED,
        false => Rejection::DAMAGED,
    };
    let mut raw = [0; 16];
    let available = (end - at).min(16) as usize;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut raw[..available])?;
    let raw = &raw[..available];

    let kind = raw.get(4..8).ok_or(does_not_fit.clone())?;
    let kind = [kind[0], kind[1], kind[2], kind[3]];
    let (head, size) = match be32(raw, 0) {
        // Reaches up to the end of the file, which only the film itself may do.
        Some(0) if on_top && kind == *b"mdat" => (8, end - at),
        Some(1) => (16, be64(raw, 8).ok_or(does_not_fit.clone())?),
        Some(size) => (8, size.into()),
        None => return Err(does_not_fit.into()),
    };
    if size < head {
        return Err(Rejection::DAMAGED.into());
    }
    if size > end - at {
        return Err(does_not_fit.into());
    }
    Ok((kind, at + head, at + size))
}
