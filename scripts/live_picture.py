"""Picture the live trainer of the built book, after some training, for the README.

python scripts/live_picture.py _build/html .github/live.png
"""

import argparse
import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.browsing import (  # noqa: E402
    NO_BROWSER,
    chromium,
    find_browser,
    open_context,
    serve,
    visit,
)

PAGE = "book/live.html"
STEPS = 500  # at least so many
MOST = 150_000  # bytes
EDGE = 8  # pixels around the trainer
METER = "document.querySelector('.ensedu-trainer .ensedu-t-meter').textContent"
TRAINED = f"() => Number({METER}.match(/^step ([\\d,]+)/)?.[1].replaceAll(',', '')) >= {STEPS}"


def taken(browser, address):
    """Return a picture of the trainer, in the light."""
    with open_context(browser, device_scale_factor=2) as context:
        page = context.new_page()
        visit(page, address)
        trainer = page.locator(".ensedu-trainer .ensedu-t").first
        trainer.scroll_into_view_if_needed()
        trainer.get_by_role("button", name="▶ Play").click()
        page.wait_for_function(TRAINED, timeout=120_000)
        trainer.get_by_role("button", name="Pause").click()
        # From the buttons to the sentence below the curves; the sliders would fill a screen.
        top = trainer.bounding_box()
        end = trainer.locator(".ensedu-t-story").first.bounding_box()
        clip = {
            "x": top["x"] - EDGE,
            "y": top["y"] - EDGE,
            "width": top["width"] + 2 * EDGE,
            "height": end["y"] + end["height"] - top["y"] + 2 * EDGE,
        }
        scroll = page.evaluate("[scrollX, scrollY]")
        clip["x"], clip["y"] = clip["x"] + scroll[0], clip["y"] + scroll[1]
        return Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True)))


def main(arguments=None):
    """Write the file; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder of the built book")
    parser.add_argument("target", type=Path, help="the PNG to write")
    options = parser.parse_args(arguments)
    site = options.site.resolve()
    if not (site / PAGE).is_file():
        parser.error(f"{options.site} holds no {PAGE}: run `make book`")
    if not find_browser():
        parser.error(NO_BROWSER)
    with serve(site) as home, chromium() as browser:
        picture = taken(browser, home + PAGE)
    file = io.BytesIO()
    picture.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(file, "PNG", optimize=True)
    if (size := file.tell()) > MOST:
        print(f"the picture has {size:,} bytes, accepted are {MOST:,}", file=sys.stderr)
        return 1
    options.target.write_bytes(file.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
