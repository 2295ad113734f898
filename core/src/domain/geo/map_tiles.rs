//! Pictures of the ground under the maps of the pages, from a server that the operator names.

/// Where tiles come from, and whom to thank for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapTiles {
    /// With `{z}`, `{x}` and `{y}` in it.
    template: String,
    /// Scheme, host and port.
    origin: String,
    attribution: String,
}

impl MapTiles {
    /// Reads a URL template, and after a space the attribution.
    pub fn rule(text: &str) -> Result<Self, String> {
        const RIGHT: &str = "must be a URL with {z}, {x} and {y}, a space, and the attribution: \
            https://tiles.example.com/{z}/{x}/{y}.png © Example Maps";
        let parts = text.trim().split_once(' ');
        let (template, attribution) = parts.ok_or_else(|| RIGHT.to_owned())?;
        let attribution = attribution.trim();
        let has_places = ["{z}", "{x}", "{y}"]
            .iter()
            .all(|place| template.matches(place).count() == 1);
        let origin = origin(template).filter(|_| has_places && !attribution.is_empty());
        Ok(Self {
            origin: origin.ok_or_else(|| RIGHT.to_owned())?,
            template: template.to_owned(),
            attribution: attribution.to_owned(),
        })
    }

    pub fn url(&self, zoom: u32, x: u32, y: u32) -> String {
        let mut url = self.template.clone();
        for (place, value) in [("{z}", zoom), ("{x}", x), ("{y}", y)] {
            url = url.replace(place, &value.to_string());
        }
        url
    }

    /// For the rules of what pages may load.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn attribution(&self) -> &str {
        &self.attribution
    }
}

/// Nothing in it can end a header, an attribute or a list.
fn origin(template: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>\\^`;,|".contains(&byte);
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| template.starts_with(scheme))?;
    let host = template[scheme.len()..].split('/').next()?;
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let fine = template.bytes().all(plain) && !host.is_empty() && host.bytes().all(named);
    fine.then(|| format!("{scheme}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_its_host_and_whom_to_thank() {
        let tiles = "https://tiles.example.com:8443/m/{z}/{x}/{y}.png?key=1 © Example <Maps>";
        let tiles = MapTiles::rule(tiles).unwrap();
        assert_eq!(tiles.origin(), "https://tiles.example.com:8443");
        assert_eq!(tiles.attribution(), "© Example <Maps>");
        assert_eq!(
            tiles.url(15, 9, 7),
            "https://tiles.example.com:8443/m/15/9/7.png?key=1"
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "https://tiles.example.com/{z}/{x}/{y}.png",
            "https://tiles.example.com/{z}/{x}.png Maps",
            "ftp://tiles.example.com/{z}/{x}/{y} Maps",
            "https:///{z}/{x}/{y} Maps",
            "https://a@b/{z}/{x}/{y} Maps",
            "https://{z}.example.com/{x}/{y} Maps",
            "https://tiles.example.com;/{z}/{x}/{y} Maps",
            "https://tiles.example.com/{z}/{x}/{y}\"> Maps",
        ] {
            assert!(MapTiles::rule(text).is_err(), "{text:?}");
        }
    }
}
