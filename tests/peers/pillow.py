"""What Pillow says about pictures.

pillow.py read: reads paths from standard input, one in each line. For each, writes a line of JSON:
whether it decodes completely, a digest of its pixels, and the metadata that it carries.

pillow.py write FOLDER: writes one picture in the forms that libjpeg knows.
"""

import hashlib
import json
import math
import sys
import warnings
from pathlib import Path

from PIL import Image

ORIENTATION = 0x0112
METADATA = {"comment", "photoshop", "xmp", "XML:com.adobe.xmp", "Raw profile type exif", "mp"}


def read(path):
    try:
        with Image.open(path) as image:
            image.load()
            pixels = hashlib.sha256(image.tobytes()).hexdigest()
            metadata = [f"exif {tag:#06x}" for tag in image.getexif() if tag != ORIENTATION]
            metadata += sorted(METADATA & image.info.keys())
            metadata += sorted(getattr(image, "text", {}))
            return {
                "pixels": f"{image.mode} {image.size} {pixels}",
                "orientation": image.getexif().get(ORIENTATION, 1),
                "metadata": metadata,
            }
    except Exception as error:  # Pillow raises whatever its plugins raise.
        return {"error": f"{type(error).__name__}: {error}"}


def write(folder):
    def shade(x, y, a, b, c):
        return int(128 + 60 * math.sin(x / a) + 50 * math.cos(y / b + x / c))

    image = Image.new("RGB", (203, 171))
    for y in range(image.height):
        for x in range(image.width):
            image.putpixel((x, y), (shade(x, y, 19, 17, 70), shade(x, y, 30, 18, 55), shade(x, y, 17, 31, 90)))
    for colours in ("RGB", "L"):
        for sampling in ("4:4:4", "4:2:2", "4:2:0", "4:1:1"):
            for progressive in (False, True):
                for restart in (0, 1, 3, 7, 13):
                    form = "progressive" if progressive else "baseline"
                    name = f"{colours} {sampling.replace(':', '')} {form} {restart}.jpg"
                    image.convert(colours).save(
                        Path(folder) / name,
                        quality=60,
                        subsampling=sampling,
                        progressive=progressive,
                        restart_marker_blocks=restart,
                    )


def main():
    warnings.simplefilter("ignore")
    if sys.argv[1] == "write":
        write(sys.argv[2])
        return
    for line in sys.stdin:
        print(json.dumps(read(line.rstrip("\n"))))


main()
