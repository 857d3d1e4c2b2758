"""Shoot the README's picture: the X-ray of a BatchEnsemble, at its numbers.

python -m scripts.picture .github/inside.png
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from ensedu.xray import xray
from scripts.browsing import find_browser

STATE = "#zoom=numbers&method=batch_ensemble&layer=2"
CLIP = {"x": 30, "y": 344, "width": 766, "height": 360}


def main(target):
    """Open the X-ray of 1-50-50-1 in a browser, and shoot what two members store and compute."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "xray.html"
        xray("1-50-50-1").save(file)
        browser = playwright.chromium.launch(executable_path=find_browser())
        page = browser.new_page(viewport={"width": 1000, "height": 900}, device_scale_factor=1.5)
        page.goto(f"{file.as_uri()}{STATE}")
        page.screenshot(path=target, clip=CLIP)


if __name__ == "__main__":
    main(sys.argv[1])
