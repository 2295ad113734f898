//! QR codes as SVG.

use qrcodegen::{QrCode, QrCodeEcc};

/// The light border that readers need, in modules.
const BORDER: i32 = 4;

/// A picture without a size of its own: it is as large as where it is put. None if the text is too long.
pub fn svg(text: &str) -> Option<String> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size() + 2 * BORDER;
    let mut dark = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let mut end = x;
            while code.get_module(end, y) {
                end += 1;
            }
            if end > x {
                let (left, top, width) = (x + BORDER, y + BORDER, end - x);
                dark.push_str(&format!("M{left} {top}h{width}v1h-{width}z"));
            }
            x = end + 1;
        }
    }
    Some(format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{size}v{size}H0z"/><path d="{dark}"/></svg>"##
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules that a picture paints dark.
    fn dark(svg: &str) -> Vec<(i32, i32)> {
        let (_, rest) = svg.split_once("z\"/><path d=\"").unwrap();
        let (path, _) = rest.split_once('"').unwrap();
        let runs = path.split_terminator('z').map(|run| {
            let run = run.strip_prefix('M').unwrap();
            let (place, run) = run.split_once('h').unwrap();
            let (x, y) = place.split_once(' ').unwrap();
            let (width, _) = run.split_once('v').unwrap();
            [x, y, width].map(|number| number.parse::<i32>().unwrap())
        });
        runs.flat_map(|[x, y, width]| (x..x + width).map(move |x| (x, y)))
            .collect()
    }

    #[test]
    fn the_picture_has_the_dark_modules_of_the_code() {
        let text = "otpauth://totp/Legwork:grace";
        let painted = dark(&svg(text).unwrap());
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).unwrap();
        let all = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
        let expected: Vec<_> = all
            .filter(|(x, y)| code.get_module(*x, *y))
            .map(|(x, y)| (x + BORDER, y + BORDER))
            .collect();
        assert_eq!(painted, expected);
        assert!(expected.len() > 100);
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(svg(&"a".repeat(3_000)).is_none());
    }
}
