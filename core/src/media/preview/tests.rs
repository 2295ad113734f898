use jpeg_encoder::{ColorType, Encoder};

use super::*;

/// Red at the top left, blue elsewhere.
fn pixels(width: u32, height: u32) -> Vec<u8> {
    let pixel = |place: u32| match (place % width < width / 2, place / width < height / 2) {
        (true, true) => [255, 0, 0],
        _ => [0, 0, 255],
    };
    (0..width * height).flat_map(pixel).collect()
}

fn jpeg_of(width: u32, height: u32, orientation: Option<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 90);
    if let Some(orientation) = orientation {
        let mut block = b"Exif\0\0".to_vec();
        block.extend(exif::only_orientation(orientation));
        encoder.add_app_segment(1, block).unwrap();
    }
    let (w, h) = (width as u16, height as u16);
    encoder
        .encode(&pixels(width, height), w, h, ColorType::Rgb)
        .unwrap();
    bytes
}

fn png_of(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels(width, height)).unwrap();
    writer.finish().unwrap();
    bytes
}

/// The size, and whether each corner is red: top left, top right, bottom left, bottom right.
fn seen(bytes: &[u8]) -> ((usize, usize), [bool; 4]) {
    let mut decoder = JpegDecoder::new(ZCursor::new(bytes));
    let pixels = decoder.decode().unwrap();
    let info = decoder.info().unwrap();
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    let (right, bottom) = (width - 9, height - 9);
    let is_red = |(x, y): (usize, usize)| pixels[(y * width + x) * 3] > 128;
    let corners = [(8, 8), (right, 8), (8, bottom), (right, bottom)];
    ((width, height), corners.map(is_red))
}

#[test]
fn large_pictures_become_small_and_keep_their_colours() {
    for bytes in [jpeg_of(2_500, 1_250, None), png_of(2_500, 1_250)] {
        let small = made(bytes).unwrap();
        assert_eq!(small.content_type, JPEG);
        let (size, corners) = seen(&small.bytes);
        // Squares of three pixels.
        assert_eq!(size, (834, 417));
        assert_eq!(corners, [true, false, false, false]);
    }
}

#[test]
fn they_stand_upright() {
    for (orientation, size, corner) in [
        (2, (834, 417), 1),
        (3, (834, 417), 3),
        (4, (834, 417), 2),
        (5, (417, 834), 0),
        (6, (417, 834), 1),
        (7, (417, 834), 3),
        (8, (417, 834), 2),
    ] {
        let small = made(jpeg_of(2_500, 1_250, Some(orientation))).unwrap();
        let mut corners = [false; 4];
        corners[corner] = true;
        assert_eq!(seen(&small.bytes), (size, corners), "{orientation}");
    }
}

#[test]
fn small_pictures_are_left_as_they_are() {
    for (bytes, kind) in [(jpeg_of(64, 48, None), JPEG), (png_of(64, 48), PNG)] {
        let kept = made(bytes.clone()).unwrap();
        assert_eq!((kept.bytes, kept.content_type), (bytes, kind));
    }
}

/// A header alone claims many pixels: nothing is decoded and little is allocated.
#[test]
fn too_many_pixels_damage_and_other_files_are_none() {
    let mut claims = png_of(64, 48);
    claims[16..24].copy_from_slice(&[0, 0, 0x7f, 0xff, 0, 0, 0x7f, 0xff]);
    let whole = jpeg_of(2_500, 1_250, None);
    let mut tall = whole.clone();
    let frame = tall.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
    tall[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
    for bytes in [
        claims,
        tall,
        whole[..300].to_vec(),
        b"GIF89a".to_vec(),
        vec![],
    ] {
        assert!(made(bytes).is_none());
    }
}
