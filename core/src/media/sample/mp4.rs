//! Writes an MP4: one second of one picture, coded as JPEG.

/// A track as wide as the picture, with the picture as its only sample.
pub fn film(width: u16, height: u16, picture: &[u8]) -> Vec<u8> {
    let file_type = write(b"ftyp", &[b"isom\0\0\x02\0isommp41"]);
    // Where the picture lies depends on the length of what describes it, not on what it says.
    let length = description(width, height, picture.len() as u32, 0).len();
    let place = (file_type.len() + length + 8) as u32;
    let movie = description(width, height, picture.len() as u32, place);
    [file_type, movie, write(b"mdat", &[picture])].concat()
}

fn description(width: u16, height: u16, length: u32, place: u32) -> Vec<u8> {
    const SECOND: [u8; 4] = 1_000_u32.to_be_bytes();
    const ONE: [u8; 4] = 1_u32.to_be_bytes();
    const ZEROS: [u8; 36] = [0; 36];
    // Neither turned nor scaled.
    let matrix: Vec<u8> = [0x10000_u32, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000]
        .iter()
        .flat_map(|n| n.to_be_bytes())
        .collect();
    let volume = [0, 1, 0, 0, 1, 0];

    let movie_header = [
        &ZEROS[..12],
        &SECOND,
        &SECOND,
        &volume,
        &ZEROS[..10],
        &matrix,
        &ZEROS[..24],
        &2_u32.to_be_bytes(),
    ];
    let size = [u32::from(width) << 16, u32::from(height) << 16].map(u32::to_be_bytes);
    let track_header = [
        &[0, 0, 0, 3],
        &ZEROS[..8],
        &ONE,
        &ZEROS[..4],
        &SECOND,
        &ZEROS[..16],
        &matrix,
        &size.concat(),
    ];
    let samples = write(
        b"stbl",
        &[
            &write(b"stsd", &[&ZEROS[..4], &ONE, &coded_as_jpeg(width, height)]),
            &write(b"stts", &[&ZEROS[..4], &ONE, &ONE, &SECOND]),
            &write(b"stsc", &[&ZEROS[..4], &ONE, &ONE, &ONE, &ONE]),
            &write(b"stsz", &[&ZEROS[..8], &ONE, &length.to_be_bytes()]),
            &write(b"stco", &[&ZEROS[..4], &ONE, &place.to_be_bytes()]),
        ],
    );
    let here = write(b"url ", &[&ONE]);
    let information = write(
        b"minf",
        &[
            &write(b"vmhd", &[&ONE, &ZEROS[..8]]),
            &write(b"dinf", &[&write(b"dref", &[&ZEROS[..4], &ONE, &here])]),
            &samples,
        ],
    );
    let undetermined_language = [0x55, 0xc4, 0, 0];
    let media_header = [&ZEROS[..12], &SECOND, &SECOND, &undetermined_language];
    let media = write(
        b"mdia",
        &[
            &write(b"mdhd", &media_header),
            &write(b"hdlr", &[&ZEROS[..8], b"vide", &ZEROS[..13]]),
            &information,
        ],
    );
    write(
        b"moov",
        &[
            &write(b"mvhd", &movie_header),
            &write(b"trak", &[&write(b"tkhd", &track_header), &media]),
        ],
    )
}

fn coded_as_jpeg(width: u16, height: u16) -> Vec<u8> {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // 0x6c is JPEG; the lengths are those of the parts that follow.
    let decoder = b"\x03\x15\0\x01\0\x04\x0d\x6c\x11\0\0\0\0\0\0\0\0\0\0\0\x06\x01\x02";
    write(
        b"mp4v",
        &[
            &[0, 0, 0, 0, 0, 0, 0, 1],
            &[0; 16],
            &size,
            &[0, 0x48, 0, 0, 0, 0x48, 0, 0],
            &[0, 0, 0, 0, 0, 1],
            &[0; 32],
            &[0, 0x18, 0xff, 0xff],
            &write(b"esds", &[&[0; 4], decoder]),
        ],
    )
}

pub fn write(kind: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let size = (body.len() as u32 + 8).to_be_bytes();
    [&size, kind.as_slice(), &body].concat()
}
